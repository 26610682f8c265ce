"""Files that take a while to make and follow from this program alone, kept in the user's cache folder.

Invariant: a file's name has what it was made from and the digest of what is in it; what is damaged is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from glob import escape, glob

_KEPT = 8
"""How many are kept: several versions of this program may take turns."""


def kept_file(kind: str, made_of: Iterable[object], make: Callable[[str], None]) -> str | None:
    """The path of a file of this kind, which `make` writes to the path that it is given where there is none.

    `made_of` is all that it follows from. None where it cannot be kept.

    Raises:
        Exception: what `make` raises beside an OSError.
    """
    key = hashlib.sha256("\0".join(map(str, made_of)).encode()).hexdigest()[:16]
    start = f"{kind}-{key}-"
    try:
        folder = _cache_folder()
        if folder is None:
            return None
        for name in sorted(os.listdir(folder)):
            if name.startswith(start):
                path = os.path.join(folder, name)
                if name == start + _digest(path):
                    return path
                os.unlink(path)
        return _made(folder, start, make)
    except OSError:
        return None


def _made(folder: str, start: str, make: Callable[[str], None]) -> str:
    """Make a file beside its place, and give it its name when it is whole."""
    work = os.path.join(folder, f"making-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        make(work)
        path = os.path.join(folder, start + _digest(work))
        os.replace(work, path)
    finally:
        for name in glob(f"{escape(work)}*"):  # a database may leave its own beside it
            with contextlib.suppress(OSError):
                os.unlink(name)
    # What somebody left who died over this is among the oldest some day.
    for entry in sorted(os.scandir(folder), key=lambda entry: -entry.stat().st_mtime_ns)[_KEPT:]:
        os.unlink(entry.path)
    return path


def _cache_folder() -> str | None:
    """The folder of this program in the user's cache folder; None where others may write there."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "analyzer")
    for name in (base, folder):
        if not os.path.isdir(name):
            if not _own(os.path.dirname(name)):
                return None  # root, at work in somebody's home, leaves nothing there that they could not write
            os.makedirs(name, 0o700, exist_ok=True)
    return folder if _own(folder) and not os.stat(folder).st_mode & 0o022 else None


def _own(folder: str) -> bool:
    return not hasattr(os, "geteuid") or os.stat(folder).st_uid == os.geteuid()


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
