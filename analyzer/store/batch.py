"""A batch of what was read → the store, in one transaction: events, quarantine, accounting and checkpoints, or nothing.

Derived events reach the journal before the store: after a crash in between they are in the journal twice under the same
ids, which is harmless, and never in the store alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import duckdb
import msgspec
import polars as pl

from analyzer.errors import StoreError
from analyzer.events import Event, EventLog
from analyzer.events.ids import derived_id
from analyzer.events.log import recorded
from analyzer.events.sanitize import sanitize
from analyzer.store.database import transaction
from analyzer.store.frames import register
from analyzer.store.identity import Checkpoint

MAX_EVENTS = 50_000
MAX_WEIGHT = 64 * 1024 * 1024
"""Bytes of lines that a batch holds the events of."""
KEPT_TEXT = 2_000
"""Characters of a rejected line that quarantine keeps."""
KEPT_BYTES = KEPT_TEXT * 8
"""Bytes of it that are held on to: redaction comes before the cut."""

_json = msgspec.json.Encoder()


@dataclass(slots=True)
class Tally:
    """What became of the lines of one source, in one run. `lines` is the sum of the five that follow it."""

    lines: int = 0
    event_lines: int = 0
    duplicates: int = 0
    quarantined: int = 0
    blank: int = 0
    skipped: int = 0
    events: int = 0
    bytes: int = 0

    def add(self, other: Tally) -> None:
        """Add the figures of another tally to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict[str, int]:
        """The figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Progress:
    """One source in one run."""

    checkpoint: Checkpoint
    codec: str = "plain"
    status: str = "read"
    detail: str | None = None
    tally: Tally = field(default_factory=Tally)
    pending_bytes: int = 0
    saved: Tally = field(default_factory=Tally)
    """What of `tally` is in the store already."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line on its way to quarantine."""

    line: int
    offset: int
    length: int
    why: str
    detail: str
    text: bytes


