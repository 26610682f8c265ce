"""Any value → a JSON-ready, redacted, bounded one. Total: what cannot be kept is replaced by a text that says so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from analyzer.events.times import format_time
from analyzer.redaction import redact, redact_member

MAX_TEXT = 16_384
"""Characters of one text; redaction comes before the cut, so that no half of a secret survives it."""
MAX_ITEMS = 1_000
MAX_LEVELS = 32
_NOTE = 48
_LARGEST_EXACT = 2**63 - 1


def sanitize(value: Any, level: int = 0) -> Any:
    """A copy of `value` that the codec takes, with secrets out and sizes bounded."""
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _LARGEST_EXACT else str(value)[:64]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if level >= MAX_LEVELS:
        return "[nested too deeply]"
    if isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return dict(_member(key if isinstance(key, str) else str(key), item, level + 1) for key, item in items)
    if isinstance(value, list | tuple | set | frozenset):
        return [sanitize(item, level + 1) for item in list(value)[:MAX_ITEMS]]
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, bytes | bytearray):
        return _text(bytes(value[: MAX_TEXT * 4]).decode("utf-8", "replace"))
    return _text(str(value))


def _member(key: str, value: Any, level: int) -> tuple[str, Any]:
    name = _text(key)
    if isinstance(value, str):
        return name, _capped(redact_member(key, _encodable(value)))
    return name, sanitize(value, level)


def _encodable(text: str) -> str:
    # A lone surrogate (from file names, mostly) is no UTF-8: strict readers refuse the whole line.
    return text.encode("utf-8", "replace").decode("utf-8")


def _text(text: str) -> str:
    return _capped(redact(_encodable(text)))


def _capped(clean: str) -> str:
    if len(clean) <= MAX_TEXT:
        return clean
    # What was cut once is not cut again: the note counts towards the length.
    kept = MAX_TEXT - _NOTE
    return f"{clean[:kept]}[… {len(clean) - kept} characters cut]"
