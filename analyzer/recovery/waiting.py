"""Time and waiting, as one thing that tests and simulations can replace.

Invariant: nothing in recovery looks at a clock or sleeps but through a `Clock`, and every wait can be cancelled.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol

from analyzer.errors import INTERRUPTED, AnalyzerError

_SLICE_SECONDS = 0.1
"""How often a waiting coroutine looks at a cancel flag that belongs to threads."""


class WaitCancelledError(AnalyzerError):
    """Somebody set the cancel flag of a wait."""

    exit_code = INTERRUPTED


class Clock(Protocol):
    """A clock that can wait; tests replace it."""

    def now(self) -> datetime:
        """The present moment, aware, UTC. It may jump, when somebody sets the machine's clock."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Waits. Raises `WaitCancelledError` once `cancel` is set."""

    async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Waits without blocking the event loop. Raises `WaitCancelledError` once `cancel` is set."""


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """See `Clock`."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """See `Clock`."""
        if cancel is None:
            time.sleep(max(0.0, seconds))
        elif cancel.wait(max(0.0, seconds)):
            raise cancelled()

    async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """See `Clock`."""
        import asyncio  # only loaded where somebody runs it anyway

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
    """The error of a cancelled wait."""
    return WaitCancelledError("the wait was cancelled", "Its cancel flag was set; nothing was tried again.")
