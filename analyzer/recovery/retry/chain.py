"""A retry chain, of calls or of starts of a command: its number of tries, its end, and its events.

Invariant: a chain begins with its first retry and is settled once. A failure that is not tried again belongs to no
chain: it carries its own outcome. Without a log nothing is written and nothing else changes.

Retry loops of other libraries write the same events through a `RetryWatch`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from analyzer.classifier import Classification, classify
from analyzer.events import EventLog

if TYPE_CHECKING:
    from analyzer.recovery.context.conversation import Compression
    from analyzer.recovery.retry.policy import IterationBudget


@dataclass(slots=True)
class Chain:
    """The state of one chain, and the writer of its events."""

    caller: str
    log: EventLog | None = None
    session: str | None = None
    provider: str | None = None
    operation: str = field(default_factory=lambda: os.urandom(16).hex())
    attempt: int = 0
    """1-based number of the try that runs or has just ended; 0 before the first one."""
    waited_seconds: float = 0.0
    """Seconds waited between tries."""
    reason: str = "unknown"
    """The reason of the last failure."""
    begun: bool = False
    """True if there is a chain: a failure was, or will be, tried again."""
    settled: bool = False
    _failures: Counter[str] = field(default_factory=Counter)

    def count(self, reason: str) -> int:
        """Count a failure; return the failures of its reason, which has an allowance of its own."""
        self.reason = reason
        self._failures[reason] += 1
        return self._failures[reason]

    @property
    def spent_as(self) -> str:
        """Return the outcome of a chain whose last failure had no try left."""
        return "escalated" if self.reason == "context_overflow" else "exhausted"

    def ends_as(self, *, retried: bool, left: int, waits: bool = True) -> str | None:
        """Return the outcome of the chain after the failure just counted; None if another try comes.

        `retried` says that this reason is tried again at all, `left` how many more tries are allowed, `waits` that the
        wait before the next one is no longer than allowed.
        """
        if retried and left <= 0:
            # Without an earlier retry there is no chain that could be exhausted.
            return self.spent_as if self.begun else "surfaced"
        return None if retried and waits else "surfaced"

    def error_classified(
        self,
        verdict: Classification,
        *,
        action: str,
        left: int | None = 0,
        again: bool,
        outcome: str | None = None,
        at: datetime | None = None,
        **step: Any,
    ) -> None:
        """Log that a try failed.

        `again` says that another one comes, `left` how many are allowed (None: unknown). `outcome` is that of a
        failure without a chain; None if it is not raised. `step` holds further keys of a supervised run.
        """
        self.begun = self.begun or again
        if self.log is None:
            return
        chain_keys: dict[str, Any] = {"outcome": outcome}
        if self.begun:
            most = None if left is None else self.attempt + left
            chain_keys = {"operation": self.operation, "attempt": self.attempt, "max_attempts": most}
        self.log.error_classified(
            verdict,
            session=self.session,
            at=at,
            caller=self.caller,
            action=action,
            provider=verdict.provider or self.provider,
            **chain_keys,
            **step,
        )

    def retry_scheduled(self, delay_seconds: float) -> None:
        """Log that another try comes after a wait."""
        if self.log is not None:
            self.log.retry_scheduled(
                session=self.session,
                operation=self.operation,
                caller=self.caller,
                reason=self.reason,
                attempt=self.attempt,
                delay_seconds=round(delay_seconds, 6),
            )

    def settle(self, outcome: str, ended_by: str | None = None) -> None:
        """End the chain, if there is one, and log it; only the first call counts.

        An exhausted `network_transient` ends as `network_permanent`, unless `ended_by` names another cause of the end.
        """
        if self.settled or not self.begun:
            return
        self.settled = True
        if self.log is not None:
            from analyzer.events.model import settled_reason

            self.log.retry_settled(
                session=self.session,
                operation=self.operation,
                caller=self.caller,
                reason=self.reason if ended_by else settled_reason(self.reason, outcome),
                outcome=outcome,
                attempts=self.attempt,
                waited_seconds=round(self.waited_seconds, 6),
                **({"ended_by": ended_by} if ended_by else {}),
            )

    def call_short_circuited(self, provider: str, reset_at: datetime | None) -> None:
        """Log that nothing was tried, because the provider is known to refuse."""
        if self.log is not None:
            from analyzer.events.times import format_time

            self.log.call_short_circuited(
                session=self.session,
                caller=self.caller,
                provider=provider,
                reason="rate_limited",
                reset_at=None if reset_at is None else format_time(reset_at),
            )

    def context_changed(self, change: Compression | None) -> None:
        """Log that the conversation was made smaller for the next call, or could not be."""
        if self.log is None:
            return
        if change is None:
            self.log.context_unrecovered(session=self.session, caller=self.caller, attempt=1)
        else:
            self.log.context_recovered(
                session=self.session, caller=self.caller, attempt=1, **dataclasses.asdict(change)
            )

    def budget_exhausted(self, budget: IterationBudget) -> None:
        """Log that no iteration was left for the next retry."""
        if self.log is not None:
            self.log.budget_exhausted(
                session=self.session,
                operation=self.operation,
                caller=self.caller,
                consumed=budget.consumed,
                refunded=budget.refunded,
                limit=budget.limit,
            )


P = ParamSpec("P")
T = TypeVar("T")


def within(context: Callable[[tuple[Any, ...], dict[str, Any]], AbstractContextManager[None]], function: T) -> T:
    """Return a function, or a coroutine function, that runs in a context; `context` gets its arguments."""
    called = cast("Callable[..., Any]", function)

    @functools.wraps(called)
    def run(*args: Any, **kwargs: Any) -> Any:
        with context(args, kwargs):
            return called(*args, **kwargs)

    @functools.wraps(called)
    async def run_async(*args: Any, **kwargs: Any) -> Any:
        with context(args, kwargs):
            return await called(*args, **kwargs)

    return cast("T", run_async if inspect.iscoroutinefunction(function) else run)


class RetryWatch:
    """A decorator and hooks for functions that another library retries, with the same events as `Retry`.

    The decorator goes outside of the library's own and sees the end of a chain; the hook sees each failure before a
    wait. If the hook fires outside of a decorated call, the failure is logged without a chain.
    """

    def __init__(self, log: EventLog, caller: str, *, session: str | None = None, provider: str | None = None) -> None:
        self._log = log
        self._caller = caller
        self._session = session
        self._provider = provider
        self._current: ContextVar[Chain | None] = ContextVar("analyzer_retry_watch", default=None)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorate a function or a coroutine function that another library retries."""
        return within(lambda *_: self.chain(), function)

    @contextmanager
    def chain(self) -> Iterator[None]:
        """Watch one chain of calls, as a `with` around the other library's loop."""
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
        """Log a retry; pass it to `stamina.instrumentation.set_on_retry_hooks([watch.stamina])`."""
        self._failed(details.caused_by, details.retry_num, float(details.wait_for))

    def tenacity(self, state: Any) -> None:
        """Log a retry; pass it to `tenacity.retry(before_sleep=watch.tenacity, …)`.

        A retry because of a result is not logged.
        """
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
    """Return the error of the last call, out of tenacity's `RetryError` around it."""
    attempt = getattr(error, "last_attempt", None)
    inner = attempt.exception() if attempt is not None and hasattr(attempt, "exception") else None
    return inner if isinstance(inner, BaseException) else error


def _outcome(verdict: Classification, error: BaseException, retried: bool) -> str:
    if verdict.detail == "aborted" or not isinstance(error, Exception):
        return "aborted"
    return "exhausted" if retried and verdict.retryable else "surfaced"
