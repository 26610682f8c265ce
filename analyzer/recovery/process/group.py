"""A command in a process group of its own: output handed on as it comes; it can be ended with whatever it started.

Invariant: what was read is written on before anybody looks at it, and nothing here keeps output.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from queue import Empty, SimpleQueue

from analyzer.errors import NOT_STARTED, UNREADABLE, AnalyzerError
from analyzer.recovery.process.pump import Pump
from analyzer.recovery.process.strays import Stray, bury, strays
from analyzer.recovery.process.terminal import Terminal

_POLL_SECONDS = 0.02
_CANCEL_POLL_SECONDS = 0.1
_SIGNAL_POLL_SECONDS = 0.5
"""A signal that comes just before a wait begins is heard of when the wait is over."""
_AFTER_KILL_SECONDS = 5.0
"""A process that the kernel cannot end is not waited for without end."""

_running: set[int] = set()
"""The commands of this process that are started and not closed."""


class NotStartedError(AnalyzerError):
    """The command could not be started."""

    exit_code = NOT_STARTED


class OutputError(AnalyzerError):
    """What the command printed could not be written to where it belongs."""

    exit_code = UNREADABLE


Watch = Callable[[bytes], None]
"""Sees each piece of output once it has been handed on."""


class Process:
    """One start of a command. Made by `start`; `wait`, then `end` or `drain`, then `close`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], stdout: int | None, stderr: int | None, watches: tuple[Watch, Watch]
    ) -> None:
        assert popen.stdout is not None and popen.stderr is not None
        self.pid = popen.pid
        """Of the command, and the number of its process group."""
        self.exit_code: int | None = None
        """As a shell gives it: 128 and the signal's number for a command that a signal ended."""
        self._popen = popen
        self._news: SimpleQueue[str] = SimpleQueue()
        self._exited = threading.Event()
        self._terminal = Terminal(popen.pid)
        self._pumps = [
            Pump(popen.stdout, stdout, watches[0], lambda: self._news.put("eof")),
            Pump(popen.stderr, stderr, watches[1], lambda: self._news.put("eof")),
        ]
        self._open_pumps = len(self._pumps)
        # What runs beside this command and has left its own group is not this one's.
        self._before = {stray.pid for stray in strays(self.pid, ())} if _running else set()
        _running.add(self.pid)
        for pump in self._pumps:
            pump.start()
        threading.Thread(target=self._await_exit, daemon=True).start()

    def wait(self, timeout: float | None = None, cancel: threading.Event | None = None) -> str:
        """Until the command has ended (`exited`), time is over (`timed_out`), somebody cancelled (`cancelled`), or a
        word that was given to `interrupt`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            if self._exited.is_set():
                return "exited"
            left = None if deadline is None else deadline - time.monotonic()
            bury(_running)
            if left is not None and left <= 0:
                return "timed_out"
            if cancel is not None and cancel.is_set():
                return "cancelled"
            longest = _SIGNAL_POLL_SECONDS if cancel is None else _CANCEL_POLL_SECONDS
            left = longest if left is None else min(left, longest)
            try:
                news = self._news.get(timeout=left)
            except Empty:
                continue
            if news == "eof":
                self._open_pumps -= 1
            elif news.startswith("stopped "):
                self._terminal.stopped(int(news.removeprefix("stopped ")))
            elif news != "exited":
                return news

    @property
    def reader_gone(self) -> bool:
        """Whether nobody reads our output any more."""
        return any(pump.reader_gone for pump in self._pumps)

    def interrupt(self, word: str) -> None:
        """Make `wait` return this word. May be called from any thread."""
        self._news.put(word)

    def pause(self) -> None:
        """Stops the group where it is."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets a paused group go on."""
        self._signal(signal.SIGCONT)

    def end(self, grace_seconds: float) -> None:
        """Asks the whole group to end, and what has left it, gives them the grace, then kills what is left of them."""
        apart = self._apart()
        try:
            for number in (signal.SIGTERM, signal.SIGCONT):  # one that is paused would not hear of it
                self._signal(number, apart)
            deadline = time.monotonic() + grace_seconds
            self._exited.wait(grace_seconds)
            while (self._group_lives() or (apart := self._apart(apart))) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        finally:
            # Also where the grace was interrupted: a person who asks twice does not want to wait.
            if self._group_lives():
                self._signal(signal.SIGKILL)
            deadline = time.monotonic() + _AFTER_KILL_SECONDS
            while (apart := self._apart(apart)) and time.monotonic() < deadline:
                self._signal(signal.SIGKILL, apart)
                time.sleep(_POLL_SECONDS)
            self._exited.wait(_AFTER_KILL_SECONDS)

    def drain(self, silent_seconds: float, deadline: float | None = None) -> bool:
        """Reads the rest of the output, as long as it comes: who holds it and is silent for so long is not waited for.
        False where it still comes at `deadline` (monotonic).
        """
        self._exited.wait(_AFTER_KILL_SECONDS)
        moved, since = -1, time.monotonic()
        while self._open_pumps:
            with contextlib.suppress(Empty):
                self._open_pumps -= self._news.get(timeout=_POLL_SECONDS) == "eof"
                continue
            now, before = time.monotonic(), moved
            moved = sum(pump.moved_bytes for pump in self._pumps)
            if moved != before or any(pump.handing_on for pump in self._pumps):
                since = now  # a slow reader gets everything, too
            if now - since >= silent_seconds:
                return True
            if deadline is not None and now >= deadline:
                return False
        return True

    def close(self) -> None:
        """Close the pipes and give the terminal back.

        Raises:
            OutputError: output could not be handed on, for another reason than a reader that has gone.
        """
        for pump in self._pumps:
            pump.stop()
        self._terminal.take_back()
        _running.discard(self.pid)
        for pump in self._pumps:
            if isinstance(pump.failure, OSError):
                why = pump.failure.strerror or str(pump.failure)
                raise OutputError(f"output could not be handed on: {why}", "the command was ended; make room for it")
            if pump.failure is not None:
                raise pump.failure

    def _await_exit(self) -> None:
        while True:
            try:
                _, status = os.waitpid(self.pid, os.WUNTRACED)
            except ChildProcessError:
                # The host has told the kernel to forget its children: how this one ended, nobody knows.
                code = 255
                break
            if os.WIFSTOPPED(status):
                self._news.put(f"stopped {os.WSTOPSIG(status)}")
                continue
            code = os.waitstatus_to_exitcode(status)
            break
        self._popen.returncode = code
        self.exit_code = code if code >= 0 else 128 - code
        self._exited.set()
        self._news.put("exited")

    def _group_lives(self) -> bool:
        bury(_running)
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return not self._exited.is_set()
        return True

    def _apart(self, known: Collection[Stray] = ()) -> set[Stray]:
        return strays(self.pid, (_running | self._before) - {self.pid}, known)

    def _signal(self, number: int, apart: Iterable[Stray] = ()) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for stray in apart:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(stray.pid, number)


def start(
    command: Sequence[str],
    *,
    stdin: int | None,
    stdout: int | None,
    stderr: int | None,
    watches: tuple[Watch, Watch],
    environment: Mapping[str, str] | None = None,
) -> Process:
    """Starts the command. `stdin` is what it reads; `stdout` and `stderr` are where its output goes (None: nowhere).

    Raises:
        NotStartedError: there is no such command, or it may not be run.
    """
    try:
        popen = subprocess.Popen(  # noqa: S603 - running the caller's command is the purpose
            list(command),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else {**os.environ, **environment},
            process_group=0,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NotStartedError(f"cannot start {command[0]!r}: {why}", "check its name, its path and PATH") from error
    return Process(popen, stdout, stderr, watches)
