"""Simulated time and a log, for every test of recovery that wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.recovery.simulated import STEADY, FakeClock, Log


@pytest.fixture
def clock() -> FakeClock:
    """Simulated time."""
    return FakeClock()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """An event log in a folder of its own."""
    return Log(tmp_path / "telemetry")


@pytest.fixture
def settings(clock: FakeClock, log: Log) -> dict[str, Any]:
    """What most loops here have in common: simulated time, a log, no jitter."""
    return {"provider": "anthropic", "policy": STEADY, "clock": clock, "log": log, "session": "s-1"}
