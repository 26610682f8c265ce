"""Time and waiting in one object that tests and simulations can replace, and one road for threads and coroutines.

Invariant: recovery looks at the time and sleeps only through a `Clock`, and every wait can be cancelled.

What exists for threads and for coroutines is written once, as a coroutine that blocks and waits through a `Runner`.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, cast

from analyzer.errors import INTERRUPTED, AnalyzerError
from analyzer.frozen import frozen

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
T = TypeVar("T")


@frozen
class Runner:
    """The way in which a coroutine of recovery blocks and waits: as a thread does, or beside an event loop."""

    is_async: bool

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function that may block; on an event loop call it in a thread."""
        if not self.is_async:
            return function(*args)
        import asyncio  # only loaded if somebody runs it anyway

        return await asyncio.to_thread(function, *args)

    async def result(self, value: Any) -> Any:
        """Return the result of a foreign function, which may be a coroutine function on an event loop."""
        return await value if self.is_async and inspect.isawaitable(value) else value

    async def sleep(self, clock: Clock, seconds: float, cancel: threading.Event | None) -> None:
        """Wait, as `Clock.sleep` does."""
        if self.is_async:
            await clock.sleep_async(seconds, cancel)
        else:
            clock.sleep(seconds, cancel)


BLOCKING, ON_LOOP = Runner(is_async=False), Runner(is_async=True)


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits nothing, because its runner is `BLOCKING`, and return its result."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    raise RuntimeError("a blocking runner was awaited")


def cancelled() -> WaitCancelledError:
    """Make the error of a cancelled wait."""
    return WaitCancelledError("the wait was cancelled", "Its cancel flag was set; nothing was tried again.")
