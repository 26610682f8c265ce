"""The event: one line of the log as data, its id, and the conversion of payloads of earlier versions.

Unknown types and keys are kept, so that an older reader loses nothing. A new id sorts by time; a derived id follows
from the foreign record, so that a second import adds nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from functools import cache
from typing import Any

from analyzer.frozen import frozen

SCHEMA_VERSION = 1
"""The version that this program writes into `v`."""


@frozen
class Origin:
    """The foreign record that an event was derived from."""

    format: str
    """The importer's name, as `claude_code`."""
    path: str
    """The foreign file, as its path was passed when it was read."""
    line: int | None = None
    """1-based line in that file."""
    host: str | None = None
    """The machine of that file, in lines that were pushed to a shared table of events.

    Such a line keeps its own `writer` and `seq`; those of any other derived event belong to a journal.
    """


STANDS_IN = ("log", "file")
"""Sources of the time of a record without one: `log` for the record before it, the log's header or the file's name,
`file` for the time of the file."""


@frozen
class Event:
    """One event of the log."""

    type: str
    """`error.classified`, `relay.triggered`, ...; any text is allowed."""
    occurred_at: datetime
    """Naive UTC."""
    session_id: str | None
    """The agent's session; None if the log does not name it."""
    payload: Mapping[str, Any]
    """The type's own keys, snake_case, JSON-ready."""
    id: str
    """Unique; a second line with the same id is the same event."""
    v: int = SCHEMA_VERSION
    """Schema version of the line."""
    writer: str | None = None
    """The process that wrote it: `host:pid:random`."""
    seq: int | None = None
    """0-based position among the events of that writer."""
    time_source: str = "event"
    """`event`, or one of `STANDS_IN`."""
    origin: Origin | None = None
    """The foreign record that it was derived from;
    None for an event that its producer wrote itself.
    """
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Envelope keys that this version does not know."""

    @property
    def host(self) -> str | None:
        """Return the machine that it happened on, if the line names it.

        The writer of a derived event is only a journal.
        """
        if self.origin is not None and self.origin.host:
            return self.origin.host
        if self.origin is None and self.writer and ":" in self.writer:
            return self.writer.split(":", 1)[0]
        meta = self.extra.get("_meta")
        host = meta.get("host") if isinstance(meta, Mapping) else None
        return host if isinstance(host, str) else None


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the values that are None: unknown values are absent from a payload."""
    return {key: value for key, value in values.items() if value is not None}


def settled_reason(reason: str, outcome: str) -> str:
    """Return the reason for `retry.settled`:
    a `network_transient` that three calls did not mend is permanent.
    """
    return "network_permanent" if (reason, outcome) == ("network_transient", "exhausted") else reason


LOW_BITS = 48
"""The lowest bits of an id's number, which change while a writer counts."""
_MILLISECONDS, _HIGH, _LOW = (1 << 48) - 1, (1 << 28) - 1, (1 << LOW_BITS) - 1
# A hexadecimal digit with its two upper bits as RFC 9562 wants them.
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def new_id() -> str:
    """Make an id: 48 bits of milliseconds, then random bits, laid out as UUID version 7 (RFC 9562)."""
    return numbered_id(time.time_ns(), int.from_bytes(os.urandom(10), "big"))


def numbered_id(nanoseconds: int, number: int) -> str:
    """Make an id of this moment and of the lowest 74 bits of a number."""
    return f"{id_head(nanoseconds // 1_000_000, number >> LOW_BITS)}{number & _LOW:012x}"


def id_head(milliseconds: int, high: int) -> str:
    """Make a numbered id without its last twelve digits.

    `high` are the bits above the lowest `LOW_BITS`.
    """
    head, tail = f"{milliseconds & _MILLISECONDS:012x}", f"{high & _HIGH:07x}"
    return f"{head[:8]}-{head[8:]}-7{tail[:3]}-{_VARIANT[tail[3]]}{tail[4:]}-"


def derived_id(*parts: object) -> str:
    """Derive an id from these parts, the same every time; it is laid out as UUID version 8 (RFC 9562)."""
    text = _digest()("\x1f".join(map(str, parts)).encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"


@cache
def _digest() -> Callable[..., Any]:
    from hashlib import blake2b  # 3 ms that an appender does not need

    return blake2b


Upcaster = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Type and payload of version n → the payload of version n + 1. Pure; it may raise."""

UPCASTERS: dict[int, Upcaster] = {}
"""Upcasters by the version that they start from. Version 1 is the first, and still the present one."""


def upcast(version: int, kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert the payload of an event to the present version.

    A payload of an unknown version stays.

    Raises:
        Exception: of any kind, from an upcaster.
    """
    if any(step not in UPCASTERS for step in range(version, SCHEMA_VERSION)):
        return payload
    for step in range(version, SCHEMA_VERSION):
        payload = UPCASTERS[step](kind, payload)
    return payload
