"""`Retry`: the recovery table around a call, as a decorator, a function or a loop, for threads and coroutines.

Invariant: the caller gets the call's own result or the call's own error; what was done in between is in the log.
"""

from __future__ import annotations

import functools
import inspect
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar, cast

from analyzer.events import EventLog
from analyzer.recovery.limits.guard import RateGuard
from analyzer.recovery.retry.advice import Credential
from analyzer.recovery.retry.attempts import Attempts
from analyzer.recovery.retry.budget import IterationBudget
from analyzer.recovery.retry.calls import CallChain, Setting
from analyzer.recovery.retry.policy import Policy
from analyzer.recovery.waiting import SYSTEM_CLOCK, Clock

P = ParamSpec("P")
T = TypeVar("T")


class Retry:
    """Calls that recover: each error is classified, and the recovery table says what comes next.

    `rate_limited` waits on the guard, `network_transient` backs off, `context_overflow` is compressed once (with
    `compress`), `tool_not_found` is called once more (with `reprobe`), all else surfaces as it was raised, with a note
    that says what to do. One object serves any number of calls, threads and tasks.
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
        """`caller` names who calls, in events and notes; `provider` whose limits the guard keeps (else the caller's).

        `compress` and `reprobe` get the arguments of the call that failed; `compress` makes the conversation in them
        smaller, in place, and returns a `Compression`, or None where nothing can go: see `ContextRecovery.compress`.
        `was_cached` tells from a result that a cache gave it: the retry's iteration goes back to the budget.
        `cancel` ends a wait with `WaitCancelledError`. Without a `guard`, limits are known to this object alone.
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
        """Decorates a function or a coroutine function."""
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
        """`function(*args, **kwargs)`, as often as the policy allows.

        Returns None where a silent policy swallowed the error.

        Raises:
            RateLimitedError: the guard said no before the call was made.
            IterationBudgetExhaustedError: the retry that was due had no iteration left; raised from the call's error.
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
        """`call` for coroutine functions: waits, the guard's files and its locks do not block the event loop."""
        async for attempt in self._attempts(args, kwargs):
            with attempt:
                result = await function(*args, **kwargs)
                if self._was_cached is not None and self._was_cached(result):
                    attempt.cache_hit()
                return result
        return cast("T", None)

    def attempts(self, *args: Any, **kwargs: Any) -> Attempts:
        """The loop itself: `for attempt in retry.attempts(messages): with attempt: …`, also with `async for`.

        The arguments are those that `compress` and `reprobe` get. A silent policy ends the loop without an error; a
        block that succeeded ends it too.
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
