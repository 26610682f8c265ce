"""Events that have their id and time already, as a log keeps them: what other programs' logs say, and decisions.

Each is cleaned and encoded once, and goes to a journal and into a store's rows as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from analyzer.events.appending.appender import MAX_LINE_BYTES
from analyzer.events.codec import encode
from analyzer.events.model import Event
from analyzer.events.sanitize import payload_json, sanitize
from analyzer.events.times import EPOCH, LAST, to_naive_utc

_WRITER_BYTES = 512
"""The most bytes that writer and number add to a line."""
_ENVELOPE_BYTES = 1_024
"""The most bytes that the keys, the punctuation and the checksum of a line take."""
_MOST_BYTES = 6
"""The most bytes that one character takes in JSON."""
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event without secrets and of bounded size."""

    event: Event
    """All but its payload, which is empty here."""
    payload: bytes
    """The payload, cleaned, as a JSON object."""
    truncated: bool = False
    """Whether it was too long for a line, and only the short texts of its payload are left."""


def recorded(event: Event) -> Recorded:
    """The event as a reader of a log gets it back, `writer` and `seq` aside.

    Raises:
        TypeError, ValueError, RecursionError: it cannot be written down.
    """
    origin = event.origin
    clean = replace(
        event,
        type=_clean(event.type),
        occurred_at=readable_moment(event.occurred_at),
        session_id=_clean(event.session_id),
        payload={},
        extra=sanitize(event.extra) if event.extra else {},
        origin=replace(origin, path=_clean(origin.path)) if origin else None,
    )
    payload = payload_json(event.payload)
    names = f"{clean.id}{clean.type}{clean.session_id}{clean.writer}{clean.origin and clean.origin.path}"
    length = len(payload) + _MOST_BYTES * len(names) + _ENVELOPE_BYTES + _WRITER_BYTES
    if length > MAX_LINE_BYTES or clean.extra:
        length = len(encode(clean, payload)) + _WRITER_BYTES
    if length <= MAX_LINE_BYTES:
        return Recorded(clean, payload)
    short = placeholder(clean.type, _decode(payload), length)
    return Recorded(replace(clean, extra={}, type=short["type"]), msgspec.json.encode(short["payload"]), truncated=True)


def placeholder(kind: str, payload: Mapping[str, Any], length: int) -> dict[str, Any]:
    """Type and payload of an event whose line would be too long: what of it is short, and how long it would be."""
    short = {key: value for key, value in payload.items() if len(str(value)) <= 256}
    return {"type": kind[:256], "payload": {**short, "truncated": True, "original_bytes": length}}


def readable_moment(moment: datetime) -> datetime:
    """The moment in naive UTC, checked to be one that readers of logs accept.

    Raises:
        ValueError: outside of the years that a log speaks of.
    """
    utc = to_naive_utc(moment)
    if not EPOCH <= utc < LAST:
        raise ValueError(f"out of the years 1970 to 2199: {utc.isoformat()[:10]}")
    return utc


@lru_cache(maxsize=256)
def _clean_word(text: str) -> Any:
    return sanitize(text)


def _clean(value: str | None) -> Any:
    """A text of the envelope; the same few come again and again."""
    return _clean_word(value) if value.__class__ is str and len(value) <= 512 else sanitize(value)
