"""Event ids: new ones sort by time; derived ones follow from the foreign record, a second import is no second event."""

from __future__ import annotations

import os
import time
from hashlib import blake2b


def new_id() -> str:
    """A fresh id: 48 bits of milliseconds, then random bits, laid out as UUID version 7 (RFC 9562)."""
    stamp = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10), "big")
    value = (stamp & ((1 << 48) - 1)) << 80 | tail
    return _as_uuid(value, version=7)


def derived_id(*parts: object) -> str:
    """The id that always follows from these parts, laid out as UUID version 8 (RFC 9562)."""
    digest = blake2b("\x1f".join(str(part) for part in parts).encode("utf-8", "replace"), digest_size=16).digest()
    return _as_uuid(int.from_bytes(digest, "big"), version=8)


def _as_uuid(value: int, version: int) -> str:
    value = value & ~(0xF << 76) | version << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
