"""Who may write a store: one process at a time, told by a lock that goes with the process, however that ends.

DuckDB's own lock is not enough: the owning process loses it whenever it closes any other handle on the same file.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from analyzer.command_lines import command_line
from analyzer.errors import StoreBusyError, StoreError
from analyzer.store.db.location import location

MEMORY = ":memory:"
PATIENCE_SECONDS = 4.0
"""How long one who finds a store in use waits for it; most uses are shorter than that."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.4
_NAMELESS_SECONDS = 1.0
"""How long one who holds the lock may take to write who it is, or to let go after wiping that out."""

T = TypeVar("T")


def lock_of(path: str) -> str:
    """The lock file of a store."""
    return os.path.realpath(path) + ".lock"


@contextlib.contextmanager
def exclusive(path: str) -> Iterator[None]:
    """Hold the store for writing.

    Raises:
        StoreBusyError: another process of ours is writing.
        StoreError: there is something else than a file, or the lock file cannot be made.
    """
    if path == MEMORY:
        yield
        return
    try:
        import fcntl
    except ImportError:
        raise StoreError(
            "stores in files need a POSIX system", f"read the logs with: {command_line('report', 'PATH')}"
        ) from None
    location(path)
    descriptor = _opened(lock_of(path))
    try:
        if who := _held_by_other(descriptor, fcntl.LOCK_EX):
            raise StoreBusyError(f"{path} is being written by {who}", "try again when it has finished")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder(path: str) -> str | None:
    """`process N` while that process writes the store; None while nobody does, whatever an old lock file says."""
    try:
        import fcntl

        descriptor = os.open(lock_of(path), os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        return _held_by_other(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def patiently(attempt: Callable[[], T], patience: float | None = None) -> T:
    """What `attempt` gives, tried again while the store is in use.

    Raises:
        StoreBusyError: it still is after `patience` seconds (None: `PATIENCE_SECONDS`).
    """
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    pause = _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except StoreBusyError:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _opened(lock: str) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise StoreError(f"{lock} cannot be made: {error.strerror}", "the store's folder must be writable") from None


def _held_by_other(descriptor: int, kind: int) -> str | None:
    """Take the lock, or name who has it; one who has it without a name yet, or any more, is given a moment."""
    import fcntl

    deadline = time.monotonic() + _NAMELESS_SECONDS
    while True:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return None
        if name := os.pread(descriptor, 32, 0).decode("ascii", "replace").strip():
            return name
        if time.monotonic() > deadline:
            return "another process"
        time.sleep(_FIRST_PAUSE)
