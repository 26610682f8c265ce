"""`Retry`: the recovery table around a call, as a decorator, a function or a loop, for threads and coroutines.

Invariant: the caller gets the call's own result or the call's own error; the tries in between are in the log.

The tries of one chain are a loop around any code.
"""

from __future__ import annotations

import functools
import inspect
import random
import threading
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from analyzer.events import EventLog
from analyzer.recovery.limits.guard import RateGuard
from analyzer.recovery.retry.calls import CallChain, Setting, wait
from analyzer.recovery.retry.policy import Credential, IterationBudget, Policy
from analyzer.recovery.waiting import BLOCKING, ON_LOOP, SYSTEM_CLOCK, Clock, Runner, WaitCancelledError, finish

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
            self._chain.aborted(error)
            return False
        if isinstance(error, _LEAVES_LOOPS):
            self._done = True
            self._chain.failed(error)
            return self._setting.policy.silent
        self._failure = error
        return True

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Attempt:
        if (attempt := finish(self._next(BLOCKING))) is None:
            raise StopIteration
        return attempt

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Attempt:
        if (attempt := await self._next(ON_LOOP)) is None:
            raise StopAsyncIteration
        return attempt

    async def _next(self, runner: Runner) -> Attempt | None:
        """Return the next try, after its wait; None if the chain is over."""
        error, self._failure = self._failure, None
        if self._done or (self._chain.attempt > 0 and error is None):
            return None  # a try whose block never ran did not fail
        try:
            self._done = not await self._prepare(runner, error)
        except BaseException as ended_by:
            self._done = True
            if not isinstance(ended_by, Exception) or isinstance(ended_by, WaitCancelledError):
                self._chain.settle("aborted")
            else:
                self._chain.settle("surfaced")
                if ended_by is not error:
                    ended_by.__cause__ = ended_by.__cause__ or error
            raise
        if self._done:
            return None
        self._chain.attempt += 1
        return Attempt(self, self._chain.attempt)

    async def _prepare(self, runner: Runner, error: BaseException | None) -> bool:
        """Help and wait before the next call; false if a silent chain is over.

        Raises the error of the last call if another chain is over.
        """
        chain, setting = self._chain, self._setting
        if error is None:
            step = await runner.call(chain.admit)
        else:
            step = await runner.call(chain.failed, error)
            if step is None and not setting.policy.silent:
                raise error
            if step is not None and step.help is not None:
                result = await runner.result(self._helps[step.help]())
                if not chain.helped(result, error):
                    raise error
        if step is None:
            return False
        if error is not None:
            chain.retry_scheduled(step.seconds)
        elif step.block_seconds is None:
            return True
        begun = setting.clock.monotonic()
        try:
            # Also a wait of no length: the cancel flag is checked in waits.
            refused = await wait(runner, step, *setting.waits, self._cancel)
        finally:
            chain.waited(setting.clock.monotonic() - begun)
        if refused is None:
            return True
        if error is None:
            raise chain.short_circuit(refused.reset_at)
        chain.end(error, "surfaced")
        raise error


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
