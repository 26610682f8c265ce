"""Small files that people write: settings, rules, labels. What they may cost is bounded before anything parses them."""

from __future__ import annotations

import errno
import os
import re
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

MOST_BYTES = 1024 * 1024
"""Of a whole file of TOML; the built-in rules are a tenth of that."""
MOST_LEVELS = 16
"""Of brackets, and of the dots of one key: a parser takes memory by the square of them."""
_STEPS = re.compile(
    rb'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)|\'\'\'.*?(?:\'{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?|#[^\n]*|[\[\]{}.=,\n]',
    re.DOTALL,
)
"""Texts and comments of TOML, and the signs outside of these that open, close and part."""


def opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading, without waiting for whoever would write to a pipe.

    Raises:
        OSError, ValueError: there is none, or it is something else, or it may not be read.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device"
            raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def content(path: str | os.PathLike[str]) -> bytes:
    """What a regular file of at most `MOST_BYTES` holds.

    Raises:
        OSError, ValueError: as of `opened`, or it is larger.
    """
    with opened(path) as handle:
        found = handle.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES // 1024} KiB", os.fspath(path))
    return found


def toml(found: bytes) -> dict[str, Any]:
    """The values of a file of TOML.

    Raises:
        ValueError: it is no valid TOML, no UTF-8, or nested deeper than `MOST_LEVELS`.
    """
    import tomllib  # 4 ms that only who reads such a file should pay

    if _deep(found):
        raise ValueError(f"nested deeper than {MOST_LEVELS} levels")
    return tomllib.loads(found.decode("utf-8-sig"))


def _deep(found: bytes) -> bool:
    """Whether brackets or the dots of a key go deeper than a parser should follow."""
    depth = dots = 0
    for step in _STEPS.finditer(found):
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
