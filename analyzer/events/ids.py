"""Event ids: a new id sorts by time; a derived id follows from the foreign record, so that a second import adds
nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from typing import Any

LOW_BITS = 48
"""Of an id's number, its last digits: all that changes while a writer counts."""
_MILLISECONDS, _HIGH, _LOW = (1 << 48) - 1, (1 << 28) - 1, (1 << LOW_BITS) - 1
# The two upper bits of a hexadecimal digit as RFC 9562 wants them, the lower two as they are.
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def new_id() -> str:
    """A fresh id: 48 bits of milliseconds, then random bits, laid out as UUID version 7 (RFC 9562)."""
    return numbered_id(time.time_ns(), int.from_bytes(os.urandom(10), "big"))


def numbered_id(nanoseconds: int, number: int) -> str:
    """An id of this moment and of the lowest 74 bits of a number."""
    return f"{id_head(nanoseconds // 1_000_000, number >> LOW_BITS)}{number & _LOW:012x}"


def id_head(milliseconds: int, high: int) -> str:
    """All of a numbered id but the twelve digits of its number's lowest bits; `high` are the ones above these."""
    head, tail = f"{milliseconds & _MILLISECONDS:012x}", f"{high & _HIGH:07x}"
    return f"{head[:8]}-{head[8:]}-7{tail[:3]}-{_VARIANT[tail[3]]}{tail[4:]}-"


def derived_id(*parts: object) -> str:
    """The id of these parts, the same every time, laid out as UUID version 8 (RFC 9562)."""
    text = _digest()("\x1f".join(map(str, parts)).encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"


@cache
def _digest() -> Callable[..., Any]:
    from hashlib import blake2b  # 3 ms that an appender does not need

    return blake2b
