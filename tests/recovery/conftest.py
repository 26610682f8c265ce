"""Simulated time and a log, for every test of recovery that wants them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recovery.simulated import FakeClock, Log


@pytest.fixture
def clock() -> FakeClock:
    """Simulated time."""
    return FakeClock()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """An event log in a folder of its own."""
    return Log(tmp_path / "telemetry")
