"""`Retry`: the recovery table around a call, as a decorator, a function or a loop, for threads and coroutines.

Invariant: the caller gets the call's own result or the call's own error; the tries in between are in the log.

The tries of one chain are a loop around any code.
"""

from __future__ import annotations

import functools
import inspect
import random
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from analyzer.events import EventLog
from analyzer.recovery.limits.guard import RateGuard, RateLimitedError
from analyzer.recovery.retry.calls import CallChain, Setting, Step, wait, wait_async
from analyzer.recovery.retry.policy import Credential, IterationBudget, Policy
from analyzer.recovery.waiting import SYSTEM_CLOCK, Clock, WaitCancelledError

_LEAVES_LOOPS = (StopIteration, StopAsyncIteration)
"""Exceptions that would end the loop instead of surfacing, if `__next__` raised them."""


class Attempt:
    """One try, as the context manager around its call."""

    def __init__(self, attempts: Attempts, number: int) -> None:
        self.number = number
        """The number of the try, from 1."""
        self._attempts = attempts
        self._cache_hit = False

    def cache_hit(self) -> None:
        """Record that a cache answered: the iteration that this try took is given back."""
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
        chain: CallChain,
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
        """End a try; return true if the loop keeps its error for now."""
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
                step = self._chain.admit()
            else:
                step = self._decided(self._chain.failed(error), error)
                if step is not None and step.help is not None:
                    self._helped(self._helps[step.help](), error)
            if step is None:
                self._done = True
                raise StopIteration
            if self._has_to_wait(step, error):
                with self._timed():
                    refused = wait(step, *self._setting.waits, self._cancel)
                self._waited(refused, error)
        return self._next()

    # The loop of coroutines: the same, but files and locks are not used on the event loop.

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Attempt:
        import asyncio  # only loaded if somebody runs it anyway

        if self._finished():
            raise StopAsyncIteration
        with _Watch(self):
            error = self._failure
            if error is None:
                step = await asyncio.to_thread(self._chain.admit)
            else:
                step = self._decided(await asyncio.to_thread(self._chain.failed, error), error)
                if step is not None and step.help is not None:
                    result = self._helps[step.help]()
                    self._helped(await result if inspect.isawaitable(result) else result, error)
            if step is None:
                self._done = True
                raise StopAsyncIteration
            if self._has_to_wait(step, error):
                with self._timed():
                    refused = await wait_async(step, *self._setting.waits, self._cancel)
                self._waited(refused, error)
        return self._next()

    # Shared by both loops.

    def _finished(self) -> bool:
        """Return true if nothing is left to try; a try whose block never ran did not fail."""
        return self._done or (self._chain.attempt > 0 and self._failure is None)

    def _decided(self, step: Step | None, error: BaseException) -> Step | None:
        """Return the step before the next call; None if a silent chain is over.

        Raises the error if another chain is over.
        """
        if step is None and not self._setting.policy.silent:
            raise self._surfacing(error)
        return step

    def _helped(self, result: object, error: BaseException) -> None:
        if not self._chain.helped(result, error):
            raise self._surfacing(error)

    def _has_to_wait(self, step: Step, error: BaseException | None) -> bool:
        """Return true if there is a wait, even of no length: the cancel flag is checked in waits."""
        if error is not None:
            self._chain.retry_scheduled(step.seconds)
        return error is not None or step.block_seconds is not None

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun = self._setting.clock.monotonic()
        try:
            yield
        finally:
            self._chain.waited(self._setting.clock.monotonic() - begun)

    def _waited(self, refused: RateLimitedError | None, error: BaseException | None) -> None:
        """End the chain if the guard refused during the wait."""
        if refused is None:
            return
        if error is None:
            raise self._chain.short_circuit(refused.reset_at)
        self._chain.still_limited(error)
        raise self._surfacing(error)

    def _surfacing(self, error: BaseException) -> BaseException:
        self._done, self._failure = True, None
        return error

    def _next(self) -> Attempt:
        self._failure = None
        self._chain.attempt += 1
        return Attempt(self, self._chain.attempt)


