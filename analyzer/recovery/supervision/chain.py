"""The retry chain of one supervised run: what each failure leads to, and the events that say so.

Invariant: a chain is settled once, however the run ends; a failure without a retry has its own outcome.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from analyzer.recovery.retry.backoff import Backoff

if TYPE_CHECKING:
    from analyzer.events import EventLog
    from analyzer.recovery.limits.exhaustion import Exhaustion
    from analyzer.recovery.limits.guard import RateGuard
    from analyzer.recovery.retry.events import Trail
    from analyzer.recovery.retry.step import Step
    from analyzer.recovery.supervision.step_error import StepError

BACKOFF = Backoff(base_seconds=1.0, cap_seconds=60.0)
"""An agent takes seconds to start: shorter waits than those between calls gain nothing."""


@dataclass(slots=True)
class Chain:
    """Attempts so far. Who never fails loads nothing more than this."""

    agent: str
    provider: str
    """The name that the guard keeps the limits under."""
    retries: int
    """Tries after the first one, at most; what the recovery table allows is the other bound."""
    max_wait_seconds: float
    log: Callable[[], EventLog | None]
    """Opens the log, or gives the one that is open."""
    guard: Callable[[], RateGuard]
    operation: str = field(default_factory=lambda: os.urandom(16).hex())
    attempt: int = 1
    """1-based number of the try that is under way or has just ended."""
    waited_seconds: float = 0.0
    _failures: Counter[str] = field(default_factory=Counter)
    _trail: Trail | None = None
    _reason: str = "unknown"
    _gives_up_as: str = "surfaced"

    def failed(
        self, error: StepError, gone: Exhaustion | None, *, now: datetime, compressible: bool, session: str | None
    ) -> Step | None:
        """Logs a failure. What comes before the next try; None where there is none.

        `compressible`: the next try can begin with a smaller context. `now` is aware, UTC.
        """
        from analyzer.classifier import RECOVERY
        from analyzer.recovery.retry.events import Trail

        verdict = error.classification
        self._reason = verdict.reason
        self._failures[verdict.reason] += 1
        compresses = verdict.action == "compress_then_retry"
        # Each reason has its own allowance; a relay is the compression, and was asked for.
        left = RECOVERY[verdict.reason].max_attempts - self._failures[verdict.reason]
        left = (left if compressible else 0) if compresses else min(left, 1 + self.retries - self.attempt)
        step = self._step(error, gone, now)
        waits = verdict.retryable and (step.block_seconds or step.delay_seconds) <= self.max_wait_seconds
        again = waits and left > 0
        self._gives_up_as = "surfaced" if not waits else "escalated" if compresses else "exhausted"
        trail = self._trail = self._trail or Trail(self.agent, self.log(), operation=self.operation)
        trail.session = session
        trail.error_classified(
            verdict,
            action=verdict.action,
            attempt=self.attempt,
            max_attempts=self.attempt + max(0, left),
            again=again,
            outcome="surfaced",
            at=now,
            failure_reason=error.failure_reason,
            remediation=error.remediation,
            input_tokens=error.usage.input_tokens,
            output_tokens=error.usage.output_tokens,
        )
        if again:
            trail.retry_scheduled(verdict.reason, attempt=self.attempt, delay_seconds=step.seconds)
        return step if again else None

    def waited(self, seconds: float) -> None:
        """The wait before the next try is over."""
        self.waited_seconds += seconds
        self.attempt += 1

    def still_limited(self) -> None:
        """While it waited, the limit grew longer than a run waits for."""
        self._gives_up_as = "surfaced"

    def settle(self, outcome: str, *, session: str | None) -> str:
        """Ends the chain; the outcome of the run."""
        if self._trail is None or not self._trail.begun:
            return {"recovered": "succeeded", "gave_up": "surfaced"}.get(outcome, outcome)
        if outcome == "gave_up":
            outcome = self._gives_up_as
        self._trail.session = session
        self._trail.retry_settled(self._reason, outcome, attempts=self.attempt, waited_seconds=self.waited_seconds)
        return outcome

    def _step(self, error: StepError, gone: Exhaustion | None, now: datetime) -> Step:
        from analyzer.recovery.retry.step import Step, asked_seconds, limit_step

        verdict = error.classification
        # Everybody who waits for one reset wakes at one moment: the jitter of a first retry spreads them.
        jitter = BACKOFF.delay_seconds(0)
        if verdict.action == "compress_then_retry":
            return Step(help="compress")
        if gone is not None:
            return Step(delay_seconds=max(0.0, (gone.back_at - now).total_seconds()) + jitter)
        if verdict.reason == "rate_limited":
            return limit_step(self.guard(), self.provider, verdict, verdict.facts.headers, now, jitter)
        asked = asked_seconds(verdict, now)
        return Step(delay_seconds=BACKOFF.delay_seconds(self.attempt - 1) if asked is None else asked + jitter)
