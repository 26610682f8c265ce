"""A store made anew takes the place of the former one, whole, whatever moment the process dies at.

The new file is complete once it has the name `x.duckdb.rebuilt`. From then on whoever opens the store first puts it in
its place, so that there is never half of a change: a database file goes before its write-ahead log does.
"""

from __future__ import annotations

import contextlib
import os
from glob import escape, glob

from analyzer.errors import StoreError

WAL = ".wal"


def work_of(path: str) -> str:
    """Where a new store is made."""
    return os.path.realpath(path) + ".rebuild"


def kept_of(path: str) -> list[str]:
    """The former stores that are kept, oldest first: one a rebuild, until somebody deletes them."""
    first = _first_aside(path)
    numbered = (name.removeprefix(f"{first}-").removesuffix(WAL) for name in glob(f"{escape(first)}-*"))
    places = {1, *(int(number) for number in numbered if number.isascii() and number.isdigit())}
    return [name for place in sorted(places) if _stands(name := _aside(path, place))]


def aside_of(path: str) -> str:
    """A free path at which the store before is kept."""
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
    """All names beside the store that are the store's own, its own file included."""
    real = os.path.realpath(path)
    databases = [real, work_of(path), _complete(path), *kept_of(path)]
    return [f"{real}.lock", *databases, *(name + ending for name in databases for ending in (WAL, ".tmp"))]


def discard_work(path: str) -> None:
    """Take away what there is of an unfinished new store."""
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
        raise StoreError(f"{path} cannot be replaced: {error.strerror}", "free space, or check permissions") from None
    complete_replacement(path)


def replacement_waits(path: str) -> bool:
    """Whether someone died between finishing a new store and putting it in its place."""
    return os.path.exists(_complete(path))


def complete_replacement(path: str) -> None:
    """Put a finished new store in its place, where there is one. The lock must be held.

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
            # Where its database is not there any more, someone died after moving that, to the last place.
            os.replace(real + WAL, (kept[-1] if kept else aside_of(path)) + WAL)
        os.replace(_complete(path), real)
        sync(os.path.dirname(real))
    except OSError as error:
        raise StoreError(f"{path} cannot be replaced: {error.strerror}", "check the folder's permissions") from None


def sync(name: str) -> None:
    """Wait until a file or a folder's list of names is on the disk."""
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
