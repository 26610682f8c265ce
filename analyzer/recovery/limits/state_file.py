"""A small JSON object on disk that many processes share: locked for a change, replaced in one step, mode 0600.

Invariant: a reader sees a whole state, old or new, whenever a writer dies; a damaged file is set aside.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from analyzer.errors import BUSY, UNREADABLE, AnalyzerError, system_text
from analyzer.events.appending.places import absolute

MAX_BYTES = 4 * 1024 * 1024
"""The largest state file; a larger one is somebody else's file."""
POLL_SECONDS = 0.005

State = dict[str, Any]
"""A JSON object."""


class StateError(AnalyzerError):
    """A state file that cannot be read or written."""

    exit_code = UNREADABLE


class StateBusyError(StateError):
    """A state file that other processes keep locked; trying again later makes sense."""

    exit_code = BUSY


class StateFile:
    """One JSON object in one file with mode 0600, safe between threads and processes of one machine.

    A reader needs no lock. A writer holds `<path>.lock` while it reads, changes and replaces. The kernel frees the lock
    of a process that died. A holder that lives but does not move is overruled after `stale_after_seconds`: the lock
    file is replaced, and a later write of that holder is refused. A relay stops agents wherever they are, for the
    minutes of a summary, so that this happens; with the library `filelock` all others would wait as long.
    There is no fsync: the state survives the death of processes, not a power cut.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        stale_after_seconds: float = 5.0,
        give_up_after_seconds: float = 30.0,
    ) -> None:
        self.path = Path(absolute(path))  # once, so that it stays the same when the program changes its folder
        self._named = os.fsdecode(path)
        self.stale_after_seconds = stale_after_seconds
        self.give_up_after_seconds = give_up_after_seconds
        self._lock_path = self.path.with_name(self.path.name + ".lock")

    def read(self) -> State:
        """Return the state; empty if there is no file yet, or a damaged one.

        Raises:
            StateError: the path is no regular file of this user, or the system refuses to read it.
        """
        with self._translated():
            return self._load()[0]

    def update(self, change: Callable[[State], State]) -> State:
        """Replace the state by `change(state)` and return it. Nothing else can change it in between.

        `change` must be quick, because others wait for it. If it raises, the state stays as it was.

        Raises:
            StateBusyError: the lock was not free within `give_up_after_seconds`, or this holder was overruled.
            StateError: the path is no regular file of this user, or the system refuses to read or write it.
        """
        with self._translated(), self._locked() as lock:
            before, damaged = self._load()
            after = change(dict(before))
            if damaged:
                os.replace(self.path, self.path.with_name(self.path.name + ".damaged"))
            if after != before or damaged:
                self._store(after, lock)
            return after

    def _load(self) -> tuple[State, bool]:
        """Return the state, and true if there is a file that holds none."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            return {}, False
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            if status.st_uid != os.geteuid():
                raise OSError(errno.EPERM, "it belongs to another user")
            if status.st_size > MAX_BYTES:
                raise OSError(errno.EFBIG, "too large for a state file")
            text = file.read()
        try:
            state = json.loads(text, parse_float=_finite, parse_constant=_finite)
        except (ValueError, RecursionError):
            return {}, True
        return (state, False) if isinstance(state, dict) else ({}, True)

    def _store(self, state: State, lock: int) -> None:
        data = json.dumps(state, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"
        # All holders of one lock file share the name: the next one removes the draft of a killed writer. A writer that
        # was overruled, and still has an earlier lock file, uses another name.
        draft = self.path.with_name(f"{self.path.name}.{os.fstat(lock).st_ino}.tmp")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            file.write(data)
        if not self._holds(lock):
            raise StateBusyError(f"the lock of {self._named} was taken over by another process", "Try again.")
        os.replace(draft, self.path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the lock, and yield its descriptor."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self._take_lock()
        try:
            yield lock
        finally:
            # A child forked in the meantime shares the descriptor, so closing ours would not free the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)

    def _take_lock(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        begun = seen_since = time.monotonic()
        holder: tuple[int, int] | None = None
        while True:
            lock = os.open(self._lock_path, flags, 0o600)
            if _try_lock(lock) and self._holds(lock):
                os.utime(lock)  # a sign of life, by which waiting processes see that the holder changed
                return lock
            stamp = _stamp(os.fstat(lock))
            os.close(lock)
            now = time.monotonic()
            if stamp != holder:
                holder, seen_since = stamp, now
            elif now - seen_since > self.stale_after_seconds:
                self._overrule(stamp)
            if now - begun > self.give_up_after_seconds:
                raise StateBusyError(
                    f"{self._named} is locked by other processes",
                    "Try again later; fuser on the .lock file names them.",
                )
            time.sleep(POLL_SECONDS)

    def _holds(self, lock: int) -> bool:
        """Return true if this descriptor's lock file is still the one at the lock's path."""
        try:
            shown = os.stat(self._lock_path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        held = os.fstat(lock)
        return (held.st_dev, held.st_ino) == (shown.st_dev, shown.st_ino)

    def _overrule(self, holder: tuple[int, int]) -> None:
        """Remove the stale lock file, under the folder's lock,
        so that nobody removes a successor's.
        """
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _try_lock(folder):
                with contextlib.suppress(FileNotFoundError):
                    if _stamp(os.stat(self._lock_path, follow_symlinks=False)) == holder:
                        os.unlink(self._lock_path)
                fcntl.flock(folder, fcntl.LOCK_UN)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StateError(
                f"cannot use the state file {self._named}: {system_text(error)}",
                "It has to be a regular file of yours in a folder that you may write.",
            ) from error


def _finite(number: str) -> float:
    """Parse a number of JSON.

    `NaN` and numbers beyond all floats could be read but not written again.
    """
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is no number in JSON")
    return value


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stamp(status: os.stat_result) -> tuple[int, int]:
    """Return a value that is different each time the lock is taken."""
    return status.st_ino, status.st_mtime_ns
