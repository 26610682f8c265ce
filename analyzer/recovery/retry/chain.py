"""One chain of calls: what comes after a failure, decided without waiting and without knowing who waits.

Invariant: every chain ends. Each reason has its own allowance of calls, and no reason gives back another's.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from analyzer.classifier import Classification, classify
from analyzer.recovery.context.conversation import Compression
from analyzer.recovery.limits.guard import RateGuard, RateLimitedError
from analyzer.recovery.limits.headers import response_headers
from analyzer.recovery.limits.state_file import StateError
from analyzer.recovery.retry.advice import Credential, advice, calls, said
from analyzer.recovery.retry.budget import IterationBudget, IterationBudgetExhaustedError
from analyzer.recovery.retry.events import Trail
from analyzer.recovery.retry.policy import Policy
from analyzer.recovery.retry.step import Step, asked_seconds, limit_step
from analyzer.recovery.waiting import Clock

_HELP = {"context_overflow": "compress", "tool_not_found": "reprobe"}
"""Reasons that are tried again only when the caller mends the cause first, and how it does."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all chains of one `Retry` share."""

    caller: str
    provider: str | None
    policy: Policy
    guard: RateGuard
    clock: Clock
    budget: IterationBudget | None
    credential: Credential | None
    rng: random.Random | None

    @property
    def guarded(self) -> str:
        """The name that the guard keeps the limits under."""
        return self.provider or self.caller


