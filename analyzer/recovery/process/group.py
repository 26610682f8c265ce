"""A command in a process group of its own: its output is handed on as it comes, and it is ended with its children.

Invariant: output is written on before a watcher sees it, and this module keeps none of it.

Processes that the command has started outside its group are found on Linux; the terminal is lent to a command that
asks for it; signals are held back while it is being started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType
from typing import NamedTuple

from analyzer.errors import NOT_STARTED, UNREADABLE, AnalyzerError, system_text
from analyzer.recovery.process.streams import Pump

_PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h; since Linux 3.4."""
_ZOMBIE = "Z"
_adopts = False


class Stray(NamedTuple):
    """A process outside its command's group.

    Its start time distinguishes it from a later process with its number.
    """

    pid: int
    started: str
    """Clock ticks since the machine started."""


def adopt_orphans() -> None:
    """Become the parent of all orphans of our children. This cannot be undone, so only our own program calls it.

    A process that has children already, such as a shell that became this program, does not: their orphans are not ours.
    """
    global _adopts
    if sys.platform != "linux":
        return
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return
    import ctypes  # 8 ms, only for programs that run a command

    _adopts = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def strays(group: int, others: Collection[int], earlier: Collection[Stray] = ()) -> set[Stray]:
    """Return the living processes below a command that have left its group; also its orphans, if we adopt them.

    `others` are the numbers of our other commands, whose processes do not count. `earlier` is an earlier result: its
    living processes count, wherever they are now.
    """
    try:
        names = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return set()
    children: dict[int, list[tuple[Stray, int]]] = {}
    living: set[Stray] = set()
    for name in names:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent, its_group, *fields = file.read().decode("ascii", "replace").rpartition(") ")[2].split()
            stray = Stray(int(name), fields[16])
            children.setdefault(int(parent), []).append((stray, int(its_group)))
            if state != _ZOMBIE:
                living.add(stray)
    outside = set(earlier)
    parents = [os.getpid() if _adopts else group]
    while parents:
        for stray, of_group in children.pop(parents.pop(), ()):
            if stray.pid not in others:
                parents.append(stray.pid)
                if of_group != group:
                    outside.add(stray)
    return outside & living


def reap_orphans(commands: Collection[int]) -> None:
    """Reap the orphans that have ended, but none of `commands`, whose end others wait for."""
    if not _adopts:
        return
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in commands:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


_STDIN = 0
_ASKING = frozenset({signal.SIGTTIN, signal.SIGTTOU})


class Terminal:
    """The terminal on our stdin, lent to a process group.

    Without a terminal its methods do nothing.
    """

    def __init__(self, group: int) -> None:
        self._group = group
        self._lent = False

    def stopped(self, by: int) -> None:
        """Lend the terminal to a stopped command that asks for it.

        After Ctrl-Z stop this program, too.

        `by` is the signal that stopped it.
        """
        if not (by in _ASKING or (by == signal.SIGTSTP and self._lent)) or not os.isatty(_STDIN):
            return  # somebody stopped it on purpose
        self.take_back()
        if by not in _ASKING or not self._ours():
            # The whole job stops, as it would without us; this function goes on when the job is continued.
            with contextlib.suppress(OSError):
                os.killpg(os.getpgrp(), signal.SIGTSTP)
        if self._ours():
            self._give(self._group)
            self._lent = True
        with contextlib.suppress(OSError):
            os.killpg(self._group, signal.SIGCONT)

    def take_back(self) -> None:
        """Make this program the foreground again, if the terminal was lent."""
        if self._lent:
            self._lent = False
            self._give(os.getpgrp())

    def _ours(self) -> bool:
        try:
            return os.tcgetpgrp(_STDIN) == os.getpgrp()
        except OSError:
            return False

    def _give(self, group: int) -> None:
        # SIGTTOU would stop a background process that does this, unless it is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            with contextlib.suppress(OSError):
                os.tcsetpgrp(_STDIN, group)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_POLL_SECONDS = 0.02
_CANCEL_POLL_SECONDS = 0.1
_SIGNAL_POLL_SECONDS = 0.5
"""The longest wait: a signal that comes just before a wait begins is handled after it."""
_AFTER_KILL_SECONDS = 5.0
"""The longest wait for a killed process, which the kernel may be unable to end."""

_running: set[int] = set()
"""The commands of this process that are started and not closed."""


class NotStartedError(AnalyzerError):
    """The command could not be started."""

    exit_code = NOT_STARTED


class OutputError(AnalyzerError):
    """Output of the command that could not be written to its target."""

    exit_code = UNREADABLE


Watch = Callable[[bytes], None]
"""A function that sees each piece of output after it was handed on."""


