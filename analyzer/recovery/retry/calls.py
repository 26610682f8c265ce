"""One chain of calls: the step after each failure, decided without waiting.

Invariant: every chain ends. Each reason has its own allowance of calls, and no reason gives back another's.

A step is the same for calls and for commands.
"""

from __future__ import annotations

import random
import threading
from datetime import datetime

from analyzer.classifier import Classification, classify
from analyzer.events import EventLog
from analyzer.frozen import frozen
from analyzer.recovery.context.conversation import Compression
from analyzer.recovery.limits.guard import DEFAULT_BLOCK_SECONDS, RateGuard, RateLimitedError, response_headers
from analyzer.recovery.limits.state_file import StateError
from analyzer.recovery.retry.chain import Chain
from analyzer.recovery.retry.policy import (
    Care,
    Credential,
    IterationBudget,
    IterationBudgetExhaustedError,
    Policy,
    advice,
    calls,
    care_of,
    quoted_message,
)
from analyzer.recovery.waiting import Clock, Runner


@frozen
class Step:
    """The work before the next try, in this order."""

    help: str | None = None
    """`compress` or `reprobe`: how the caller mends the cause."""
    block_seconds: float | None = None
    """The expected wait until the guard says that the provider is ready; None without a limit."""
    delay_seconds: float = 0.0
    """Seconds to wait after that."""

    @property
    def seconds(self) -> float:
        """Return the whole wait in seconds, as far as it is known."""
        return (self.block_seconds or 0.0) + self.delay_seconds


def asked_seconds(verdict: Classification, now: datetime) -> float | None:
    """Return the seconds that the error itself asks to wait, or None; `now` is aware."""
    if verdict.retry_after_seconds is not None:
        return verdict.retry_after_seconds
    if verdict.reset_at is not None:
        return max(0.0, (verdict.reset_at - now).total_seconds())
    return None


async def wait(
    runner: Runner,
    step: Step,
    guard: RateGuard,
    provider: str,
    max_wait_seconds: float,
    clock: Clock,
    cancel: threading.Event | None,
) -> RateLimitedError | None:
    """Wait as a step says.

    Return the guard's refusal if the limit now holds longer than `max_wait_seconds`.

    Raises:
        WaitCancelledError: `cancel` was set.
    """
    if step.block_seconds is not None:
        try:
            await guard.wait_until_ready(runner, provider, max_wait_seconds, cancel)
        except RateLimitedError as refused:
            return refused
        except StateError:
            pass  # a guard that breaks holds nobody back
    await runner.sleep(clock, step.delay_seconds, cancel)
    return None


def limit_step(
    guard: RateGuard,
    provider: str,
    verdict: Classification,
    headers: object,
    asked_seconds: float | None,
    jitter_seconds: float,
) -> Step:
    """Record a refusal for a limit, and return the step: wait until the provider is ready, then the jitter.

    Weak words hold back only this caller, because they may speak of something that did not happen to it.
    """
    own_seconds = jitter_seconds + (DEFAULT_BLOCK_SECONDS if asked_seconds is None else asked_seconds)
    certain = verdict.confidence != "weak" or verdict.evidence != "text"
    try:
        state = guard.record(provider, headers, limited=certain, wait_seconds=asked_seconds if certain else None)
    except StateError:
        return Step(delay_seconds=own_seconds)  # without the file only this caller waits
    if state.ready:
        return Step(delay_seconds=own_seconds)
    return Step(block_seconds=state.wait_seconds, delay_seconds=jitter_seconds)


_HELP = {"context_overflow": "compress", "tool_not_found": "reprobe"}
"""Reasons that are tried again only after the caller has mended the cause, and how."""


@frozen
class Setting:
    """The settings that all chains of one `Retry` share."""

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
        """Return the name that the guard keeps the limits under."""
        return self.provider or self.caller

    @property
    def waits(self) -> tuple[RateGuard, str, float, Clock]:
        """Return the arguments of `wait` that are the same for every step."""
        return self.guard, self.guarded, self.policy.max_wait_seconds, self.clock


