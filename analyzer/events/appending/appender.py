"""Appending of lines to the log with the durability that was asked for: retries, parts and syncs.

Files are named by UTC day and part, and are never renamed, truncated or deleted. Writers do not lock each other out,
and threads only during a sync, so that a stopped process, a fork or a signal handler blocks nobody.

A part closes its descriptor only when nobody uses it any more, so that a thread in the middle of a line never writes
into a file that has got the same number.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
import threading
from collections import deque
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal, TypeVar

from analyzer.events.appending import DEFAULT_MAX_BYTES, places, system

TORN_AFTER_SECONDS = 0.02
"""A tail without its newline that has not grown for so long, without a write in progress, is torn."""
_PAUSE_SECONDS = 0.0005
# Without O_NONBLOCK a FIFO planted under this name would hang the host program.
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS = os.O_RDWR | os.O_APPEND | _SAFELY


class Forked(Exception):  # noqa: N818 - a signal, not an error
    """This process is a fork of the one that opened the file, so it is another writer. Nothing was written."""


class ShortWriteError(OSError):
    """A write that ended before its last line did."""

    whole_lines = 0
    """The lines of the write that are on the log."""


class LogPart:
    """A file that is open for appending, and its lease: while a process has it,
    readers wait for the file's tail.
    """

    __slots__ = (
        "__weakref__",
        "_lock",
        "_own",
        "_torn_at",
        "_whole_at",
        "day",
        "descriptor",
        "device",
        "failed",
        "inode",
        "number",
        "path",
        "unsynced",
    )

    def __init__(self, path: str, day: int, number: int, own: system.Mark) -> None:
        """Open the file for the writer whose mark `own` is (`system.own_mark`)."""
        self.path = path
        self.day = day
        """Days since 1970, UTC."""
        self.number = number
        self.failed = False
        """True after a failed sync. The kernel may call the lost pages clean,
        so that no later sync can be believed.
        """
        self.unsynced: list[bytes] = []
        """Lines that no sync has covered yet, if somebody will ask for a sync."""
        self._torn_at = self._whole_at = -1  # sizes at which the end is known
        self._own = own
        # Reentrant: a signal handler of the same thread may append, too.
        self._lock = threading.RLock()
        self.descriptor = _open(path)
        try:
            status = system.fstat(self.descriptor)
            self.device, self.inode = status.st_dev, status.st_ino
            _lease(self.descriptor)
        except BaseException:
            self.close()
            raise

    def append(self, line: bytes, size: int) -> None:
        """Append one or more lines, with their newlines, to a file that has `size` bytes.

        Raises:
            OSError: it is not on the log; a torn beginning of it may be (`ShortWriteError`).
            Forked: it is not on the log: its writer and number are the parent's.
        """
        begun = 0
        if size and size != self._whole_at and not self._ends_whole(size):
            # A writer died in the middle of a line: begin a new one, or this line would be glued to the torn one.
            line, begun = b"\n" + line, 1
        # Right before the write, so that no signal handler that forks can run between the two.
        if not self._own[0]:
            raise Forked
        written = system.write(self.descriptor, line)
        size += written
        if written != len(line):
            self._torn_at = size
            short = ShortWriteError(errno.ENOSPC, f"only {written} of {len(line)} bytes were written", self.path)
            if system.fstat(self.descriptor).st_nlink:
                short.whole_lines = max(line.count(b"\n", 0, written) - begun, 0)
            raise short
        status = system.fstat(self.descriptor)
        if status.st_size == size:
            self._whole_at = size
        if not status.st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the file was deleted while it was written", self.path)

    def sync(self) -> None:
        """Wait until everything appended so far is on the disk.

        Raises:
            OSError: it may not be there, and never will be through this object: write `unsynced` to another file.
        """
        # One at a time: the kernel reports an error to one call only, and a concurrent call would see success.
        with self._lock:
            if self.failed:
                raise OSError(errno.EIO, "an earlier sync of this file has failed", self.path)
            covered, self.unsynced = self.unsynced, []
            try:
                system.sync_data(self.descriptor)
            except BaseException as error:
                self.failed = self.failed or isinstance(error, OSError)
                self.unsynced = covered + self.unsynced
                raise
            if self.failed:  # in a signal handler, meanwhile
                self.unsynced = covered + self.unsynced
                raise OSError(errno.EIO, "a sync of this file has failed", self.path)

    def close(self) -> None:
        """Close the file. Its lease ends with the last duplicate of the descriptor."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                system.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "descriptor", -1) >= 0:
            self.close()

    def _ends_whole(self, size: int) -> bool:
        """Return true if the file ends in a newline,
        after waiting for a line that somebody is writing.
        """
        waited = 0.0
        while system.last_byte(self.descriptor, size) != b"\n":
            if size == self._torn_at:
                return False
            system.wait_for_writes(self.descriptor)
            grown = system.fstat(self.descriptor).st_size
            if not grown:
                return True
            if grown != size:
                size, waited = grown, 0.0
            elif waited < TORN_AFTER_SECONDS:
                system.sleep(_PAUSE_SECONDS)
                waited += _PAUSE_SECONDS
            else:
                self._torn_at = size
                return False
        return True


