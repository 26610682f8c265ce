"""The retry chain of one supervised run: what each failure leads to, and the events that say so.

Invariant: a chain that was retried is settled once, however the run ends; a failure without a retry has its own
outcome.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from analyzer.recovery.backoff import Backoff
from analyzer.recovery.exhaustion import Exhaustion
from analyzer.recovery.step_error import StepError

if TYPE_CHECKING:
    from analyzer.events import EventLog

_BACKOFF = Backoff(base_seconds=1.0, cap_seconds=60.0)


@dataclass(slots=True)
class Chain:
    """Attempts so far."""

    agent: str
    retries: int
    """Tries after the first one, at most; what the recovery table allows is the other bound."""
    max_wait_seconds: float
    log: Callable[[], EventLog | None]
    """Opens the log, or gives the one that is open."""
    backoff: Backoff = _BACKOFF
    operation: str = field(default_factory=lambda: os.urandom(16).hex())
    attempt: int = 1
    """1-based number of the try that is under way or has just ended."""
    waited_seconds: float = 0.0
    _failures: Counter[str] = field(default_factory=Counter)
    _retried: bool = False
    _reason: str = "unknown"
    _gives_up_as: str = "surfaced"

    def failed(
        self, error: StepError, gone: Exhaustion | None, *, now: datetime, compressible: bool, session: str | None
    ) -> float | None:
        """Logs a failure. Seconds to wait before the next try; None where there is none.

        `compressible`: the next try can begin with a smaller context. `now` is aware, UTC.
        """
        from analyzer.classifier import RECOVERY  # who never fails never loads it

        verdict = error.classification
        self._reason = verdict.reason
        self._failures[verdict.reason] += 1
        compresses = verdict.action == "compress_then_retry"
        # Each reason has its own allowance; a relay is the compression, and was asked for.
        left = RECOVERY[verdict.reason].max_attempts - self._failures[verdict.reason]
        left = (left if compressible else 0) if compresses else min(left, 1 + self.retries - self.attempt)
        delay = self._delay(error, gone, now)
        waits = verdict.retryable and delay <= self.max_wait_seconds
        again = waits and left > 0
        self._gives_up_as = "surfaced" if not waits else "escalated" if compresses else "exhausted"
        self._retried = self._retried or again
        log = self.log()
        if log is not None:
            log.error_classified(
                verdict,
                session=session,
                at=now,
                caller=self.agent,
                operation=self.operation if self._retried else None,
                attempt=self.attempt if self._retried else None,
                max_attempts=self.attempt + max(0, left) if self._retried else None,
                outcome=None if self._retried else "surfaced",
                failure_reason=error.failure_reason,
                remediation=error.remediation,
                input_tokens=error.usage.input_tokens,
                output_tokens=error.usage.output_tokens,
            )
            if again:
                log.retry_scheduled(
                    operation=self.operation,
                    caller=self.agent,
                    reason=verdict.reason,
                    attempt=self.attempt,
                    delay_seconds=round(delay, 3),
                    session=session,
                )
        return delay if again else None

    def waited(self, seconds: float) -> None:
        """The wait before the next try is over."""
        self.waited_seconds += seconds
        self.attempt += 1

    def settle(self, outcome: str, *, session: str | None) -> str:
        """Ends the chain; the outcome of the run."""
        if not self._retried:
            return "succeeded" if outcome == "recovered" else "surfaced" if outcome == "gave_up" else outcome
        if outcome == "gave_up":
            outcome = self._gives_up_as
        reason = self._reason
        if (outcome, reason) == ("exhausted", "network_transient"):
            reason = "network_permanent"
        log = self.log()
        if log is not None:
            log.retry_settled(
                operation=self.operation,
                caller=self.agent,
                reason=reason,
                outcome=outcome,
                attempts=self.attempt,
                waited_seconds=round(self.waited_seconds, 3),
                session=session,
            )
        return outcome

    def _delay(self, error: StepError, gone: Exhaustion | None, now: datetime) -> float:
        verdict = error.classification
        if verdict.action == "compress_then_retry":
            return 0.0
        until = gone.back_at if gone is not None else verdict.reset_at
        if until is not None:
            # Everybody who waits for one reset wakes at one moment: the jitter of a first retry spreads them.
            return max(0.0, (until - now).total_seconds()) + self.backoff.delay_seconds(0)
        if verdict.retry_after_seconds is not None:
            return verdict.retry_after_seconds + self.backoff.delay_seconds(0)
        return self.backoff.delay_seconds(self.attempt - 1)
