"""The tries of one chain, as a loop that any code can stand in: `for attempt in retry.attempts(): with attempt: …`.

Invariant: an error leaves the loop exactly as it was raised, once it is over; until then the block runs again.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from analyzer.recovery.guard import RateLimitedError
from analyzer.recovery.retry_chain import Chain, Setting, Step
from analyzer.recovery.state_file import StateError
from analyzer.recovery.waiting import WaitCancelledError

_LEAVES_LOOPS = (StopIteration, StopAsyncIteration)
"""Raised out of `__next__` these would end the loop instead of surfacing."""


class Attempt:
    """One try, as the context manager around its call."""

    def __init__(self, attempts: Attempts, number: int) -> None:
        self.number = number
        """1-based."""
        self._attempts = attempts
        self._cache_hit = False

    def cache_hit(self) -> None:
        """Says that a cache answered: the iteration that this try took is given back."""
        self._cache_hit = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        return self._attempts.ended(error, self._cache_hit)


class Attempts:
    """The tries of one chain; use it in one loop, `for` or `async for`."""

    def __init__(
        self,
        chain: Chain,
        setting: Setting,
        helps: Mapping[str, Callable[[], Any]],
        cancel: threading.Event | None,
    ) -> None:
        self._chain = chain
        self._setting = setting
        self._helps = helps
        self._cancel = cancel
        self._failure: BaseException | None = None
        self._done = False

    def ended(self, error: BaseException | None, cache_hit: bool) -> bool:
        """A try is over; whether its error stays in the loop for now."""
        if error is None:
            self._done = True
            self._chain.succeeded(cache_hit=cache_hit)
            return False
        if not isinstance(error, Exception) or isinstance(error, WaitCancelledError):
            self._done = True
            self._chain.aborted(error, in_call=True)
            return False
        if isinstance(error, _LEAVES_LOOPS):
            self._done = True
            self._chain.failed(error)
            return self._setting.policy.silent
        self._failure = error
        return True

    # The loop of threads.

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Attempt:
        if self._finished():
            raise StopIteration
        with _Watch(self):
            error = self._failure
            if error is None:
                answer = self._chain.admit()
                if answer == "wait":
                    self._block(None)
                    self._setting.clock.sleep(self._chain.jitter_seconds(), self._cancel)
                self._done = answer == "skip"
            else:
                step = self._over(self._chain.failed(error), error)
                if step is None:
                    raise StopIteration
                if step.help is not None and not self._chain.helped(self._helps[step.help](), error):
                    raise self._surfacing(error)
                self._chain.scheduled(step)
                self._wait(step, error)
        if self._done:
            raise StopIteration
        return self._next()

    def _wait(self, step: Step, error: BaseException) -> None:
        clock = self._setting.clock
        begun = clock.monotonic()
        try:
            if step.block_seconds is not None:
                self._block(error)
            clock.sleep(step.delay_seconds, self._cancel)
        finally:
            self._chain.waited_seconds += clock.monotonic() - begun

    def _block(self, error: BaseException | None) -> None:
        setting = self._setting
        try:
            setting.guard.block_until_ready(
                setting.guarded, max_wait_seconds=setting.policy.max_wait_seconds, cancel=self._cancel
            )
        except (RateLimitedError, StateError) as refused:
            self._refused(refused, error)

    # The loop of coroutines: the same, but nothing that touches files or locks runs on the event loop.

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Attempt:
        import asyncio  # only loaded where somebody runs it anyway

        if self._finished():
            raise StopAsyncIteration
        with _Watch(self):
            error = self._failure
            if error is None:
                answer = await asyncio.to_thread(self._chain.admit)
                if answer == "wait":
                    await self._block_async(None)
                    await self._setting.clock.sleep_async(self._chain.jitter_seconds(), self._cancel)
                self._done = answer == "skip"
            else:
                step = self._over(await asyncio.to_thread(self._chain.failed, error), error)
                if step is None:
                    raise StopAsyncIteration
                if step.help is not None:
                    result = self._helps[step.help]()
                    if inspect.isawaitable(result):
                        result = await result
                    if not self._chain.helped(result, error):
                        raise self._surfacing(error)
                self._chain.scheduled(step)
                await self._wait_async(step, error)
        if self._done:
            raise StopAsyncIteration
        return self._next()

    async def _wait_async(self, step: Step, error: BaseException) -> None:
        clock = self._setting.clock
        begun = clock.monotonic()
        try:
            if step.block_seconds is not None:
                await self._block_async(error)
            await clock.sleep_async(step.delay_seconds, self._cancel)
        finally:
            self._chain.waited_seconds += clock.monotonic() - begun

    async def _block_async(self, error: BaseException | None) -> None:
        setting = self._setting
        try:
            await setting.guard.block_until_ready_async(
                setting.guarded, max_wait_seconds=setting.policy.max_wait_seconds, cancel=self._cancel
            )
        except (RateLimitedError, StateError) as refused:
            self._refused(refused, error)

    # What both share.

    def _finished(self) -> bool:
        """Whether there is nothing left to try; a try whose block never ran is one that did not fail."""
        return self._done or (self._chain.attempt > 0 and self._failure is None)

    def _over(self, step: Step | None, error: BaseException) -> Step | None:
        """The step; None where a silent chain is over, and the error where another one is."""
        if step is None:
            surfacing = self._surfacing(error)
            if not self._setting.policy.silent:
                raise surfacing
        return step

    def _surfacing(self, error: BaseException) -> BaseException:
        self._done, self._failure = True, None
        return error

    def _refused(self, refused: RateLimitedError | StateError, error: BaseException | None) -> None:
        """A wait for the guard came to nothing: go on without a guard that is broken, give up on one that says no."""
        if isinstance(refused, StateError):
            return
        if error is None:
            self._chain.short_circuit(refused.reset_at)
            raise refused
        self._chain.still_limited(error)
        raise self._surfacing(error)

    def _next(self) -> Attempt:
        self._failure = None
        self._chain.attempt += 1
        return Attempt(self, self._chain.attempt)


class _Watch:
    """Settles the chain when something ends it between two calls: an interrupt, or a help that raised."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, _LEAVES_LOOPS):
            return
        self._attempts._done = True
        if not isinstance(error, Exception) or isinstance(error, WaitCancelledError):
            self._attempts._chain.aborted(error, in_call=False)
        else:
            self._attempts._chain.left()
            error.__cause__ = error.__cause__ or self._attempts._failure