def sealed(file: int | str | os.PathLike[str]) -> bool:
    """Return true if no living process has this log file open for appending: its tail is final.

    Takes a path, or a descriptor that the caller has opened. A later writer begins a new line after a torn one, so the
    bytes up to the size before this call never change any more. False also on file systems without leases. It does not
    apply to files that other programs write.

    Raises:
        OSError: the path cannot be opened.
    """
    if isinstance(file, int):
        is_final = system.take_alone(file)
        if is_final:
            system.release(file)
        return is_final
    descriptor = system.open(file, os.O_RDONLY | _SAFELY)
    try:
        return system.take_alone(descriptor)
    finally:
        system.close(descriptor)


def _open(path: str) -> int:
    try:
        descriptor = system.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        is_new = True
    except FileExistsError:
        descriptor = system.open(path, _FLAGS)
        is_new = False
    try:
        status = system.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        mode = stat.S_IMODE(status.st_mode)
        if is_new:
            # A umask may have removed rights that the next opening needs.
            if mode & 0o600 != 0o600:
                system.chmod(descriptor, 0o600)
        elif status.st_uid != system.user() and system.user() is not None:
            raise PermissionError(errno.EPERM, "the file belongs to another user", path)
        elif mode & 0o022:
            system.chmod(descriptor, mode & ~0o022)
    except BaseException:
        system.close(descriptor)
        raise
    return descriptor


def _lease(descriptor: int) -> None:
    for _ in range(int(TORN_AFTER_SECONDS / _PAUSE_SECONDS)):
        try:
            return system.hold(descriptor)
        except BlockingIOError:  # a reader is in `sealed`, for microseconds
            system.sleep(_PAUSE_SECONDS)
    raise BlockingIOError(errno.EAGAIN, "a reader holds the file")


Durability = Literal["process", "batch", "event"]
_T = TypeVar("_T")

MAX_LINE_BYTES = 1024 * 1024
BATCH_SECONDS = 1.0
BATCH_BYTES = 4 * 1024 * 1024
"""The most bytes that the level `batch` leaves unsynced,
checked at an append; as many are kept in memory.
"""
NEWEST = -1
_ATTEMPTS = 3
_DAY = 86_400_000_000_000
_EPOCH_DAY = date(1970, 1, 1)
_SAME_PART = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
_SAME_NAME = frozenset({errno.ENOENT, errno.EBADF, errno.ESTALE})


