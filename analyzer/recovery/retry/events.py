"""The events of one retry chain, so that the analyzer can tell what the retries bought.

Invariant: a chain begins with its first retry and is settled once. A failure that nobody tries again belongs to no
chain: it carries its own outcome. Without a log nothing is written and nothing else changes.
"""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzer.events.times import format_time

if TYPE_CHECKING:
    from analyzer.classifier import Classification
    from analyzer.events import EventLog
    from analyzer.recovery.context.conversation import Compression
    from analyzer.recovery.retry.budget import IterationBudget


@dataclass(slots=True)
class Trail:
    """What one chain of calls leaves in the log."""

    caller: str
    log: EventLog | None
    session: str | None = None
    provider: str | None = None
    operation: str = field(default_factory=lambda: uuid.uuid4().hex)
    begun: bool = False
    """Whether there is a chain: a failure was, or is about to be, tried again."""
    settled: bool = False

    def error_classified(
        self,
        verdict: Classification,
        *,
        action: str,
        attempt: int,
        max_attempts: int | None = None,
        again: bool,
        outcome: str | None = None,
        at: datetime | None = None,
        **step: Any,
    ) -> None:
        """A call failed. `again`: it will be tried again. `outcome` is what becomes of it where there is no chain: null
        where nobody is told. `step`: what a supervised run knows besides.
        """
        self.begun = self.begun or again
        if self.log is None:
            return
        place: dict[str, Any] = {"outcome": outcome}
        if self.begun:
            place = {"operation": self.operation, "attempt": attempt, "max_attempts": max_attempts}
        known = {key: value for key, value in {**place, **step}.items() if value is not None}
        self.log.error_classified(
            verdict,
            session=self.session,
            at=at,
            caller=self.caller,
            action=action,
            provider=verdict.provider or self.provider,
            **known,
        )

    def retry_scheduled(self, reason: str, *, attempt: int, delay_seconds: float) -> None:
        """There will be another call."""
        if self.log is not None:
            self.log.retry_scheduled(
                session=self.session,
                operation=self.operation,
                caller=self.caller,
                reason=reason,
                attempt=attempt,
                delay_seconds=round(delay_seconds, 6),
            )

    def retry_settled(
        self, reason: str, outcome: str, *, attempts: int, waited_seconds: float, ended_by: str | None = None
    ) -> None:
        """The chain, if there is one, came to its end; an exhausted `network_transient` ends as `network_permanent`,
        unless something else than its errors ended it (`ended_by`).
        """
        if self.settled or not self.begun:
            return
        self.settled = True
        if (reason, outcome, ended_by) == ("network_transient", "exhausted", None):
            reason = "network_permanent"
        if self.log is not None:
            self.log.retry_settled(
                session=self.session,
                operation=self.operation,
                caller=self.caller,
                reason=reason,
                outcome=outcome,
                attempts=attempts,
                waited_seconds=round(waited_seconds, 6),
                **({"ended_by": ended_by} if ended_by else {}),
            )

    def call_short_circuited(self, provider: str, reset_at: datetime | None) -> None:
        """The guard said no before the call was made."""
        if self.log is not None:
            self.log.call_short_circuited(
                session=self.session,
                caller=self.caller,
                provider=provider,
                reason="rate_limited",
                reset_at=None if reset_at is None else format_time(reset_at),
            )

    def context_changed(self, change: Compression | None) -> None:
        """The conversation was made smaller for the next call, or could not be."""
        if self.log is None:
            return
        if change is None:
            self.log.context_unrecovered(session=self.session, caller=self.caller, attempt=1)
        else:
            self.log.context_recovered(
                session=self.session, caller=self.caller, attempt=1, **dataclasses.asdict(change)
            )

    def budget_exhausted(self, budget: IterationBudget) -> None:
        """No iteration was left for the retry that was due."""
        if self.log is not None:
            self.log.budget_exhausted(
                session=self.session,
                operation=self.operation,
                caller=self.caller,
                consumed=budget.consumed,
                refunded=budget.refunded,
                limit=budget.limit,
            )
