"""A command under supervision: bytes pass through, failures get reasons, and it is started again where that helps.

Invariant: stdout is the command's, byte for byte; whatever raises here, the command's group has been ended before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from analyzer.errors import BUSY, TIMED_OUT, AnalyzerError
from analyzer.recovery.exhaustion import Exhaustion, exhaustion, log_exhausted
from analyzer.recovery.process import NotStartedError
from analyzer.recovery.process_signals import held_back
from analyzer.recovery.step_error import UNKNOWN, RelayHaltedError, StepError, step_error
from analyzer.recovery.supervise_chain import Chain
from analyzer.recovery.supervise_instance import Ending, Instance, Streams
from analyzer.recovery.supervise_observer import Observed, TokenUsage
from analyzer.recovery.waiting import SYSTEM_CLOCK, Clock, WaitCancelledError

if TYPE_CHECKING:
    from analyzer.classifier import Ruleset
    from analyzer.events import EventLog
    from analyzer.recovery.pool import AgentPool
    from analyzer.recovery.process_stdin import Stdin
    from analyzer.recovery.relay import Relay

_STDIN = 0
_PREFACE = (
    "You go on with work that an earlier instance of you began; its context was full. "
    "This is the checkpoint that it left:\n\n{document}\n---\n\n"
)


class AgentOutError(AnalyzerError):
    """The agent is out of the pool: the command was not started."""

    exit_code = BUSY


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how often."""

    retries: int = 0
    """Tries after the first one, within what the recovery table allows."""
    timeout_seconds: float | None = None
    """For each start."""
    grace_seconds: float = 3.0
    """From SIGTERM to SIGKILL."""
    max_wait_seconds: float = 60.0
    """The longest wait for a limit to reset; where one takes longer, there is none."""


@dataclass(frozen=True, slots=True)
class Run:
    """How a supervised run ended."""

    exit_code: int
    """The command's; 124 where it was timed out, 125 where a relay was halted, 127 where it could not be started, 75
    where its agent is out of the pool."""
    outcome: str
    """`succeeded`, `recovered`, `exhausted`, `surfaced`, `escalated`, `aborted`, `halted` or `short_circuited`."""
    error: AnalyzerError | None
    """A `StepError` where the command failed."""
    attempts: int
    relay_count: int
    waited_seconds: float
    session: str