class _Watch:
    """A context manager that settles the chain if an interrupt or
    a failed help ends it between two calls.
    """

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


P = ParamSpec("P")
T = TypeVar("T")


class Retry:
    """Calls with recovery: each error is classified, and the recovery table decides the next step.

    `rate_limited` waits on the guard, `network_transient` backs off, `context_overflow` is compressed once (with
    `compress`), `tool_not_found` is called once more (with `reprobe`), any other error surfaces as it was raised, with
    a note that says what to do. One object serves any number of calls, threads and tasks.
    """

    def __init__(
        self,
        caller: str,
        *,
        provider: str | None = None,
        policy: Policy | None = None,
        log: EventLog | None = None,
        session: str | None = None,
        guard: RateGuard | None = None,
        budget: IterationBudget | None = None,
        compress: Callable[..., Any] | None = None,
        reprobe: Callable[..., Any] | None = None,
        was_cached: Callable[[Any], bool] | None = None,
        credential: Credential | None = None,
        cancel: threading.Event | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """Keep the settings of all calls.

        `caller` is named in events and notes; the guard keeps the limits under `provider` (else under `caller`).
        `compress` and `reprobe` get the arguments of the call that failed; `compress` makes the conversation in them
        smaller, in place, and returns a `Compression`, or None if nothing can go: see `ContextRecovery.compress`.
        `was_cached` returns true for a result from a cache, which gives the retry's iteration back to the budget.
        `cancel` ends a wait with `WaitCancelledError`. Without a `guard`, only this object has the limits.
        """
        self._setting = Setting(
            caller,
            provider,
            policy or Policy(),
            guard if guard is not None else RateGuard(clock=clock),
            clock,
            budget,
            credential,
            rng,
        )
        self._log = log
        self._session = session
        self._compress = compress
        self._reprobe = reprobe
        self._was_cached = was_cached
        self._cancel = cancel

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorate a function or a coroutine function."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def calling_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await self.call_async(function, *args, **kwargs)

            return cast("Callable[P, T]", calling_async)

        @functools.wraps(function)
        def calling(*args: P.args, **kwargs: P.kwargs) -> T:
            return self.call(function, *args, **kwargs)

        return calling

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function(*args, **kwargs)`, as often as the policy allows.

        Returns None if a silent policy swallowed the error.

        Raises:
            RateLimitedError: the guard refused before the call was made.
            IterationBudgetExhaustedError: no iteration was left for the next retry; raised from the call's error.
            WaitCancelledError: `cancel` was set during a wait.
        """
        for attempt in self._attempts(args, kwargs):
            with attempt:
                result = function(*args, **kwargs)
                if self._was_cached is not None and self._was_cached(result):
                    attempt.cache_hit()
                return result
        return cast("T", None)

    async def call_async(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `call` for coroutine functions: waits,
        the guard's files and its locks do not block the event loop.
        """
        async for attempt in self._attempts(args, kwargs):
            with attempt:
                result = await function(*args, **kwargs)
                if self._was_cached is not None and self._was_cached(result):
                    attempt.cache_hit()
                return result
        return cast("T", None)

    def attempts(self, *args: Any, **kwargs: Any) -> Attempts:
        """Return the loop: `for attempt in retry.attempts(messages): with attempt: …`, also with `async for`.

        `compress` and `reprobe` get the arguments. A silent policy ends the loop without an error, and so does a block
        that succeeded.
        """
        return self._attempts(args, kwargs)

    def _attempts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Attempts:
        helps = {
            name: functools.partial(function, *args, **kwargs)
            for name, function in (("compress", self._compress), ("reprobe", self._reprobe))
            if function is not None
        }
        chain = CallChain(self._setting, frozenset(helps), self._log, self._session)
        return Attempts(chain, self._setting, helps, self._cancel)