class Process:
    """One start of a command, made by `start`. Call `wait`, then `end` or `drain`, then `close`."""

    def __init__(
        self, popen: subprocess.Popen[bytes], stdout: int | None, stderr: int | None, watches: tuple[Watch, Watch]
    ) -> None:
        assert popen.stdout is not None and popen.stderr is not None
        self.pid = popen.pid
        """The number of the command and of its process group."""
        self.exit_code: int | None = None
        """The exit code as a shell gives it:
        128 and the signal's number for a command that a signal ended.
        """
        self._popen = popen
        self._news: SimpleQueue[str] = SimpleQueue()
        self._exited = threading.Event()
        self._terminal = Terminal(popen.pid)
        self._pumps = [
            Pump(popen.stdout, stdout, watches[0], lambda: self._news.put("eof")),
            Pump(popen.stderr, stderr, watches[1], lambda: self._news.put("eof")),
        ]
        self._open_pumps = len(self._pumps)
        # Strays of commands that already run are not those of this command.
        self._before = {stray.pid for stray in strays(self.pid, ())} if _running else set()
        _running.add(self.pid)
        for pump in self._pumps:
            pump.start()
        threading.Thread(target=self._await_exit, daemon=True).start()

    def wait(self, timeout: float | None = None, cancel: threading.Event | None = None) -> str:
        """Wait until the command ends, and return what ended the wait.

        `exited`, `timed_out`, `cancelled`, or the word that was passed to `interrupt`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            if self._exited.is_set():
                return "exited"
            left = None if deadline is None else deadline - time.monotonic()
            reap_orphans(_running)
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
        """Return true if nobody reads our output any more."""
        return any(pump.reader_gone for pump in self._pumps)

    def interrupt(self, word: str) -> None:
        """Make `wait` return this word. Any thread may call it."""
        self._news.put(word)

    def pause(self) -> None:
        """Stop the group until `go_on`."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let a paused group go on."""
        self._signal(signal.SIGCONT)

    def end(self, grace_seconds: float) -> None:
        """Ask the group and its strays to end, and kill those that still live after the grace."""
        strays_left = self._strays()
        try:
            for number in (signal.SIGTERM, signal.SIGCONT):  # a paused process would not handle SIGTERM
                self._signal(number, strays_left)
            deadline = time.monotonic() + grace_seconds
            self._exited.wait(grace_seconds)
            while (self._group_lives() or (strays_left := self._strays(strays_left))) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        finally:
            # Also after an interrupted grace: a person who asks twice does not want to wait.
            if self._group_lives():
                self._signal(signal.SIGKILL)
            deadline = time.monotonic() + _AFTER_KILL_SECONDS
            while (strays_left := self._strays(strays_left)) and time.monotonic() < deadline:
                self._signal(signal.SIGKILL, strays_left)
                time.sleep(_POLL_SECONDS)
            self._exited.wait(_AFTER_KILL_SECONDS)

    def drain(self, silent_seconds: float, deadline: float | None = None) -> bool:
        """Read the rest of the output while it comes.

        False if it still comes at `deadline` (monotonic).

        A holder of the pipe that writes nothing for `silent_seconds` is not waited for.
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
                why = system_text(pump.failure)
                raise OutputError(f"output could not be handed on: {why}", "the command was ended; make room for it")
            if pump.failure is not None:
                raise pump.failure

    def _await_exit(self) -> None:
        while True:
            try:
                _, status = os.waitpid(self.pid, os.WUNTRACED)
            except ChildProcessError:
                # The host has told the kernel to forget its children, so the exit code is lost.
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
        reap_orphans(_running)
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return not self._exited.is_set()
        return True

    def _strays(self, earlier: Collection[Stray] = ()) -> set[Stray]:
        return strays(self.pid, (_running | self._before) - {self.pid}, earlier)

    def _signal(self, number: int, strays_left: Iterable[Stray] = ()) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for stray in strays_left:
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
    """Start the command. It reads `stdin`; its output goes to `stdout` and `stderr` (None: nowhere).

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
        why = system_text(error)
        raise NotStartedError(f"cannot start {command[0]!r}: {why}", "check its name, its path and PATH") from error
    return Process(popen, stdout, stderr, watches)


_NAMES = "INT TERM HUP QUIT USR1 USR2 ALRM VTALRM PROF XCPU ABRT IO PWR STKFLT"
ENDING = tuple(signal.Signals[f"SIG{name}"] for name in _NAMES.split() if f"SIG{name}" in signal.Signals.__members__)
"""Signals that end a process that does not handle them,
and that do not come from a fault of its own.
"""


@contextmanager
def held_back() -> Iterator[None]:
    """Delay the handlers of SIGINT, SIGTERM and the like until the end of the block.

    Signals that are ignored or kill the process stay as they are, so that a child inherits the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers are called only in the main thread
        return
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {ending: handler for ending in ENDING if callable(handler := signal.getsignal(ending))}
    for ending in before:
        signal.signal(ending, note)
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
        if came:
            signal.raise_signal(came[0])
