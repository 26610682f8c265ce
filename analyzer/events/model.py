"""The event: one line of the log, as data. Unknown types and keys are kept, so that an older reader loses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

SCHEMA_VERSION = 1
"""The version that this program writes into `v`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a derived event comes from."""

    format: str
    """The importer's name, as `claude_code`."""
    path: str
    """The foreign file as it was given when it was read."""
    line: int | None = None
    """1-based line in that file."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the log."""

    type: str
    """`error.classified`, `relay.triggered`, ...; any text is allowed."""
    occurred_at: datetime
    """Naive UTC."""
    session_id: str | None
    """The agent's session, or null where the log does not name one."""
    payload: Mapping[str, Any]
    """The type's own keys, snake_case, JSON-ready."""
    id: str
    """Unique; a second line with the same id is the same event."""
    v: int = SCHEMA_VERSION
    """Schema version of the line."""
    writer: str | None = None
    """Who wrote it: `host:pid:random`, one a process."""
    seq: int | None = None
    """0-based position among the events of that writer."""
    time_source: str = "event"
    """`event`, or `file` where the line names no time and the file's own stands in."""
    origin: Origin | None = None
    """The foreign record that it was derived from; null for an event that its producer wrote itself."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Envelope keys that this version does not know."""

    @property
    def host(self) -> str | None:
        """The machine that it happened on, where the line says so; the writer of a derived event is only a journal."""
        if self.origin is None and self.writer and ":" in self.writer:
            return self.writer.split(":", 1)[0]
        meta = self.extra.get("_meta")
        host = meta.get("host") if isinstance(meta, Mapping) else None
        return host if isinstance(host, str) else None


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without those that are None: what nobody knows is absent from a payload."""
    return {key: value for key, value in values.items() if value is not None}


def settled_reason(reason: str, outcome: str) -> str:
    """The reason in `retry.settled`: a `network_transient` that three calls could not mend is permanent."""
    return "network_permanent" if (reason, outcome) == ("network_transient", "exhausted") else reason
