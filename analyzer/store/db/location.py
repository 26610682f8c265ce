"""Where a store is: the file that a name leads to, and that it is one which may be opened.

Invariant: nothing is opened, made or replaced in the place of a pipe, a device, a socket, a folder or a broken link.
"""

from __future__ import annotations

import os
import stat

from analyzer.errors import StoreError

OWN = ("", ".wal", ".lock")
"""Endings of the files that every command opens, beside the store's own."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link"),
)
_HINT = "name another file with --store"


def location(path: str) -> str:
    """The absolute path of a store, links resolved. There may be no file yet.

    Raises:
        StoreError: something else than a file stands there or in a companion's place, or the path leads nowhere.
    """
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
        raise StoreError(f"{path} cannot be reached: {error.strerror}", _HINT) from None
    return real


def _look_at(name: str) -> None:
    try:
        mode = os.lstat(name).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = next((said for holds, said in _KINDS if holds(mode)), "a device")
        lake = "; a lake is named delta:PATH" if stat.S_ISDIR(mode) else ""
        raise StoreError(f"{name} is {kind}, not a file", _HINT + lake)
