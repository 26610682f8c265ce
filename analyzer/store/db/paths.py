"""File names as a store keeps them: text that can be written down, of which the name on the disk follows again.

A name may hold bytes that are no UTF-8: Python has lone surrogates for them, a store `\\udc` and two digits. And a name
that was found in a folder may have changed hands by the time it is opened.
"""

from __future__ import annotations

import errno
import os
import re

_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")


def kept(path: str) -> str:
    """The file name as a store keeps it: valid UTF-8, with an escape for each byte that is none."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def on_disk(path: str) -> str:
    """The name that a kept one stands for; one that is there as it stands, or that holds no escape, stays as it is."""
    if "\\udc" not in path or os.path.lexists(path):
        return path
    escaped = _ESCAPED.sub(lambda found: chr(0xDC00 + int(found[1], 16)), path)
    return escaped if os.path.lexists(escaped) else path


def open_below(folder: str, path: str, flags: int) -> int:
    """Open a file that was found below a folder, on the way from which no link is followed.

    Raises:
        OSError: it cannot be opened; `ELOOP` where a link has taken the place of the file, or of a folder above it.
    """
    if os.open not in os.supports_dir_fd:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
    way = os.path.relpath(path, folder).split(os.sep)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for place, name in enumerate(way, 1):
        within = flags if place == len(way) else os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            deeper = os.open(name, within | os.O_NOFOLLOW, dir_fd=descriptor)
        except NotADirectoryError as error:
            # So Linux calls a link, too, where a folder was asked for.
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from error
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor
