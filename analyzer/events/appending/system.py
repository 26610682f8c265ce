"""The system calls of the appender in one module, so that tests can replace them:
a disk that fails, a clock that jumps.
"""

from __future__ import annotations

import builtins
import contextlib
import mmap
import os
import sys
import time
from typing import Protocol

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no leases
    fcntl = None  # type: ignore[assignment]

chmod = os.chmod
close = os.close
fstat = os.fstat
listdir = os.listdir
lstat = os.lstat
mkdir = os.mkdir
open = os.open  # noqa: A001 - under its own name, as all of them
stat = os.stat
urandom = os.urandom
write = os.write
monotonic = time.monotonic
sleep = time.sleep
time_ns = time.time_ns


_WIPED_IN_CHILDREN = 18
"""Linux's MADV_WIPEONFORK (madvise(2), since 4.14), which Python's `mmap` does not name."""


class Mark(Protocol):
    """An object whose item 0 is 1 in the process that made it, and 0 in every fork."""

    def __getitem__(self, place: int, /) -> int: ...


class _ProcessNumber:
    """A mark by process number, for systems that cannot wipe a page of memory at a fork."""

    def __init__(self) -> None:
        self._number = os.getpid()

    def __getitem__(self, _: int, /) -> int:
        return int(os.getpid() == self._number)


def own_mark() -> Mark:
    """Return a mark that is 1 in this process and 0 in every fork of it.

    On Linux it is a page of memory that the kernel wipes in a child: it sees forks of C libraries, as
    `os.register_at_fork` does not, and it does not mistake a new process for an old one whose number it has.
    Elsewhere the process number has to do.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError):
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            page.madvise(_WIPED_IN_CHILDREN)
            page[0] = 1
            return page
    return _ProcessNumber()


def user() -> int | None:
    """Return the user id of this process; None on systems without user ids."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def last_byte(descriptor: int, size: int) -> bytes:
    """Read the last byte of a file that is `size` bytes long."""
    return os.pread(descriptor, 1, size - 1)


def wait_for_writes(descriptor: int) -> None:
    """Wait for the writes that are in progress: an empty write waits for its turn like any other.

    This holds for ext4, tmpfs, btrfs and others of Linux; on XFS reads wait for writes instead.
    """
    os.write(descriptor, b"")


def sync_data(descriptor: int) -> None:
    """Wait until the bytes and the size of a file are on the disk."""
    (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(descriptor)


def sync_folder(folder: str) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def hold(descriptor: int) -> None:
    """Share the lease of an open file until every duplicate of this descriptor is closed. Never waits.

    Raises:
        BlockingIOError: another process holds it exclusively at this moment.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return  # a file system without locks is one without leases


def take_alone(descriptor: int) -> bool:
    """Take the lease exclusively until `release`, and return true; false if anybody shares it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def release(descriptor: int) -> None:
    """Give back the lease that `take_alone` took."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def mounts() -> str:
    """Read Linux's table of mounts; empty on other systems."""
    try:
        with builtins.open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            return table.read()
    except OSError:
        return ""