class Chain:
    """The state of one operation. `failed` says what comes next, or None when the error surfaces."""

    def __init__(self, setting: Setting, trail: Trail, helps: frozenset[str]) -> None:
        self.attempt = 0
        """Calls begun so far."""
        self._waited_seconds = 0.0
        self._setting = setting
        self._trail = trail
        self._helps = helps
        self._failures: Counter[str] = Counter()
        self._backoffs = 0
        self._verdict: Classification | None = None

    def admit(self) -> Step | None:
        """What has to happen before the first call; None where a silent policy leaves it out.

        Raises:
            RateLimitedError: the guard says no, and the policy says not to wait.
        """
        setting, policy = self._setting, self._setting.policy
        try:
            state = setting.guard.state(setting.guarded)
        except StateError:
            return Step()  # a guard that cannot be read guards nothing; the provider will say it itself
        if state.ready:
            return Step()
        if policy.wait_when_blocked and state.wait_seconds <= policy.max_wait_seconds:
            # The jitter keeps those apart who waited for the same limit.
            return Step(block_seconds=state.wait_seconds, delay_seconds=policy.backoff.delay_seconds(0, setting.rng))
        refused = self.short_circuit(state.reset_at)
        if not policy.silent:
            raise refused
        return None

    def short_circuit(self, reset_at: datetime | None) -> RateLimitedError:
        """The call is not made at all; the error that says so."""
        self._trail.call_short_circuited(self._setting.guarded, reset_at)
        return RateLimitedError(self._setting.guarded, reset_at)

    def failed(self, error: BaseException) -> Step | None:
        """A call raised. None: it is over, and the error surfaces with a note that says what to do."""
        policy = self._setting.policy
        self._verdict = verdict = classify(error, at=self._setting.clock.now())
        reason = verdict.reason
        self._failures[reason] += 1
        needed = _HELP.get(reason)
        helped = needed in self._helps
        tried_again = helped if needed is not None else verdict.retryable
        allowed = policy.attempts_for(reason, helped=helped) if tried_again else self._failures[reason]
        step = self._step(error, verdict, needed)
        outcome = None
        if verdict.detail == "aborted":
            outcome = "aborted"
        elif tried_again and self._failures[reason] >= allowed:
            outcome = "escalated" if reason == "context_overflow" else "exhausted"
        elif not tried_again or step.seconds > policy.max_wait_seconds:
            outcome = "surfaced"
        if outcome in ("escalated", "exhausted") and not self._trail.begun:
            outcome = "surfaced"  # the policy allows one call: nothing was tried that could be exhausted
        again = outcome is None and not policy.silent
        self._trail.error_classified(
            verdict,
            action=self._action(verdict, tried_again),
            attempt=self.attempt,
            max_attempts=self.attempt + allowed - self._failures[reason],
            again=again,
            outcome=None if policy.silent else outcome,
        )
        if policy.silent:
            return None
        if outcome is not None:
            self._over(error, outcome)
            return None
        self._spend(error)
        return step

    def helped(self, result: object, error: BaseException) -> bool:
        """The help for the last failure was given; False when it came to nothing, and the error surfaces."""
        verdict = self._known()
        if verdict.reason != "context_overflow":
            return True
        change = result if isinstance(result, Compression) else None
        self._trail.context_changed(change)
        if change is None:
            self._over(error, "escalated")
        return change is not None

    def scheduled(self, step: Step) -> None:
        """The next call will come after a wait."""
        self._trail.retry_scheduled(self._known().reason, attempt=self.attempt, delay_seconds=step.seconds)

    def waited(self, seconds: float) -> None:
        """A wait is over, or was cut short; one before the first call is no retry's."""
        if self.attempt:
            self._waited_seconds += seconds

    def still_limited(self, error: BaseException) -> None:
        """While it waited, the limit grew longer than the policy waits for: the error surfaces."""
        self._over(error, "surfaced")

    def left(self) -> None:
        """An error ends the chain between two calls; what has not been settled yet surfaced."""
        if self._verdict is not None:
            self._settle("surfaced")

    def succeeded(self, *, cache_hit: bool) -> None:
        """A call returned."""
        if self.attempt > 1:
            self._settle("recovered")
            if cache_hit and self._setting.budget is not None:
                self._setting.budget.refund(1)

    def aborted(self, error: BaseException, *, in_call: bool) -> None:
        """Somebody stopped the chain: in a call, or in the wait before one."""
        if in_call:
            verdict = classify(error, at=self._setting.clock.now())
            self._verdict = self._verdict or verdict
            self._trail.error_classified(
                verdict,
                action="record",
                attempt=self.attempt,
                max_attempts=self.attempt,
                again=False,
                outcome="aborted",
            )
        if self._verdict is not None:
            self._settle("aborted")

    def _action(self, verdict: Classification, tried_again: bool) -> str:
        """What this caller does, which may be less or more than the table advises."""
        if self._setting.policy.silent or verdict.detail == "aborted":
            return "record"
        if not tried_again:
            return "surface"
        return verdict.action if verdict.retryable else "retry"

    def _step(self, error: BaseException, verdict: Classification, needed: str | None) -> Step:
        if needed is not None:
            return Step(help=needed)
        setting = self._setting
        now = setting.clock.now()
        if verdict.reason != "rate_limited":
            return Step(delay_seconds=max(self._backoff(), asked_seconds(verdict, now) or 0.0))
        # The guard holds the wait; behind it the jitter starts anew.
        self._backoffs = 0
        headers = response_headers(error) or verdict.facts.headers
        return limit_step(setting.guard, setting.guarded, verdict, headers, now, self._backoff())

    def _backoff(self) -> float:
        self._backoffs += 1
        return self._setting.policy.backoff.delay_seconds(self._backoffs - 1, self._setting.rng)

    def _spend(self, error: BaseException) -> None:
        budget = self._setting.budget
        if budget is None:
            return
        try:
            budget.consume(1)
        except IterationBudgetExhaustedError as exhausted:
            self._trail.budget_exhausted(budget)
            self._settle("exhausted", ended_by="iteration_budget")
            verdict = self._known()
            exhausted.add_note(
                f"{self._setting.caller}: the iteration budget ended the retries after {calls(self.attempt)}; "
                f"what failed is {verdict.reason}{said(verdict)}"
            )
            raise exhausted from error

    def _over(self, error: BaseException, outcome: str) -> None:
        setting = self._setting
        self._settle(outcome)
        note = advice(
            self._known(),
            caller=setting.caller,
            provider=setting.provider,
            credential=setting.credential,
            error=error,
            outcome=outcome,
            attempts=self.attempt,
        )
        if outcome != "aborted":
            error.add_note(note)

    def _settle(self, outcome: str, ended_by: str | None = None) -> None:
        self._trail.retry_settled(
            self._known().reason,
            outcome,
            attempts=self.attempt,
            waited_seconds=self._waited_seconds,
            ended_by=ended_by,
        )

    def _known(self) -> Classification:
        assert self._verdict is not None  # asked for only after a failure
        return self._verdict