class Batch:
    """Collects and commits. `save` may be called whenever every source's checkpoint stands at a block's end."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, journal: EventLog | None, now: datetime) -> None:
        self._connection = connection
        self._journal = journal
        self._now = now
        self._clear()

    def _clear(self) -> None:
        self._events: list[tuple[Progress, int | None, Event, bool]] = []
        self._rejected: list[tuple[Progress, Rejected]] = []
        self._touched: dict[int, Progress] = {}
        self._forgotten: list[int] = []
        self._bad_lines: set[tuple[int, int]] = set()
        self._weight = 0

    @property
    def full(self) -> bool:
        """Whether it is time to save."""
        return len(self._events) + len(self._rejected) >= MAX_EVENTS or self._weight >= MAX_WEIGHT

    def weigh(self, line_bytes: int) -> None:
        """Count a line towards the size at which the batch is full."""
        self._weight += line_bytes

    def touch(self, progress: Progress) -> None:
        """Save this source's figures and checkpoint with the batch."""
        self._touched[progress.checkpoint.source_id] = progress

    def forget(self, checkpoint: Checkpoint) -> None:
        """Take back what was saved of a source that was only looked at."""
        self._forgotten.append(checkpoint.source_id)

    def add_event(self, progress: Progress, line: int | None, event: Event, *, derived: bool) -> None:
        """An event that was read on a line, or of the source as a whole (no line).

        The store gets a derived one exactly as the journal does, so that it can be made again from that.
        """
        self._events.append((progress, line, recorded(event) if derived else event, derived))

    def abandon(self, progress: Progress) -> None:
        """Take back what this batch holds of a source that could not be read to its end."""
        source_id = progress.checkpoint.source_id
        self._events = [item for item in self._events if item[0] is not progress]
        self._rejected = [item for item in self._rejected if item[0] is not progress]
        self._bad_lines = {key for key in self._bad_lines if key[0] != source_id}
        self._touched.pop(source_id, None)
        progress.tally = Tally(**progress.saved.to_dict())
        progress.status, progress.pending_bytes = "failed", 0

    def add_rejected(self, progress: Progress, rejected: Rejected) -> None:
        """A line that goes to quarantine; counted here, whatever else was salvaged from it."""
        self._rejected.append((progress, rejected))
        self._bad_lines.add((progress.checkpoint.source_id, rejected.line))
        progress.tally.quarantined += 1

    def save(self) -> None:
        """Commit everything collected.

        Raises:
            StoreError: nothing of it is in the store.
        """
        if not self._touched:
            return
        connection = self._connection
        try:
            new = self._stage()
            self._write_journal(new)
            self._count(new)
            with transaction(connection):
                self._insert(new)
                self._insert_quarantine()
                for source_id in self._forgotten:
                    connection.execute("delete from internal.source_v1 where source_id = $1", [source_id])
                self._save_sources()
        except duckdb.Error as error:
            raise StoreError(
                f"the store refused the batch: {str(error).splitlines()[0]}", "nothing of it was kept"
            ) from None
        self._verify()
        self._clear()

    def _verify(self) -> None:
        # DuckDB's COMMIT can return without an error and without having committed: look.
        progress = next(iter(self._touched.values()))
        rows = self._connection.execute(
            "select read_bytes, last_ingested_at from internal.source_v1 where source_id = $1",
            [progress.checkpoint.source_id],
        ).fetchall()
        if rows != [(progress.checkpoint.offset, self._now)]:
            raise StoreError("the store did not keep the batch", "check the disk, then run the same command again")

    def _stage(self) -> list[int]:
        """Positions of the events that are new, each id once."""
        if not self._events:
            return []
        frame = pl.DataFrame(
            {"position": range(len(self._events)), "event_id": [event.id for _, _, event, _ in self._events]},
            schema={"position": pl.Int64, "event_id": pl.String},
        )
        register(self._connection, "staged_id", frame)
        rows = self._connection.execute(
            "select min(s.position) from staged_id as s anti join internal.event_v1 as e on s.event_id = e.event_id"
            " group by s.event_id order by 1"
        ).fetchall()
        return [int(row[0]) for row in rows]

    def _write_journal(self, new: list[int]) -> None:
        if self._journal is None:
            return
        derived = [event for _, _, event, derived in (self._events[position] for position in new) if derived]
        written = all(self._journal.record(event) is not None for event in derived)
        # The store's own commit is synced: it must not know of events that a power cut takes from the journal.
        if not written or (derived and not self._journal.sync()):
            raise StoreError(
                f"the journal in {self._journal.folder} cannot be written", "free space, or check its permissions"
            )

    def _count(self, new: list[int]) -> None:
        fresh = set(new)
        lines: dict[tuple[int, int], bool] = {}
        for position, (progress, line, _, _) in enumerate(self._events):
            progress.tally.events += position in fresh
            if line is not None:
                key = (progress.checkpoint.source_id, line)
                lines[key] = lines.get(key, False) or position in fresh
        for key, gave_event in lines.items():
            if key in self._bad_lines:
                continue
            tally = self._touched[key[0]].tally
            if gave_event:
                tally.event_lines += 1
            else:
                tally.duplicates += 1
        for progress in self._touched.values():
            tally = progress.tally
            tally.skipped = tally.lines - tally.event_lines - tally.duplicates - tally.quarantined - tally.blank

    def _insert(self, new: list[int]) -> None:
        if not new:
            return
        rows: list[tuple[Any, ...]] = []
        facts: dict[str, str] = {}
        for position in new:
            progress, line, event, _ = self._events[position]
            payload, facts_id = _without_facts(sanitize(event.payload), facts)
            origin = event.origin
            rows.append(
                (
                    event.id,
                    sanitize(event.type),
                    event.occurred_at,
                    sanitize(event.session_id),
                    event.v,
                    # Writer and number of a derived event belong to the journal that it was read from.
                    None if origin else sanitize(event.writer),
                    None if origin else event.seq,
                    sanitize(event.host),
                    event.time_source,
                    payload,
                    facts_id,
                    sanitize(origin.format) if origin else progress.checkpoint.format,
                    sanitize(origin.path if origin else progress.checkpoint.path),
                    origin.line if origin else line,
                    self._now,
                )
            )
        register(self._connection, "staged_event", pl.DataFrame(rows, schema=_EVENT_SCHEMA, orient="row"))
        self._connection.execute("insert into internal.event_v1 select * from staged_event").fetchall()
        if facts:
            frame = pl.DataFrame({"facts_id": list(facts), "facts": list(facts.values())})
            register(self._connection, "staged_facts", frame)
            self._connection.execute(
                "insert into internal.facts_v1"
                " select s.facts_id, s.facts, internal.template(internal.message(s.facts)) as template,"
                " internal.fingerprint(template) from staged_facts as s"
                " anti join internal.facts_v1 as f on s.facts_id = f.facts_id"
            ).fetchall()

    def _insert_quarantine(self) -> None:
        if not self._rejected:
            return
        rows = [
            (
                progress.checkpoint.source_id,
                sanitize(progress.checkpoint.path),
                bad.line,
                bad.offset,
                bad.length,
                bad.why,
                sanitize(bad.detail) or None,
                _shown(bad.text),
                self._now,
            )
            for progress, bad in self._rejected
        ]
        register(self._connection, "staged_reject", pl.DataFrame(rows, schema=_QUARANTINE_SCHEMA, orient="row"))
        self._connection.execute("insert into internal.quarantine_v1 select * from staged_reject").fetchall()

    def _save_sources(self) -> None:
        """Checkpoints replace the former ones, figures add up."""
        rows: list[dict[str, Any]] = []
        for progress in self._touched.values():
            checkpoint, saved = progress.checkpoint, progress.saved
            gained = {name: getattr(progress.tally, name) - getattr(saved, name) for name in Tally.__slots__}
            rows.append(
                {
                    "source_id": checkpoint.source_id,
                    "path": checkpoint.path,
                    "format": checkpoint.format,
                    "status": progress.status,
                    "detail": progress.detail,
                    "codec": progress.codec,
                    "generation": checkpoint.generation,
                    "fingerprint": checkpoint.fingerprint,
                    "fingerprint_length": checkpoint.fingerprint_length,
                    "mark": checkpoint.mark,
                    "mark_length": checkpoint.mark_length,
                    "read_bytes": checkpoint.offset,
                    "read_lines": checkpoint.lines,
                    "line_open": checkpoint.line_open,
                    "size": checkpoint.size,
                    "mtime_ns": checkpoint.mtime_ns,
                    "state": _json.encode(checkpoint.state or {}).decode(),
                    **gained,
                    "pending_bytes": progress.pending_bytes,
                    "first_ingested_at": self._now,
                    "last_ingested_at": self._now,
                }
            )
            saved.add(Tally(**gained))
        register(self._connection, "staged_source", pl.DataFrame(rows, schema=_SOURCE_SCHEMA))
        self._connection.execute(_UPDATE_SOURCES).fetchall()
        self._connection.execute(_INSERT_SOURCES).fetchall()


