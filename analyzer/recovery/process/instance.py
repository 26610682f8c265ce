"""One start of a supervised command, from its first byte to its end; with the limits and the result of a run."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen
from analyzer.recovery.process.group import Process, start
from analyzer.recovery.process.step_error import Observed, Observer, RelayHaltedError
from analyzer.recovery.process.streams import write_all
from analyzer.recovery.waiting import cancelled

if TYPE_CHECKING:
    from analyzer.recovery.relay.checkpoint import Transcript
    from analyzer.recovery.relay.monitor import Relay, RelayStream


@frozen
class Streams:
    """The descriptors that output goes to; None drops it."""

    stdout: int | None = 1
    stderr: int | None = 2
    watch: Callable[[int, bytes], None] | None = None
    """A function that sees each piece of output and the number of its stream,
    from one thread a stream.
    """


@frozen
class Ending:
    """The end of one start."""

    exit_code: int
    """The exit code as a shell gives it: 128 and the signal's number for a command that a signal ended."""
    observed: Observed
    timed_out: bool = False
    handed_off: bool = False
    """True if it was ended at a safe point; its work goes on from the relay's newest checkpoint."""
    reader_gone: bool = False
    """True if nobody reads our output any more, so that its end is no failure."""


class Instance:
    """A running command. `attend` it to its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int | None,
        streams: Streams,
        relay: Relay | None,
        on_session: Callable[[str], None],
    ) -> None:
        self._command = command
        self._streams = streams
        self._relay = relay
        self._began_from = relay.checkpoint if relay else None
        self._on_session = on_session
        self._halted: RelayHaltedError | None = None
        self._let_gone = False
        self.stream = self._relay_stream(relay) if relay else None
        self._observer = Observer(self.stream.follow if self.stream else None)
        environment = {}
        if relay is not None and relay.path is not None:
            environment["ANALYZER_CHECKPOINT"] = str(relay.path.resolve())
        # The first output may come before the name is bound.
        self._started = threading.Event()
        self._process: Process = start(
            command,
            stdin=stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            watches=self._watches(),
            environment=environment,
        )
        self._started.set()

    def attend(
        self, *, timeout_seconds: float | None, grace_seconds: float, cancel: threading.Event | None = None
    ) -> Ending:
        """Wait until the command has ended, or end it.

        Raises:
            RelayHaltedError: a due hand-off was not possible.
            WaitCancelledError: `cancel` was set.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        timed_out = handed_off = False
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            word = self._process.wait(left, cancel)
            if word == "cancelled":
                raise cancelled()
            if word == "halted" and self._halted is not None:
                raise self._halted
            if word == "safe_point":
                paused_at = time.monotonic()
                handed_off = self._hand_off()
                if not handed_off:
                    deadline = None if deadline is None else deadline + time.monotonic() - paused_at
                    continue
            timed_out = word == "timed_out" or (word == "exited" and not self._process.drain(grace_seconds, deadline))
            if word != "exited" or timed_out:
                self._process.end(grace_seconds)
            break
        self._let_go(grace_seconds)
        code = self._process.exit_code
        observed = self._observer.observed()
        return Ending(255 if code is None else code, observed, timed_out, handed_off, self._process.reader_gone)

    def abandon(self, grace_seconds: float) -> None:
        """End the group at once; the rest of its output is handed on."""
        self._process.end(grace_seconds)
        self._let_go(grace_seconds)

    def end_group(self, grace_seconds: float) -> None:
        """End the processes that the command left, before it is started again, and its last line."""
        self._process.end(grace_seconds)
        if not self._observer.ends_whole and self._streams.stdout is not None:
            write_all(self._streams.stdout, b"\n")

    def transcript(self, token_cap: int) -> Transcript:
        """Return the transcript of the instance so far.

        Raises:
            SummarizerLimitError: more than `token_cap`.
        """
        from analyzer.recovery.relay.checkpoint import transcript
        from analyzer.redaction import redact

        task = redact(shlex.join(self._command))
        records = self.stream.records() if self.stream else ()
        return transcript(task, records, self._began_from, token_cap)

    def close(self) -> None:
        """Delete the records that were kept for a relay."""
        if self.stream is not None:
            self.stream.close()

    def _watches(self) -> tuple[Callable[[bytes], None], Callable[[bytes], None]]:
        """Return the watchers of stdout and stderr: the observer, then the caller's own."""
        own, other = (self._observer.stdout, self._observer.stderr), self._streams.watch
        if other is None:
            return own

        def both(stream: int, data: bytes) -> None:
            own[stream - 1](data)
            other(stream, data)

        return partial(both, 1), partial(both, 2)

    def _let_go(self, grace_seconds: float) -> None:
        if self._let_gone:
            return
        self._let_gone = True
        self._process.go_on()  # none of its processes stays paused
        self._process.drain(grace_seconds)
        self._process.close()

    def _relay_stream(self, relay: Relay) -> RelayStream:
        from analyzer.recovery.relay.monitor import RelayStream

        return RelayStream(relay.monitor, at_safe_point=self._at_safe_point, first_reply=self._first_reply)

    def _hand_off(self) -> bool:
        assert self._relay is not None and self.stream is not None
        self._tell_session()
        most = self._relay.monitor.settings.summarizer_token_cap
        if self._relay.hand_off(lambda: self.transcript(most)) is not None:
            return True
        self.stream.go_on()
        self._process.go_on()
        return False

    def _at_safe_point(self) -> None:
        self._started.wait()
        self._process.pause()
        self._process.interrupt("safe_point")

    def _first_reply(self, tokens: int) -> None:
        self._started.wait()
        self._tell_session()
        if self._relay is not None and self._relay.resuming:
            try:
                self._relay.resumed(tokens)
            except RelayHaltedError as error:
                self._halted = error
                self._process.pause()
                self._process.interrupt("halted")

    def _tell_session(self) -> None:
        session = self._observer.session()
        if session is not None:
            self._on_session(session)


MAX_SECONDS = 366 * 86_400.0
"""The longest wait that may be asked for; the system's own timers end somewhat later."""


@frozen
class Limits:
    """The time that a run may take, and the number of its retries.

    Raises:
        AnalyzerError: a number of seconds below 0, or of more than a year.
    """

    retries: int = 0
    """Tries after the first one, within what the recovery table allows."""
    timeout_seconds: float | None = None
    """Seconds that each start may take; None for no limit."""
    grace_seconds: float = 3.0
    """Seconds from SIGTERM to SIGKILL."""
    max_wait_seconds: float = 60.0
    """The longest wait for a limit to reset; a longer one is not waited for."""

    def __post_init__(self) -> None:
        times = {"timeout": self.timeout_seconds, "grace": self.grace_seconds, "max_wait": self.max_wait_seconds}
        for name, seconds in times.items():
            if seconds is not None and not 0 <= seconds <= MAX_SECONDS:
                raise AnalyzerError(f"no {name} of {seconds:g} s", f"name 0 to {MAX_SECONDS:.0f} seconds, a year")


@frozen
class Run:
    """The result of a supervised run."""

    exit_code: int
    """The command's; 124 after a timeout, 125 after a halted relay, 127 if it could not be started, 75 if a known limit
    kept it from being started."""
    outcome: str
    """`succeeded`, `recovered`, `exhausted`, `surfaced`, `escalated`, `aborted`, `halted` or `short_circuited`."""
    error: AnalyzerError | None
    """A `StepError` if the command failed."""
    attempts: int
    relay_count: int
    waited_seconds: float
    session: str
