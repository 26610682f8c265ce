"""Time and waiting in one object that tests and simulations can replace.

Invariant: recovery looks at the time and sleeps only through a `Clock`, and every wait can be cancelled.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol

from analyzer.errors import INTERRUPTED, AnalyzerError

_SLICE_SECONDS = 0.1
"""The interval in which a waiting coroutine checks a cancel flag of threads."""


class WaitCancelledError(AnalyzerError):
    """A wait whose cancel flag was set."""

    exit_code = INTERRUPTED


class Clock(Protocol):
    """A clock that can wait; tests replace it."""

    def now(self) -> datetime:
        """Return the present moment, aware, UTC. It may jump, if somebody sets the machine's clock."""

    def monotonic(self) -> float:
        """Return the seconds since some moment, which never go back."""

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Wait. Raises `WaitCancelledError` once `cancel` is set."""

    async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Wait without blocking the event loop. Raises `WaitCancelledError` once `cancel` is set."""


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """Return the machine's time, as `Clock.now` does."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of the machine's steady clock."""
        return time.monotonic()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Wait, as `Clock.sleep` does."""
        if cancel is None:
            time.sleep(max(0.0, seconds))
        elif cancel.wait(max(0.0, seconds)):
            raise cancelled()

    async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Wait, as `Clock.sleep_async` does."""
        import asyncio  # only loaded if somebody runs it anyway

        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if cancel is None:
                return await asyncio.sleep(max(0.0, left))
            if cancel.is_set():
                raise cancelled()
            if left <= 0:
                return None
            await asyncio.sleep(min(left, _SLICE_SECONDS))


SYSTEM_CLOCK = SystemClock()


def cancelled() -> WaitCancelledError:
    """Make the error of a cancelled wait."""
    return WaitCancelledError("the wait was cancelled", "Its cancel flag was set; nothing was tried again.")