class CallChain(Chain):
    """Calls of one operation. `failed` returns the next step, or None if the error surfaces."""

    def __init__(self, setting: Setting, helps: frozenset[str], log: EventLog | None, session: str | None) -> None:
        super().__init__(setting.caller, log, session, setting.provider)
        self._setting = setting
        self._helps = helps
        self._backoffs = 0
        self._verdict: Classification
        """The verdict on the last failure; not there before one."""

    def admit(self) -> Step | None:
        """Return the step before the first call; None if a silent policy skips the call.

        Raises:
            RateLimitedError: the guard refuses, and the policy does not wait.
        """
        setting, policy = self._setting, self._setting.policy
        try:
            state = setting.guard.state(setting.guarded)
        except StateError:
            return Step()  # a guard that cannot be read guards nothing; the provider will say it itself
        if state.ready:
            return Step()
        if policy.wait_when_blocked and state.wait_seconds <= policy.max_wait_seconds:
            # The jitter spreads the callers that waited for the same limit.
            return Step(block_seconds=state.wait_seconds, delay_seconds=policy.backoff.delay_seconds(0, setting.rng))
        refused = self.short_circuit(state.reset_at)
        if not policy.silent:
            raise refused
        return None

    def short_circuit(self, reset_at: datetime | None) -> RateLimitedError:
        """Log that the call is not made, and return the error to raise."""
        self.call_short_circuited(self._setting.guarded, reset_at)
        return RateLimitedError(self._setting.guarded, reset_at)

    def failed(self, error: BaseException) -> Step | None:
        """Record a call that raised, and return the step before the next one.

        None means that the error surfaces, with a note.
        """
        policy = self._setting.policy
        self._verdict = verdict = classify(error, at=self._setting.clock.now())
        failures = self.count(verdict.reason)
        needed = _HELP.get(verdict.reason)
        helped = needed in self._helps
        care = care_of(verdict)
        retried = helped if needed is not None else verdict.retryable and care.most_calls != 1
        left = policy.attempts_for(verdict.reason, helped=helped, most=care.most_calls) - failures if retried else 0
        step = self._step(error, verdict, needed, care)
        outcome = self.ends_as(retried=retried, left=left, waits=step.seconds <= policy.max_wait_seconds)
        if verdict.detail == "aborted":
            outcome = "aborted"
        self.error_classified(
            verdict,
            action=self._action(verdict, retried),
            left=left,
            again=outcome is None and not policy.silent,
            outcome=None if policy.silent else outcome,
        )
        if policy.silent:
            return None
        if outcome is not None:
            self.end(error, outcome)
            return None
        self._spend(error)
        return step

    def helped(self, result: object, error: BaseException) -> bool:
        """Record the help for the last failure.

        False if it changed nothing, so that the error surfaces.
        """
        if self.reason != "context_overflow":
            return True
        change = result if isinstance(result, Compression) else None
        self.context_changed(change)
        if change is None:
            self.end(error, "escalated")
        return change is not None

    def waited(self, seconds: float) -> None:
        """Add to the time waited. A wait before the first call does not count."""
        if self.attempt:
            self.waited_seconds += seconds

    def succeeded(self, *, cache_hit: bool) -> None:
        """End the chain because a call returned."""
        if self.attempt > 1:
            self.settle("recovered")
            if cache_hit and self._setting.budget is not None:
                self._setting.budget.refund(1)

    def aborted(self, error: BaseException) -> None:
        """End the chain because a call was cancelled."""
        verdict = classify(error, at=self._setting.clock.now())
        self.error_classified(verdict, action="record", again=False, outcome="aborted")
        self.settle("aborted")

    def _action(self, verdict: Classification, retried: bool) -> str:
        """Return the action of this caller, which may differ from the recovery table's."""
        if self._setting.policy.silent or verdict.detail == "aborted":
            return "record"
        if not retried:
            return "surface"
        return verdict.action if verdict.retryable else "retry"

    def _step(self, error: BaseException, verdict: Classification, needed: str | None, care: Care) -> Step:
        if needed is not None:
            return Step(help=needed)
        setting = self._setting
        now = setting.clock.now()
        if verdict.reason != "rate_limited":
            return Step(delay_seconds=max(self._backoff(care), asked_seconds(verdict, now) or 0.0))
        # The guard holds the wait; the jitter after it starts again.
        self._backoffs = 0
        headers = response_headers(error) or verdict.facts.headers
        asked = asked_seconds(verdict, now)
        return limit_step(setting.guard, setting.guarded, verdict, headers, asked, self._backoff(care))

    def _backoff(self, care: Care) -> float:
        self._backoffs += 1
        step = self._backoffs - 1 + care.skipped_steps
        return self._setting.policy.backoff.delay_seconds(step, self._setting.rng)

    def _spend(self, error: BaseException) -> None:
        budget = self._setting.budget
        if budget is None:
            return
        try:
            budget.consume(1)
        except IterationBudgetExhaustedError as exhausted:
            self.budget_exhausted(budget)
            self.settle("exhausted", ended_by="iteration_budget")
            verdict = self._verdict
            exhausted.add_note(
                f"{self._setting.caller}: the iteration budget ended the retries after {calls(self.attempt)}; "
                f"what failed is {verdict.reason}{quoted_message(verdict)}"
            )
            raise exhausted from error

    def end(self, error: BaseException, outcome: str) -> None:
        """End the chain, and note on the error what to do now."""
        setting = self._setting
        self.settle(outcome)
        note = advice(
            self._verdict,
            caller=setting.caller,
            provider=setting.provider,
            credential=setting.credential,
            error=error,
            outcome=outcome,
            attempts=self.attempt,
        )
        if outcome != "aborted":
            error.add_note(note)
