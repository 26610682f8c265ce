"""Events for retry loops that are not ours: stamina, tenacity, or any other with a hook before it sleeps.

Invariant: it watches and changes nothing; results, errors and waits are the other library's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar, cast

from analyzer.classifier import Classification, classify
from analyzer.events import EventLog
from analyzer.recovery.retry.chain import Chain

P = ParamSpec("P")
T = TypeVar("T")


class RetryWatch:
    """Decorates what another library retries, and hooks into it: the same events that `Retry` leaves.

    The decorator stands outside of the library's own and sees how a chain ends; the hook sees each failure before a
    wait. Where the hook fires outside of a decorated call, the failure is logged without a chain.
    """

    def __init__(self, log: EventLog, caller: str, *, session: str | None = None, provider: str | None = None) -> None:
        self._log = log
        self._caller = caller
        self._session = session
        self._provider = provider
        self._current: ContextVar[Chain | None] = ContextVar("analyzer_retry_watch", default=None)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorates a function or a coroutine function that some library retries."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def watched_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                with self.chain():
                    return await function(*args, **kwargs)

            return cast("Callable[P, T]", watched_async)

        @functools.wraps(function)
        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.chain():
                return function(*args, **kwargs)

        return watched

    @contextmanager
    def chain(self) -> Iterator[None]:
        """One chain of calls, as a `with` around the other library's loop."""
        chain = Chain(self._caller, self._log, self._session, self._provider, attempt=1)
        token = self._current.set(chain)
        try:
            yield
        except BaseException as error:
            _ended(chain, error)
            raise
        else:
            chain.settle("recovered")
        finally:
            self._current.reset(token)

    def stamina(self, details: Any) -> None:
        """For `stamina.instrumentation.set_on_retry_hooks([watch.stamina])`."""
        self._failed(details.caused_by, details.retry_num, float(details.wait_for))

    def tenacity(self, state: Any) -> None:
        """For `tenacity.retry(before_sleep=watch.tenacity, …)`. A retry because of a result is not logged."""
        error = state.outcome.exception() if state.outcome is not None else None
        wait = state.next_action.sleep if state.next_action is not None else 0.0
        self._failed(error, state.attempt_number, float(wait))

    def _failed(self, error: BaseException | None, attempt: int, wait_seconds: float) -> None:
        """Log a failure that the other library is about to retry."""
        current = self._current.get()
        chain = current or Chain(self._caller, self._log, self._session, self._provider)
        if error is not None:
            verdict = classify(error)
            chain.reason, chain.attempt = verdict.reason, attempt
            chain.error_classified(verdict, action="retry", left=None, again=current is not None)
            if current is not None:
                chain.retry_scheduled(wait_seconds)
        chain.attempt = attempt + 1
        chain.waited_seconds += wait_seconds


def _ended(chain: Chain, error: BaseException) -> None:
    verdict = classify(_last(error))
    outcome = _outcome(verdict, error, chain.begun)
    action = "record" if outcome == "aborted" else "surface"
    chain.error_classified(verdict, action=action, left=None, again=False, outcome=outcome)
    if outcome != "aborted":
        chain.reason = verdict.reason
    chain.settle(outcome)


def _last(error: BaseException) -> BaseException:
    """What the last call raised, out of tenacity's `RetryError` around it."""
    attempt = getattr(error, "last_attempt", None)
    inner = attempt.exception() if attempt is not None and hasattr(attempt, "exception") else None
    return inner if isinstance(inner, BaseException) else error


def _outcome(verdict: Classification, error: BaseException, retried: bool) -> str:
    if verdict.detail == "aborted" or not isinstance(error, Exception):
        return "aborted"
    return "exhausted" if retried and verdict.retryable else "surfaced"
