"""Find a store's file, lock it for writing, and replace it completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from glob import escape, glob
from typing import TypeVar

from analyzer.command_lines import TABLE, command_line
from analyzer.errors import StoreBusyError, StoreError, system_text

OWN = ("", ".wal", ".lock")
"""Endings of the store's file and of the files beside it that every command opens."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link"),
)
_HINT = "name another file with --store"


def location(path: str) -> str:
    """Return the absolute path of a store, links resolved. There may be no file yet.

    Raises:
        StoreError: it or a file beside it is something else than a file, or the path leads nowhere.
    """
    if path.startswith(TABLE):
        load = command_line("ingest", path, store="fleet.duckdb")
        raise StoreError(f"{path} is a shared table of events, not a store", f"load it into a store: {load}")
    try:
        real = os.path.realpath(path)
        real.encode()
        for ending in OWN:
            _look_at(real + ending)
    except FileNotFoundError:
        raise StoreError("the working directory is gone", "change into another one") from None
    except UnicodeEncodeError:
        raise StoreError(f"{path!r}: the database takes no name that is not UTF-8", _HINT) from None
    except ValueError:
        raise StoreError(f"{path!r} is no name of a file", _HINT) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be reached: {system_text(error)}", _HINT) from None
    return real


def _look_at(name: str) -> None:
    try:
        mode = os.lstat(name).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = next((noun for is_kind, noun in _KINDS if is_kind(mode)), "a device")
        raise StoreError(f"{name} is {kind}, not a file", _HINT)


_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")


def kept(path: str) -> str:
    """Return a file name as a store keeps it: valid UTF-8, with an escape for each byte that is none."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def on_disk(path: str) -> str:
    """Return the file name on disk of a kept one; a name that exists or has no escape stays."""
    if "\\udc" not in path or os.path.lexists(path):
        return path
    escaped = _ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path)
    return escaped if os.path.lexists(escaped) else path


def open_below(folder: str, path: str, flags: int) -> int:
    """Open a file below a folder without following any link on the way from the folder.

    Raises:
        OSError: it cannot be opened; `ELOOP` where a link has taken the place of the file, or of a folder above it.
    """
    if os.open not in os.supports_dir_fd:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
    way = os.path.relpath(path, folder).split(os.sep)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for depth, name in enumerate(way, 1):
        within = flags if depth == len(way) else os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            deeper = os.open(name, within | os.O_NOFOLLOW, dir_fd=descriptor)
        except NotADirectoryError as error:
            # So Linux calls a link, too, where a folder was asked for.
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from error
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


MEMORY = ":memory:"
CATALOG = "analyzer"
"""The name of the open database, whatever its file is called.

DuckDB would take the file's first word, which may collide with tables, columns and aliases.
"""
STORAGE_VERSION = "v1.4.0"
"""The storage format of new stores: DuckDB 1.4 and later read them."""
PATIENCE_SECONDS = 4.0
"""Seconds to wait for a store in use; most uses are shorter."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.4
_NAMELESS_SECONDS = 1.0
"""Seconds that the holder of the lock may take to write its name, or to unlock after wiping it out.
"""

T = TypeVar("T")


def lock_of(path: str) -> str:
    """Return the path of a store's lock file."""
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
    """Return `process N` while that process writes the store, else None.

    An old lock file does not count.
    """
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
    """Call `attempt` until the store is not in use, and return its result.

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
        raise StoreError(
            f"{lock} cannot be made: {system_text(error)}", "the store's folder must be writable"
        ) from None


def _held_by_other(descriptor: int, kind: int) -> str | None:
    """Take the lock, or return who has it; a holder without a name gets a moment to write one."""
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


WAL = ".wal"
WORK = ".rebuild"
"""Ending of the file in which a new store is made."""


def work_of(path: str) -> str:
    """Return the path at which a new store is made."""
    return os.path.realpath(path) + WORK


def kept_of(path: str) -> list[str]:
    """List the former stores that are kept, one per rebuild, oldest first."""
    first = _first_aside(path)
    numbered = (name.removeprefix(f"{first}-").removesuffix(WAL) for name in glob(f"{escape(first)}-*"))
    places = {1, *(int(number) for number in numbered if number.isascii() and number.isdigit())}
    return [name for place in sorted(places) if _stands(name := _aside(path, place))]


def aside_of(path: str) -> str:
    """Return a free path at which the former store is kept."""
    place = 1
    while _stands(_aside(path, place)):
        place += 1
    return _aside(path, place)


def _first_aside(path: str) -> str:
    return os.path.realpath(path) + ".before-rebuild"


def _aside(path: str, place: int) -> str:
    return _first_aside(path) + (f"-{place}" if place > 1 else "")


def _stands(aside: str) -> bool:
    return os.path.lexists(aside) or os.path.lexists(aside + WAL)


def _complete(path: str) -> str:
    return os.path.realpath(path) + ".rebuilt"


def files_of(path: str) -> list[str]:
    """List all files that belong to the store, its own file included."""
    real = os.path.realpath(path)
    databases = [real, work_of(path), _complete(path), *kept_of(path)]
    return [f"{real}.lock", *databases, *(name + ending for name in databases for ending in (WAL, ".tmp"))]


def discard_work(path: str) -> None:
    """Remove what there is of an unfinished new store."""
    for name in (work_of(path), work_of(path) + WAL):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def replace_store(path: str) -> None:
    """Put the finished file at `work_of` in the store's place. The lock must be held and both files closed.

    Raises:
        StoreError: the file system refuses; the former store is still in its place, or the new one is.
    """
    try:
        sync(work_of(path))
        os.replace(work_of(path), _complete(path))
        sync(os.path.dirname(work_of(path)))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be replaced: {system_text(error)}", "free space, or check permissions"
        ) from None
    complete_replacement(path)


def replacement_waits(path: str) -> bool:
    """Say whether a process died after finishing a new store and before putting it in its place."""
    return os.path.exists(_complete(path))


def complete_replacement(path: str) -> None:
    """Put a finished new store in its place, if there is one. The lock must be held.

    Raises:
        StoreError: the file system refuses.
    """
    if not replacement_waits(path):
        return
    real, kept = os.path.realpath(path), kept_of(path)
    try:
        if os.path.exists(real):
            kept.append(aside_of(path))
            os.replace(real, kept[-1])
        if os.path.exists(real + WAL):
            # If its database is gone, a process died after moving that to the last path.
            os.replace(real + WAL, (kept[-1] if kept else aside_of(path)) + WAL)
        os.replace(_complete(path), real)
        sync(os.path.dirname(real))
    except OSError as error:
        raise StoreError(f"{path} cannot be replaced: {system_text(error)}", "check the folder's permissions") from None


def sync(name: str) -> None:
    """Wait until a file or a folder's list of names is on the disk."""
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
