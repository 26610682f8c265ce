"""Halves of UTF-16 pairs, which programs leave when they cut a text within an emoji: no UTF-8, and no strict JSON.

Each that stands alone becomes U+FFFD; nothing else of the text changes.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Escapes of JSON: a whole pair, one half (the group), or any other."""


def mended(line: bytes) -> bytes:
    """JSON with U+FFFD for each escaped half, of the same length; the same object where there is none."""
    if b"\\u" not in line:
        return line
    halves = [found.span() for found in _ESCAPES.finditer(line) if found[1] is not None]
    if not halves:
        return line
    whole = bytearray(line)
    for start, end in halves:
        whole[start:end] = rb"\ufffd"
    return bytes(whole)


def readable(text: str) -> str:
    """The text as UTF-8 can hold it: two halves that belong together are their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