def supervise(
    command: Sequence[str],
    *,
    agent: str | None = None,
    limits: Limits | None = None,
    log: EventLog | str | os.PathLike[str] | None = None,
    pool: AgentPool | None = None,
    make_relay: Callable[[Callable[[], str | None]], Relay] | None = None,
    streams: Streams | None = None,
    clock: Clock = SYSTEM_CLOCK,
    cancel: threading.Event | None = None,
    ruleset: Ruleset | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Runs a command to its end, through retries, waits and hand-offs.

    Its stdin is ours. A `log` that is given as a folder is opened once the command has been started. `make_relay` is
    given a function that tells the session, and makes the relay of the step. `say` gets one sentence a decision.

    Raises:
        WaitCancelledError: `cancel` was set.
        StateError: the pool's file cannot be used.
        OutputError: output could not be handed on.
    """
    name = agent or os.path.basename(command[0])
    supervisor = _Supervisor(
        command, name, limits or Limits(), log, pool, streams or Streams(), clock, cancel, ruleset, say
    )
    if make_relay is not None:
        supervisor.relay = make_relay(lambda: supervisor.session)
    return supervisor.run()


class _Supervisor:
    def __init__(
        self,
        command: Sequence[str],
        agent: str,
        limits: Limits,
        log: EventLog | str | os.PathLike[str] | None,
        pool: AgentPool | None,
        streams: Streams,
        clock: Clock,
        cancel: threading.Event | None,
        ruleset: Ruleset | None,
        say: Callable[[str], None],
    ) -> None:
        self._command, self._agent, self._limits = command, agent, limits
        self._given_log, self._pool, self._streams = log, pool, streams
        self._clock, self._cancel, self._ruleset, self._say = clock, cancel, ruleset, say
        self._chain = Chain(agent, limits.retries, limits.max_wait_seconds, lambda: self._log)
        self._version: str | None = None
        self.relay: Relay | None = None
        self.session = f"run-{self._chain.operation}"
        """The first that the stream names; one of our own until then."""
        self._named = False

    @cached_property
    def _log(self) -> EventLog | None:
        if self._given_log is None:
            return None
        from analyzer.events import EventLog  # a command should not have to wait for it

        return self._given_log if isinstance(self._given_log, EventLog) else EventLog(self._given_log)

    def run(self) -> Run:
        began = self._clock.now()
        # A command that is started once reads our stdin itself, and so does one at a terminal.
        stdin = self._kept_stdin() if self._limits.retries > 0 or self.relay is not None else None
        try:
            return self._run(stdin)
        except (KeyboardInterrupt, WaitCancelledError):
            self._chain.settle("aborted", session=self.session)
            raise
        finally:
            if stdin is not None:
                stdin.close()
            self._observed(began)
            if self._log is not None and self._log is not self._given_log:
                self._log.close()

    def _run(self, stdin: Stdin | None) -> Run:
        out = self._pool.wait_for(self._agent, self._limits.max_wait_seconds, self._cancel) if self._pool else None
        if out is not None:
            return self._short_circuited(out)
        while True:
            instance: Instance | None = None
            try:
                with held_back():
                    instance = self._start(stdin)
                _ = self._log  # loaded while the command begins its work
                ending = instance.attend(
                    timeout_seconds=self._limits.timeout_seconds,
                    grace_seconds=self._limits.grace_seconds,
                    cancel=self._cancel,
                )
                done = self._after(ending, instance)
                if done is not None:
                    return done
                instance.end_group(self._limits.grace_seconds)
            except NotStartedError as error:
                return self._not_started(error)
            except BaseException as error:
                if instance is not None:
                    instance.abandon(self._limits.grace_seconds)
                if not isinstance(error, RelayHaltedError):
                    raise
                self._chain.settle("gave_up", session=self.session)
                return self._ended(error.exit_code, "halted", error)
            finally:
                if instance is not None:
                    instance.close()

    def _kept_stdin(self) -> Stdin:
        from analyzer.recovery.process_stdin import Stdin  # most commands are started once

        return Stdin(_STDIN)

    def _start(self, stdin: Stdin | None) -> Instance:
        preface = b""
        if self.relay is not None and self.relay.path is not None:
            preface = _PREFACE.format(document=self.relay.path.read_text("utf-8")).encode()
        given = stdin.feed(preface) if stdin is not None and (preface or not os.isatty(_STDIN)) else None
        try:
            return Instance(
                self._command,
                stdin=given,
                streams=self._streams,
                relay=self.relay,
                on_session=self._see_session,
            )
        finally:
            if given is not None:
                os.close(given)

    def _after(self, ending: Ending, instance: Instance) -> Run | None:
        """What a start led to; None where the command is to be started again."""
        self._see(ending.observed)
        if ending.handed_off and self.relay is not None:
            self._say(f"relay {self.relay.monitor.relay_count}: handed off to a fresh instance by {self.relay.path}")
            if self.relay.monitor.advice:
                self._say(f"advice: {self.relay.monitor.advice}")
            return None
        if self.relay is not None:
            self.relay.resumed()  # it has ended without a reply that tells its tokens
        if ending.reader_gone and ending.exit_code != 0:
            return self._ended(ending.exit_code, self._chain.settle("aborted", session=self.session), None)
        now = self._clock.now()
        error = step_error(
            ending.observed,
            ending.exit_code,
            timed_out_after=self._limits.timeout_seconds if ending.timed_out else None,
            at=now,
            ruleset=self._ruleset,
        )
        code = TIMED_OUT if ending.timed_out else ending.exit_code
        if error is None:
            return self._ended(code, self._chain.settle("recovered", session=self.session), None)
        gone = exhaustion(self._agent, error.classification, ending.exit_code, now)
        if gone is not None:
            self._leaves(gone)
        compressible = self.relay is not None
        delay = self._chain.failed(error, gone, now=now, compressible=compressible, session=self.session)
        if delay is None:
            return self._ended(code, self._chain.settle("gave_up", session=self.session), error)
        if error.classification.action == "compress_then_retry" and not self._compressed(instance):
            return self._ended(code, self._chain.settle("gave_up", session=self.session), error)
        self._wait(delay, error, gone)
        return None

    def _compressed(self, instance: Instance) -> bool:
        """Hands off what a full context did, so that the next try begins with less."""
        assert self.relay is not None
        most = self.relay.monitor.settings.summarizer_token_cap
        if self.relay.hand_off(lambda: instance.transcript(most)) is None:
            self._say(f"no checkpoint: {self.relay.skipped}")
            return False
        return True

    def _wait(self, delay: float, error: StepError, gone: Exhaustion | None) -> None:
        self._say(f"{error.message}; try {self._chain.attempt + 1} in {delay:.1f} s")
        self._clock.sleep(delay, self._cancel)
        self._chain.waited(delay)
        if gone is not None and self._pool is not None:
            self._pool.out(self._agent)  # back by now: looking brings it back
        elif gone is not None and self._log is not None:
            self._log.agent_restored(agent=self._agent, session=self.session)

    def _leaves(self, gone: Exhaustion) -> None:
        if self._pool is not None:
            self._pool.remove(gone, session=self.session)
            self._say(f"{self._agent} leaves the pool: {gone.reason_text}")
        elif self._log is not None:
            log_exhausted(self._log, gone, session=self.session)

    def _short_circuited(self, out: Exhaustion) -> Run:
        if self._log is not None:
            from analyzer.events.times import format_time

            reset = format_time(out.back_at)
            self._log.call_short_circuited(
                caller=self._agent, provider=self._agent, reason="rate_limited", reset_at=reset, session=self.session
            )
        error = AgentOutError(
            f"{self._agent} is out of the pool until {out.back_at:%Y-%m-%d %H:%M:%S} UTC: {out.reason_text}",
            "come back then, let it wait with --max-wait, or use another agent",
        )
        return self._ended(error.exit_code, "short_circuited", error)

    def _not_started(self, error: NotStartedError) -> Run:
        from analyzer.classifier import classify

        verdict = classify({"exit_code": error.exit_code, "stderr": error.message}, ruleset=self._ruleset)
        failure = StepError(
            error.message,
            error.hint,
            failure_reason=UNKNOWN,
            classification=verdict,
            usage=TokenUsage(),
            exit_code=error.exit_code,
        )
        if self.relay is not None and self.relay.resuming:
            self.relay.halt("the fresh instance could not be started")
        now = self._clock.now()
        self._chain.failed(failure, None, now=now, compressible=False, session=self.session)
        return self._ended(error.exit_code, self._chain.settle("gave_up", session=self.session), failure)

    def _ended(self, exit_code: int, outcome: str, error: AnalyzerError | None) -> Run:
        relays = self.relay.monitor.relay_count if self.relay else 0
        chain = self._chain
        return Run(exit_code, outcome, error, chain.attempt, relays, chain.waited_seconds, self.session)

    def _observed(self, began: datetime) -> None:
        if self._log is not None:
            from analyzer.events.times import format_time

            seen = {
                "started_at": format_time(began),
                "ended_at": format_time(self._clock.now()),
                "retry_visibility": "terminal",
                "part": self._chain.operation,
                "agent_version": self._version,
            }
            known = {key: value for key, value in seen.items() if value is not None}
            self._log.append("session.observed", known, session=self.session)

    def _see(self, observed: Observed) -> None:
        self._version = self._version or observed.agent_version
        if observed.session is not None:
            self._see_session(observed.session)

    def _see_session(self, session: str) -> None:
        """A fresh instance has a session of its own; the step keeps its first one, so that its relays stay together."""
        if not self._named:
            self._named, self.session = True, session
