"""One open file of a log: whole lines onto it, each with one `write`.

Invariant: an object closes its descriptor only when no one uses it any more, so that a thread in the middle of a line
never writes into a file that has got the same number.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading

from analyzer.events.appending import system

TORN_AFTER_SECONDS = 0.02
"""A tail without its newline that has not grown for so long, with no write in progress, is torn."""
_PAUSE_SECONDS = 0.0005
_OPEN = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Without O_NONBLOCK a FIFO planted under this name would hang the host program.
_FLAGS = _OPEN | getattr(os, "O_NONBLOCK", 0)


class Forked(Exception):  # noqa: N818 - no error, but news
    """This process is a fork of the one that opened the file, and nothing has been written: it is another writer."""


class LogPart:
    """A file that is open for appending, and its lease: while one process has it, readers wait for its tail."""

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
        """A sync has failed. The kernel may call the lost pages clean, so that no later sync could be believed."""
        self.unsynced: list[bytes] = []
        """Lines that no sync has covered yet, where someone will ask for one."""
        self._torn_at = self._whole_at = -1  # sizes at which the end is known
        self._own = own
        # Reentrant: a signal handler of the same thread may append, too.
        self._lock = threading.RLock()
        self.descriptor = _open(path)
        try:
            found = system.fstat(self.descriptor)
            self.device, self.inode = found.st_dev, found.st_ino
            _lease(self.descriptor)
        except BaseException:
            self.close()
            raise

    def append(self, line: bytes, size: int) -> None:
        """Write one line, newline included, onto a file that has `size` bytes.

        Raises:
            OSError: it is not on the log; a torn beginning of it may be.
            Forked: it is not on the log, and says who its writer is and how far it has counted: the parent.
        """
        if size and size != self._whole_at and not self._ends_whole(size):
            # Someone died in the middle of a line: begin a new one, or this line would be glued to the torn one.
            line = b"\n" + line
        # Right before the write: between the two no signal handler runs that could fork.
        if not self._own[0]:
            raise Forked
        written = system.write(self.descriptor, line)
        size += written
        if written != len(line):
            self._torn_at = size
            raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes were written", self.path)
        found = system.fstat(self.descriptor)
        if found.st_size == size:
            self._whole_at = size
        if not found.st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the file was deleted while it was written", self.path)

    def sync(self) -> None:
        """Everything appended so far to the disk.

        Raises:
            OSError: it may not be there, and never will be through this object: `unsynced` belongs into another file.
        """
        # One at a time: an error is told to one call alone, and another one beside it would hear of success.
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
        """Whether the file ends in a newline; a line that someone is writing at this moment is given time to end."""
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
    """Whether no living process has this file of a log open for appending: its tail at this moment is final.

    Takes a path, or a descriptor of the caller's own opening. Who appends later begins a new line behind a torn one, so
    the bytes up to the size before this call never change any more. False also where the file system knows no leases.
    Says nothing about files that other programs write.

    Raises:
        OSError: the path cannot be opened.
    """
    if isinstance(file, int):
        alone = system.take_alone(file)
        if alone:
            system.release(file)
        return alone
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = system.open(file, flags)
    try:
        return system.take_alone(descriptor)
    finally:
        system.close(descriptor)


def _open(path: str) -> int:
    try:
        descriptor = system.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        made = True
    except FileExistsError:
        descriptor = system.open(path, _FLAGS)
        made = False
    try:
        found = system.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        mode = stat.S_IMODE(found.st_mode)
        if made:
            # A umask may have taken what the next opening needs.
            if mode & 0o600 != 0o600:
                system.chmod(descriptor, 0o600)
        elif found.st_uid != system.user() and system.user() is not None:
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
        except BlockingIOError:  # a reader asks whether the file is sealed, which takes microseconds
            system.sleep(_PAUSE_SECONDS)
    raise BlockingIOError(errno.EAGAIN, "a reader holds the file")
