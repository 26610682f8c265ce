"""Whether a supervised command is started at all, and whether it is started again after a failure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from analyzer.errors import BUSY, AnalyzerError
from analyzer.recovery.retry.chain import Chain
from analyzer.recovery.retry.policy import Backoff

if TYPE_CHECKING:
    from analyzer.recovery.limits.guard import RateGuard
    from analyzer.recovery.limits.pool import Exhaustion
    from analyzer.recovery.retry.calls import Step
    from analyzer.recovery.supervision.instance import Plan
    from analyzer.recovery.supervision.step_error import StepError


BACKOFF = Backoff(base_seconds=1.0, cap_seconds=60.0)
"""An agent takes seconds to start: shorter waits than those between calls gain nothing."""


class CommandChain(Chain):
    """Starts of one command. A run that never fails loads nothing more than this."""

    def __init__(self, plan: Plan, guard: Callable[[], RateGuard]) -> None:
        super().__init__(plan.agent, attempt=1)
        self._provider = plan.provider
        self._limits = plan.limits
        self._guard = guard
        self._gives_up_as = "surfaced"

    def failed(self, error: StepError, gone: Exhaustion | None, *, now: datetime, compressible: bool) -> Step | None:
        """Log a failure; returns what comes before the next try, or None where there is none.

        `compressible`: the next try can begin with a smaller context. `now` is aware, UTC.
        """
        from analyzer.classifier import RECOVERY
        from analyzer.recovery.retry.policy import care_of

        verdict = error.classification
        care = care_of(verdict)
        # A relay is the compression, and was asked for: it counts as no retry.
        most = RECOVERY[verdict.reason].max_attempts
        left = min(most, care.most_calls or most) - self.count(verdict.reason)
        if verdict.action != "compress_then_retry":
            left = min(left, 1 + self._limits.retries - self.attempt)
        elif not compressible:
            left = 0
        step = self._step(error, gone, now, care.skipped_steps)
        waits = (step.block_seconds or step.delay_seconds) <= self._limits.max_wait_seconds
        outcome = self.ends_as(retried=verdict.retryable and waits and care.most_calls != 1, left=left)
        self._gives_up_as = outcome or self.spent_as
        self.error_classified(
            verdict,
            action="surface" if care.most_calls == 1 else verdict.action,
            left=max(0, left),
            again=outcome is None,
            outcome="surfaced",
            at=now,
            failure_reason=error.failure_reason,
            remediation=error.remediation,
            input_tokens=error.usage.input_tokens,
            output_tokens=error.usage.output_tokens,
        )
        if outcome is not None:
            return None
        self.retry_scheduled(step.seconds)
        return step

    def waited(self, seconds: float) -> None:
        """Count a wait, and begin the next try."""
        self.waited_seconds += seconds
        self.attempt += 1

    def still_limited(self) -> None:
        """Note that the limit grew, during the wait, longer than a run waits for."""
        self._gives_up_as = "surfaced"

    def ended(self, outcome: str) -> str:
        """Settle the chain and return the outcome of the run. `gave_up` stands for the outcome of the last failure."""
        if not self.begun:
            return {"recovered": "succeeded", "gave_up": "surfaced"}.get(outcome, outcome)
        outcome = self._gives_up_as if outcome == "gave_up" else outcome
        self.settle(outcome)
        return outcome

    def _step(self, error: StepError, gone: Exhaustion | None, now: datetime, skipped: int) -> Step:
        from analyzer.recovery.retry.calls import Step, asked_seconds, limit_step

        verdict = error.classification
        # Everybody who waits for one reset wakes at one moment: the jitter of a first retry spreads them.
        jitter = BACKOFF.delay_seconds(0)
        if verdict.action == "compress_then_retry":
            return Step(help="compress")
        if gone is not None:
            # The guard holds the next run as the pool does, until the moment that both believe.
            away = max(0.0, (gone.back_at - now).total_seconds())
            return limit_step(self._guard(), self._provider, verdict, None, away, jitter)
        asked = asked_seconds(verdict, now)
        if verdict.reason == "rate_limited":
            return limit_step(self._guard(), self._provider, verdict, verdict.facts.headers, asked, jitter)
        return Step(
            delay_seconds=BACKOFF.delay_seconds(self.attempt - 1 + skipped) if asked is None else asked + jitter
        )


class NotAdmittedError(AnalyzerError):
    """The command was not started: a limit holds that is known already."""

    exit_code = BUSY

    def __init__(self, message: str, provider: str, reset_at: datetime | None) -> None:
        super().__init__(message, "come back then, let it wait with --max-wait, or use another agent")
        self.provider = provider
        self.reset_at = reset_at
        """Aware, UTC."""


def admit(plan: Plan) -> None:
    """Waits until the agent may be asked.

    Raises:
        NotAdmittedError: that takes longer than the limits allow.
        StateError: the pool's file cannot be used.
        WaitCancelledError: the cancel flag was set.
    """
    limits = plan.limits
    if plan.pool is not None:
        out = plan.pool.wait_for(plan.agent, limits.max_wait_seconds, plan.cancel)
        if out is not None:
            until = f"{out.back_at:%Y-%m-%d %H:%M:%S} UTC"
            raise NotAdmittedError(
                f"{plan.agent} is out of the pool until {until}: {out.reason_text}", plan.agent, out.back_at
            )
    if plan.guard is None:
        return
    from analyzer.recovery.limits.guard import RateLimitedError
    from analyzer.recovery.limits.state_file import StateError

    try:
        waited = plan.guard.block_until_ready(
            plan.provider, max_wait_seconds=limits.max_wait_seconds, cancel=plan.cancel
        )
    except RateLimitedError as refused:
        raise NotAdmittedError(refused.message, plan.provider, refused.reset_at) from None
    except StateError:
        return  # a guard that cannot be read guards nothing; the provider will say it itself
    if waited > 0:
        # The jitter keeps those apart who waited for the same limit.
        plan.clock.sleep(BACKOFF.delay_seconds(0), plan.cancel)
