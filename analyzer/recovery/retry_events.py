"""The events of one retry chain, so that the analyzer can tell what the retries bought.

Invariant: one operation, at most one `retry.settled`; without a log nothing is written and nothing else changes.
"""

from __future__ import annotations

import dataclasses
import uuid
from dataclasses import dataclass, field
from datetime import datetime

from analyzer.classifier import Classification
from analyzer.events import EventLog
from analyzer.events.times import format_time
from analyzer.recovery.budget import IterationBudget
from analyzer.recovery.conversation import Compression


@dataclass(slots=True)
class Trail:
    """What one chain of calls leaves in the log."""

    caller: str
    log: EventLog | None
    session: str | None = None
    provider: str | None = None
    operation: str = field(default_factory=lambda: uuid.uuid4().hex)
    settled: bool = False

    def error_classified(
        self,
        verdict: Classification,
        *,
        action: str,
        attempt: int,
        max_attempts: int | None,
        chained: bool = True,
    ) -> None:
        """A call failed. `chained`: the end of its chain will be told."""
        if self.log is None:
            return
        provider = verdict.provider or self.provider
        self.log.error_classified(
            verdict,
            session=self.session,
            caller=self.caller,
            action=action,
            operation=self.operation if chained else None,
            attempt=attempt,
            max_attempts=max_attempts,
            provider=provider,
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

    def retry_settled(self, reason: str, outcome: str, *, attempts: int, waited_seconds: float) -> None:
        """The chain came to its end; an exhausted `network_transient` ends as `network_permanent`."""
        if self.settled:
            return
        self.settled = True
        if (reason, outcome) == ("network_transient", "exhausted"):
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
