"""A command under supervision: bytes pass through, failures get reasons, and it is started again if that helps.

Invariant: stdout is the command's, byte for byte; before any exception leaves, the command's group has been ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from analyzer.errors import BUSY, TIMED_OUT, AnalyzerError
from analyzer.recovery.process.group import NotStartedError, held_back
from analyzer.recovery.process.instance import Ending, Instance, Limits, Run, Streams
from analyzer.recovery.process.step_error import RelayHaltedError, StepError, start_error, step_error
from analyzer.recovery.retry.chain import Chain
from analyzer.recovery.retry.policy import Backoff
from analyzer.recovery.waiting import BLOCKING, SYSTEM_CLOCK, Clock, finish

if TYPE_CHECKING:
    from analyzer.classifier import Rules
    from analyzer.events import EventLog
    from analyzer.recovery.limits.guard import RateGuard
    from analyzer.recovery.limits.pool import AgentPool, Exhaustion
    from analyzer.recovery.process.streams import Stdin
    from analyzer.recovery.relay.monitor import Relay
    from analyzer.recovery.retry.calls import Step

BACKOFF = Backoff(base_seconds=1.0, cap_seconds=60.0)
"""The backoff of starts. An agent takes seconds to start,
so shorter waits, as between calls, gain nothing.
"""
_STDIN = 0
_PREFACE = (
    "You go on with work that an earlier instance of you began; its context was full. "
    "This is the checkpoint that it left:\n\n{document}\n---\n\n"
)


class CommandChain(Chain):
    """Starts of one command. A run that never fails loads only this class."""

    def __init__(self, agent: str, provider: str, limits: Limits, guard: Callable[[], RateGuard]) -> None:
        super().__init__(agent, attempt=1)
        self._provider = provider
        self._limits = limits
        self._guard = guard
        self._gives_up_as = "surfaced"

    def failed(self, error: StepError, gone: Exhaustion | None, *, now: datetime, compressible: bool) -> Step | None:
        """Log a failure, and return the step before the next try, or None if there is none.

        `compressible` says that the next try can begin with a smaller context. `now` is aware, UTC.
        """
        from analyzer.classifier import RECOVERY
        from analyzer.recovery.retry.policy import care_of

        verdict = error.classification
        care = care_of(verdict)
        # A relay is the compression, and the user asked for it: it is not counted as a retry.
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
        """Record that the limit now holds longer than the run waits."""
        self._gives_up_as = "surfaced"

    def ended(self, outcome: str) -> str:
        """Settle the chain and return the outcome of the run.

        `gave_up` means the outcome of the last failure.
        """
        if not self.begun:
            return {"recovered": "succeeded", "gave_up": "surfaced"}.get(outcome, outcome)
        outcome = self._gives_up_as if outcome == "gave_up" else outcome
        self.settle(outcome)
        return outcome

    def _step(self, error: StepError, gone: Exhaustion | None, now: datetime, skipped: int) -> Step:
        from analyzer.recovery.retry.calls import Step, asked_seconds, limit_step

        verdict = error.classification
        # All callers that wait for one reset wake at the same moment: the jitter of a first retry spreads them.
        jitter = BACKOFF.delay_seconds(0)
        if verdict.action == "compress_then_retry":
            return Step(help="compress")
        if gone is not None:
            # The guard holds the next run as long as the pool does.
            away = max(0.0, (gone.back_at - now).total_seconds())
            return limit_step(self._guard(), self._provider, verdict, None, away, jitter)
        asked = asked_seconds(verdict, now)
        if verdict.reason == "rate_limited":
            return limit_step(self._guard(), self._provider, verdict, verdict.facts.headers, asked, jitter)
        return Step(
            delay_seconds=BACKOFF.delay_seconds(self.attempt - 1 + skipped) if asked is None else asked + jitter
        )


class NotAdmittedError(AnalyzerError):
    """A command that was not started, because a known limit holds."""

    exit_code = BUSY

    def __init__(self, message: str, provider: str, reset_at: datetime | None) -> None:
        super().__init__(message, "come back then, let it wait with --max-wait, or use another agent")
        self.provider = provider
        self.reset_at = reset_at
        """Aware, UTC."""


def supervise(
    command: Sequence[str],
    *,
    agent: str | None = None,
    limits: Limits | None = None,
    log: EventLog | str | os.PathLike[str] | None = None,
    pool: AgentPool | None = None,
    guard: RateGuard | None = None,
    provider: str | None = None,
    make_relay: Callable[[Callable[[], str | None]], Relay] | None = None,
    streams: Streams | None = None,
    clock: Clock = SYSTEM_CLOCK,
    cancel: threading.Event | None = None,
    rules: Rules = None,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Run a command to its end, through retries, waits and hand-offs.

    Its stdin is ours. A `log` that is a folder is opened once the command has been started. `guard` keeps the limits of
    `provider` (else of `agent`); without one only this run has them. `make_relay` gets a function that returns the
    session, and makes the relay of the step. `say` gets one sentence a decision.

    Raises:
        WaitCancelledError: `cancel` was set.
        StateError: the pool's file cannot be used; nothing was started.
        OutputError: output could not be handed on.
        StdinError: stdin could not be kept for another start.
    """
    name = agent or os.path.basename(command[0])
    supervisor = _Supervisor(
        command,
        name,
        provider or name,
        limits or Limits(),
        streams or Streams(),
        clock,
        say,
        log_or_folder=log,
        pool=pool,
        shared_guard=guard,
        cancel=cancel,
        rules=rules,
    )
    if make_relay is not None:
        supervisor.relay = make_relay(lambda: supervisor.session)
    return supervisor.run()


