"""Events for retry loops that are not ours: stamina, tenacity, or any other with a hook before it sleeps.

Invariant: it watches and changes nothing; results, errors and waits are the other library's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from analyzer.classifier import Classification, classify
from analyzer.events import EventLog
from analyzer.recovery.retry.events import Trail

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class _Watched:
    trail: Trail
    reason: str = "unknown"
    attempts: int = 1
    waited_seconds: float = 0.0


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
        self._current: ContextVar[_Watched | None] = ContextVar("analyzer_retry_watch", default=None)

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
        watched = _Watched(Trail(self._caller, self._log, self._session, self._provider))
        token = self._current.set(watched)
        try:
            yield
        except BaseException as error:
            self._ended(watched, error)
            raise
        else:
            self._settle(watched, "recovered")
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
        """A failure that the other library is about to retry."""
        watched = self._current.get()
        if watched is not None:
            watched.attempts = attempt + 1
            watched.waited_seconds += wait_seconds
        if error is None:
            return
        verdict = classify(error)
        if watched is None:
            Trail(self._caller, self._log, self._session, self._provider).error_classified(
                verdict, action="retry", attempt=attempt, again=False
            )
            return
        watched.reason = verdict.reason
        watched.trail.error_classified(verdict, action="retry", attempt=attempt, again=True)
        watched.trail.retry_scheduled(verdict.reason, attempt=attempt, delay_seconds=wait_seconds)

    def _ended(self, watched: _Watched, error: BaseException) -> None:
        verdict = classify(_last(error))
        outcome = _outcome(verdict, error, watched.trail.begun)
        action = "record" if outcome == "aborted" else "surface"
        watched.trail.error_classified(verdict, action=action, attempt=watched.attempts, again=False, outcome=outcome)
        if outcome != "aborted" or not watched.trail.begun:
            watched.reason = verdict.reason
        self._settle(watched, outcome)

    def _settle(self, watched: _Watched, outcome: str) -> None:
        watched.trail.retry_settled(
            watched.reason, outcome, attempts=watched.attempts, waited_seconds=watched.waited_seconds
        )


def _last(error: BaseException) -> BaseException:
    """What the last call raised, out of tenacity's `RetryError` around it."""
    attempt = getattr(error, "last_attempt", None)
    inner = attempt.exception() if attempt is not None and hasattr(attempt, "exception") else None
    return inner if isinstance(inner, BaseException) else error


def _outcome(verdict: Classification, error: BaseException, retried: bool) -> str:
    if verdict.detail == "aborted" or not isinstance(error, Exception):
        return "aborted"
    return "exhausted" if retried and verdict.retryable else "surfaced"
