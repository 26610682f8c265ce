"""What tests of supervised runs share: scripted agents, a clock that waits in no time, and events read back."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from analyzer.recovery.waiting import cancelled
from tests import REPOSITORY

AGENTS = REPOSITORY / "tests" / "agents"
LINE = "Claude AI usage limit reached|1770843600"
RESET = datetime.fromtimestamp(1770843600, UTC)


def agent(name: str, *arguments: object) -> tuple[str, ...]:
    """The command line of a scripted agent."""
    return (sys.executable, str(AGENTS / f"{name}.py"), *map(str, arguments))


def events(folder: Path, *types: str) -> list[dict[str, Any]]:
    """The events of a log folder, in order; of some types only, where they are named."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    found = [json.loads(line) for line in lines]
    return [event for event in found if not types or event["type"] in types]


class PretendClock:
    """Time that passes when somebody waits, and not otherwise."""

    def __init__(self, now: datetime = datetime(2026, 2, 11, 12, tzinfo=UTC)) -> None:
        self.present = now
        self.waits: list[float] = []

    def now(self) -> datetime:
        """The present moment."""
        return self.present

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return self.present.timestamp()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Lets the time pass."""
        if cancel is not None and cancel.is_set():
            raise cancelled()
        self.waits.append(seconds)
        self.present += timedelta(seconds=seconds)

    async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Lets the time pass."""
        self.sleep(seconds, cancel)