@dataclass
class _Supervisor:
    """The run of one command; see `supervise`."""

    command: Sequence[str]
    agent: str
    provider: str
    """The name that the guard keeps the limits under."""
    limits: Limits
    streams: Streams
    clock: Clock
    say: Callable[[str], None]
    log_or_folder: EventLog | str | os.PathLike[str] | None
    pool: AgentPool | None
    shared_guard: RateGuard | None
    cancel: threading.Event | None
    rules: Rules
    relay: Relay | None = None

    def __post_init__(self) -> None:
        self._chain = CommandChain(self.agent, self.provider, self.limits, lambda: self._guard)
        self._version: str | None = None
        self.session = self._chain.session = f"run-{self._chain.operation}"
        """The first session that the stream names; one of our own until then."""
        self._named = False

    @cached_property
    def _log(self) -> EventLog | None:
        log = self.log_or_folder
        if log is None:
            return None
        from analyzer.events import EventLog  # not at the top: a command should not have to wait for it

        return log if isinstance(log, EventLog) else EventLog(log)

    @cached_property
    def _guard(self) -> RateGuard:
        from analyzer.recovery.limits.guard import RateGuard  # not at the top: only a limit loads it

        return self.shared_guard or RateGuard(clock=self.clock)

    def run(self) -> Run:
        began = self.clock.now()
        stdin: Stdin | None = None
        if self.limits.retries > 0 or self.relay is not None:
            # A command that is started only once reads our stdin itself.
            from analyzer.recovery.process.streams import Stdin

            stdin = Stdin(_STDIN)
        try:
            return self._run(stdin)
        except BaseException:
            self._chain.ended("aborted")
            raise
        finally:
            if stdin is not None:
                stdin.close()
            self._observed(began)
            if self._log is not None and self._log is not self.log_or_folder:
                self._log.close()

    def _run(self, stdin: Stdin | None) -> Run:
        limits = self.limits
        try:
            self._admit()
        except NotAdmittedError as refused:
            self._chain.log = self._log
            self._chain.call_short_circuited(refused.provider, refused.reset_at)
            return self._ended(refused.exit_code, "short_circuited", refused)
        while True:
            instance: Instance | None = None
            try:
                with held_back():
                    instance = self._start(stdin)
                self._chain.log = self._log  # loaded while the command begins its work
                ending = instance.attend(
                    timeout_seconds=limits.timeout_seconds,
                    grace_seconds=limits.grace_seconds,
                    cancel=self.cancel,
                )
                done = self._after(ending, instance)
                if done is not None:
                    return done
                instance.end_group(limits.grace_seconds)
            except NotStartedError as error:
                return self._not_started(error)
            except BaseException as error:
                if instance is not None:
                    instance.abandon(limits.grace_seconds)
                if not isinstance(error, RelayHaltedError):
                    raise
                self._chain.ended("gave_up")
                return self._ended(error.exit_code, "halted", error)
            finally:
                if instance is not None:
                    instance.close()

    def _admit(self) -> None:
        """Wait until the agent may be asked.

        Raises:
            NotAdmittedError: that takes longer than the limits allow.
            StateError: the pool's file cannot be used.
            WaitCancelledError: the cancel flag was set.
        """
        most = self.limits.max_wait_seconds
        if self.pool is not None:
            out = self.pool.wait_for(self.agent, most, self.cancel)
            if out is not None:
                until = f"{out.back_at:%Y-%m-%d %H:%M:%S} UTC"
                raise NotAdmittedError(
                    f"{self.agent} is out of the pool until {until}: {out.reason_text}", self.agent, out.back_at
                )
        if self.shared_guard is None:
            return
        from analyzer.recovery.limits.guard import RateLimitedError
        from analyzer.recovery.limits.state_file import StateError

        try:
            waited = self.shared_guard.block_until_ready(self.provider, max_wait_seconds=most, cancel=self.cancel)
        except RateLimitedError as refused:
            raise NotAdmittedError(refused.message, self.provider, refused.reset_at) from None
        except StateError:
            return  # without its file the guard has no limits; the provider itself may refuse
        if waited > 0:
            # The jitter spreads the runs that waited for the same limit.
            self.clock.sleep(BACKOFF.delay_seconds(0), self.cancel)

    def _start(self, stdin: Stdin | None) -> Instance:
        preface = b""
        if self.relay is not None and self.relay.checkpoint is not None:
            from analyzer.redaction import redact

            preface = _PREFACE.format(document=redact(self.relay.checkpoint.render())).encode("utf-8", "replace")
        descriptor = stdin.feed(preface) if stdin is not None and (preface or not os.isatty(_STDIN)) else None
        try:
            return Instance(
                self.command, stdin=descriptor, streams=self.streams, relay=self.relay, on_session=self._see_session
            )
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _after(self, ending: Ending, instance: Instance) -> Run | None:
        """Judge the end of a start; None if the command is to be started again."""
        self._version = self._version or ending.observed.agent_version
        if ending.observed.session is not None:
            self._see_session(ending.observed.session)
        if ending.handed_off and self.relay is not None:
            monitor = self.relay.monitor
            self.say(f"relay {monitor.relay_count}: handed off to a fresh instance by {self.relay.path}")
            if monitor.advice:
                self.say(f"advice: {monitor.advice}")
            return None
        if self.relay is not None:
            self.relay.resumed()  # it has ended without a reply that names its tokens
        if ending.reader_gone and ending.exit_code != 0 and not ending.timed_out:
            return self._ended(ending.exit_code, self._chain.ended("aborted"), None)
        now = self.clock.now()
        error = step_error(
            ending.observed,
            ending.exit_code,
            timed_out_after=self.limits.timeout_seconds if ending.timed_out else None,
            at=now,
            rules=self.rules,
            provider=self.provider if self.provider != self.agent else None,
            agent=self.agent,
        )
        code = TIMED_OUT if ending.timed_out else ending.exit_code
        if error is None:
            return self._ended(code, self._chain.ended("recovered"), None)
        gone = self._gone(error, ending.exit_code, now)
        compressible = self.relay is not None
        step = self._chain.failed(error, gone, now=now, compressible=compressible)
        if step is not None and (step.help is None or self._compressed(instance)) and self._wait(step, error, gone):
            return None
        return self._ended(code, self._chain.ended("gave_up"), error)

    def _compressed(self, instance: Instance) -> bool:
        """Hand off the work of a full context, so that the next try begins smaller.

        False after a failure.
        """
        assert self.relay is not None
        most = self.relay.monitor.settings.summarizer_token_cap
        if self.relay.hand_off(lambda: instance.transcript(most)) is None:
            self.say(f"no checkpoint: {self.relay.skipped}")
            return False
        return True

    def _wait(self, step: Step, error: StepError, gone: Exhaustion | None) -> bool:
        """Wait for the next try; False if the limit now holds too long."""
        from analyzer.recovery.limits.state_file import StateError
        from analyzer.recovery.retry.calls import wait

        self.say(f"{error.message}; try {self._chain.attempt + 1} in {step.seconds:.1f} s")
        began = self.clock.monotonic()
        most = self.limits.max_wait_seconds
        if finish(wait(BLOCKING, step, self._guard, self.provider, most, self.clock, self.cancel)) is not None:
            self._chain.still_limited()
            return False
        self._chain.waited(self.clock.monotonic() - began)
        if gone is not None and self.pool is not None:
            with suppress(StateError):  # it was reported already
                self.pool.out(self.agent)  # its reset is past: this call brings it back
        elif gone is not None and self._log is not None:
            self._log.agent_restored(agent=self.agent, session=self.session)
        return True

    def _gone(self, error: StepError, exit_code: int, now: datetime) -> Exhaustion | None:
        """Return the agent's usage limit, if the run hit it, and take the agent out of the pool."""
        from analyzer.recovery.limits.pool import exhaustion, log_exhausted
        from analyzer.recovery.limits.state_file import StateError

        gone = exhaustion(self.agent, error.classification, exit_code, now)
        if gone is None:
            return None
        if self.pool is not None:
            try:
                self.pool.remove(gone, session=self.session)
                self.say(f"{self.agent} leaves the pool: {gone.reason_text}")
                return gone
            except StateError as broken:
                # The command has run: its end is reported and logged without the pool.
                self.say(f"{self.agent} is at its usage limit but stays in the pool: {broken.message}")
        if self._log is not None:
            log_exhausted(self._log, gone, session=self.session)
        return gone

    def _not_started(self, error: NotStartedError) -> Run:
        failure = start_error(error, self.rules)
        if self.relay is not None and self.relay.resuming:
            self.relay.halt("the fresh instance could not be started")
        now = self.clock.now()
        self._chain.log = self._log
        self._chain.failed(failure, None, now=now, compressible=False)
        return self._ended(error.exit_code, self._chain.ended("gave_up"), failure)

    def _ended(self, exit_code: int, outcome: str, error: AnalyzerError | None) -> Run:
        relays = self.relay.monitor.relay_count if self.relay else 0
        chain = self._chain
        return Run(exit_code, outcome, error, chain.attempt, relays, chain.waited_seconds, self.session)

    def _observed(self, began: datetime) -> None:
        if self._log is not None:
            from analyzer.events.model import present
            from analyzer.events.times import format_time

            seen = {
                "started_at": format_time(began),
                "ended_at": format_time(self.clock.now()),
                "retry_visibility": "terminal",
                "part": self._chain.operation,
                "agent_version": self._version,
            }
            self._log.append("session.observed", present(seen), session=self.session)

    def _see_session(self, session: str) -> None:
        """Record the session that the stream names.

        A fresh instance has another one; the step keeps its first, so that its relays stay
        together.
        """
        if not self._named:
            self._named, self.session = True, session
            self._chain.session = session