class Appender:
    """A writer of whole lines to the newest part of a log folder.

    It raises `OSError` and leaves policy to its caller.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        durability: Durability = "process",
    ) -> None:
        self.folder = places.absolute(folder)
        self.own = system.own_mark()
        """Zero once this process is a fork of the one that made the appender:
        then it writes nothing (`Forked`).
        """
        self.max_bytes = max_bytes
        self.durability = durability
        self._part: LogPart | None = None
        self._tag: str | None = None
        self._tried = 0
        """The number of the part that was last opened, or tried."""
        # At the level `batch`: lines of a part whose sync failed, until they are in another part.
        self._unsaved: deque[bytes] = deque()
        self._synced_at = -math.inf
        self._unsynced_bytes = 0

    def write(self, line: bytes, nanoseconds: int) -> None:
        """Append one line, which includes its newline, to the part of the moment's day.

        Raises:
            OSError: it is not as durable as was asked for; all of it or a torn beginning may be on the log.
            Forked: this process is a fork, and the line would be its parent's. It is not on the log.
        """
        try:
            part = self._append(line, nanoseconds, NEWEST)
        except OSError as failure:
            part = self._attempt(self._append, line, nanoseconds, failure)
        if self.durability == "batch":
            self._sync_when_due(part, line, nanoseconds)

    def sync(self, nanoseconds: int) -> None:
        """Wait until everything appended so far is on the disk; lines of a failed sync go to a new part.

        Raises:
            OSError: it may not be there. The next call tries again.
        """
        try:
            self._sync_once(b"", nanoseconds, NEWEST)
        except OSError as failure:
            self._attempt(self._sync_once, b"", nanoseconds, failure)
        self._synced_at, self._unsynced_bytes = system.monotonic(), 0

    def close(self) -> None:
        """Close the file; the next write opens it again.

        Raises:
            OSError: the last lines may not be on the disk; at the level `process` never.
        """
        try:
            if self.durability != "process":
                self.sync(system.time_ns())
        finally:
            # Other threads may be in the middle of a line: the descriptor is closed when the last one is done.
            self._part = None

    def abandon(self) -> None:
        """Close a forked child's duplicate of the descriptor. The lease stays the parent's."""
        if self._part is not None:
            self._part.close()

    def _attempt(self, act: Callable[[bytes, int, int], _T], line: bytes, nanoseconds: int, failure: OSError) -> _T:
        """Call `act` again after it failed with the current part,
        with another part if that is needed.
        """
        number, left = self._move_on(failure), _ATTEMPTS - 1
        while True:
            try:
                return act(line, nanoseconds, number)
            except OSError as error:
                number, left = self._move_on(error), left - 1
                # Keep the error after which most lines are on the log.
                failure = max(error, failure, key=lambda attempt: getattr(attempt, "whole_lines", 0))
                if not left:
                    raise failure from None

    def _sync_once(self, _line: bytes, nanoseconds: int, number: int) -> None:
        while self._unsaved:
            try:
                line = self._unsaved.popleft()
            except IndexError:  # another thread was faster
                break
            try:
                self._keep(self._append(line, nanoseconds, number), line)
            except BaseException:
                self._unsaved.appendleft(line)
                raise
        if self._part is not None:
            self._part.sync()

    def _append(self, line: bytes, nanoseconds: int, number: int) -> LogPart:
        """Write the line to a part with room for it; at the level `event` also sync it."""
        day, size = nanoseconds // _DAY, 0
        part = self._part
        if part is not None:
            if part.day != day or part.failed:
                part = None
            else:
                number = part.number
                try:
                    status = system.lstat(part.path)
                    size = status.st_size
                    if status.st_ino != part.inode or status.st_dev != part.device:
                        # The file was renamed or replaced: what is written to it now may never be read.
                        part = None
                except FileNotFoundError:
                    part = None
        if part is None:
            part, size = self._open(day, number)
        while size and size + len(line) > self.max_bytes:
            part, size = self._open(day, part.number + 1)
        part.append(line, size)
        if self.durability == "event":
            part.sync()
        return part

    def _open(self, day: int, number: int) -> tuple[LogPart, int]:
        """Open a part as the current one, and return it and its size in bytes."""
        synced = self.durability != "process"
        if not os.path.isabs(self.folder):
            # The present working directory is not the one that was meant.
            why = "there was no working directory to find this folder from; give an absolute path"
            raise FileNotFoundError(errno.ENOENT, why, self.folder)
        places.make_folder(self.folder, synced=synced)
        if self._tag is None:
            # On other file systems two writers of one file could overwrite each other: each has its own files there.
            self._tag = "" if places.is_local(self.folder) else f".w{system.urandom(4).hex()}"
        name = str(_EPOCH_DAY + timedelta(days=day))
        self._tried = number = self._newest(name) if number == NEWEST else number
        ending = f".{number:03d}" if number else ""
        part = LogPart(f"{self.folder}/events-{name}{self._tag}{ending}.jsonl", day, number, self.own)
        if synced:
            system.sync_folder(self.folder)
        size = system.fstat(part.descriptor).st_size
        old, self._part = self._part, part
        if old is not None:
            self._leave(old)
        return part, size

    def _newest(self, day: str) -> int:
        parts = map(places.PART.match, system.listdir(self.folder))
        own = (self._tag or "")[2:] or None
        return max((int(part[3] or 0) for part in parts if part and part[1] == day and part[2] == own), default=0)

    def _move_on(self, error: OSError) -> int:
        """Return the number of the part to open after a failure.

        Leave the current part if it is of no use.
        """
        part = self._part
        if part is not None and not part.failed and error.errno in _SAME_PART:
            return part.number
        self._part = None
        if part is not None:
            self._leave(part)
        if error.errno in _SAME_PART | _SAME_NAME and not (part and part.failed):
            return self._tried
        return self._tried + 1

    def _leave(self, part: LogPart) -> None:
        """Sync the lines of a part that is left.

        Lines that may not be on the disk go to the next part.
        """
        if part.unsynced:
            with contextlib.suppress(OSError):
                part.sync()
            left, part.unsynced = part.unsynced, []
            self._unsaved.extend(left)

    def _keep(self, part: LogPart, line: bytes) -> None:
        part.unsynced.append(line)
        self._unsynced_bytes += len(line)
        if part is not self._part:  # another thread has left it since the line was written
            self._leave(part)

    def _sync_when_due(self, part: LogPart, line: bytes, nanoseconds: int) -> None:
        self._keep(part, line)
        due = system.monotonic() - self._synced_at >= BATCH_SECONDS or self._unsynced_bytes >= BATCH_BYTES
        if due or self._unsaved:
            try:
                self.sync(nanoseconds)
            except OSError:
                # The caller reports it as lost, so it is dropped; the lines before it were acknowledged.
                with contextlib.suppress(ValueError):
                    self._unsaved.remove(line)
                raise