_SUMMED = tuple(Tally.__slots__)
_SOURCE_SCHEMA: dict[str, Any] = {
    "source_id": pl.Int64,
    **dict.fromkeys(("path", "format", "status", "detail", "codec"), pl.String),
    "generation": pl.Int32,
    "fingerprint": pl.String,
    "fingerprint_length": pl.Int64,
    "mark": pl.String,
    **dict.fromkeys(("mark_length", "read_bytes", "read_lines"), pl.Int64),
    "line_open": pl.Boolean,
    **dict.fromkeys(("size", "mtime_ns"), pl.Int64),
    "state": pl.String,
    **dict.fromkeys((*_SUMMED, "pending_bytes"), pl.Int64),
    **dict.fromkeys(("first_ingested_at", "last_ingested_at"), pl.Datetime("us")),
}
_UPDATE_SOURCES = (
    "update internal.source_v1 as t set "  # noqa: S608 - names from this file alone
    + ", ".join(
        f"{name} = {f't.{name} + ' if name in _SUMMED else ''}s.{name}"
        for name in _SOURCE_SCHEMA
        if name not in {"source_id", "first_ingested_at"}
    )
    + " from staged_source as s where t.source_id = s.source_id"
)
_INSERT_SOURCES = (
    f"insert into internal.source_v1 ({', '.join(_SOURCE_SCHEMA)}) "  # noqa: S608 - as above
    "select s.* from staged_source as s anti join internal.source_v1 as k on s.source_id = k.source_id"
)

_EVENT_SCHEMA: dict[str, Any] = {
    "event_id": pl.String,
    "type": pl.String,
    "occurred_at": pl.Datetime("us"),
    "session_id": pl.String,
    "schema_version": pl.Int32,
    "writer": pl.String,
    "seq": pl.Int64,
    "host": pl.String,
    "time_source": pl.String,
    "payload": pl.String,
    "facts_id": pl.String,
    "source_format": pl.String,
    "source_path": pl.String,
    "source_line": pl.Int64,
    "ingested_at": pl.Datetime("us"),
}
_QUARANTINE_SCHEMA: dict[str, Any] = {
    "source_id": pl.Int64,
    "source_path": pl.String,
    "line": pl.Int64,
    "byte_offset": pl.Int64,
    "byte_length": pl.Int64,
    "why": pl.String,
    "detail": pl.String,
    "text": pl.String,
    "ingested_at": pl.Datetime("us"),
}


def _without_facts(payload: Mapping[str, Any], facts: dict[str, str]) -> tuple[str, str | None]:
    """The payload as JSON, its facts taken out and kept once, under the id that follows from them."""
    found = payload.get("facts")
    if not isinstance(found, Mapping) or not found:
        return _json.encode(payload).decode(), None
    text = _json.encode(found).decode()
    facts_id = derived_id("facts", text)
    facts[facts_id] = text
    return _json.encode({key: value for key, value in payload.items() if key != "facts"}).decode(), facts_id


def _shown(text: bytes) -> str:
    clean: str = sanitize(text.decode("utf-8", "replace"))
    return clean if len(clean) <= KEPT_TEXT else f"{clean[:KEPT_TEXT]}[… cut]"
