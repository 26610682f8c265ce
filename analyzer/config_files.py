"""Small files that people write: settings, rules, labels.

Their size and depth are checked before they are parsed.
"""

from __future__ import annotations

import errno
import os
import re
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

MOST_BYTES = 1024 * 1024
"""The largest TOML file that is read; the built-in rules take a tenth of that."""
MOST_LEVELS = 16
"""The deepest nesting of brackets, and of the dots of a key:
the memory of a parser grows by its square.
"""
_STEPS = re.compile(
    rb'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)|\'\'\'.*?(?:\'{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?|#[^\n]*|[\[\]{}.=,\n]',
    re.DOTALL,
)
"""Texts and comments of TOML, and the signs outside of them that open, close and separate."""


def opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading, without waiting for a writer of a pipe.

    Raises:
        OSError, ValueError: the file is missing, may not be read, or is something else than a file.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = "a device"
            if stat.S_ISDIR(mode):
                kind = "a folder"
            elif stat.S_ISFIFO(mode):
                kind = "a pipe"
            raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def content(path: str | os.PathLike[str]) -> bytes:
    """Read a regular file of at most `MOST_BYTES`.

    Raises:
        OSError, ValueError: as of `opened`, or it is larger.
    """
    with opened(path) as handle:
        data = handle.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES // 1024} KiB", os.fspath(path))
    return data


def toml(data: bytes) -> dict[str, Any]:
    """Parse the bytes of a TOML file.

    Raises:
        ValueError: it is no valid TOML, no UTF-8, or nested deeper than `MOST_LEVELS`.
    """
    import tomllib  # 4 ms that only who reads such a file should pay

    if _deep(data):
        raise ValueError(f"nested deeper than {MOST_LEVELS} levels")
    return tomllib.loads(data.decode("utf-8-sig"))


def _deep(data: bytes) -> bool:
    """Return true if brackets or the dots of a key nest deeper than `MOST_LEVELS`."""
    depth = dots = 0
    for step in _STEPS.finditer(data):
        sign = step[0]
        if sign == b".":
            dots += 1
        elif sign in (b"[", b"{"):
            depth, dots = depth + 1, 0
        elif sign in (b"]", b"}"):
            depth, dots = max(depth - 1, 0), 0
        elif sign in (b"=", b",", b"\n"):
            dots = 0
        if max(depth, dots) > MOST_LEVELS:
            return True
    return False
