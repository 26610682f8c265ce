"""A sealed batch → the store, in one transaction: events, quarantine, accounting and checkpoints, or nothing.

Derived events reach the journal before the store: after a crash in between they are in the journal twice under the same
ids, which is harmless, and never in the store alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb
import msgspec
import polars as pl

from analyzer.errors import StoreError
from analyzer.events import EventLog
from analyzer.events.model import SCHEMA_VERSION
from analyzer.events.payloads import EVENT_TYPES
from analyzer.events.sanitize import sanitize
from analyzer.store.batch import KEPT_TEXT, Rejected, Sealed, SourceChange
from analyzer.store.database import transaction
from analyzer.store.frames import register
from analyzer.store.tally import Tally

_json = msgspec.json.Encoder()
_KNOWN_TYPES = ", ".join(f"'{name}'" for name in sorted(EVENT_TYPES))
_FACTS_ID = "case when facts is not null then md5(facts) end"


class Writer:
    """Applies batches to a connection."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        journal: EventLog | None,
        now: datetime,
        former: Writer | None = None,
    ) -> None:
        """`former` wrote to a connection that is gone; what it knows of a batch on its way goes on here."""
        self._connection = connection
        self._journal = journal
        self._now = now
        self._tallies: dict[int, Tally] = former._tallies if former else {}
        self._recorded: set[str] = former._recorded if former else set()

    def apply(self, batch: Sealed) -> None:
        """Commit the batch, and add its figures to those of its sources.

        Raises:
            duckdb.Error: it may be in the store or not; `holds` tells.
            StoreError: the journal or the store did not take it; nothing of it is in the store.
            AccountingError: lines or bytes do not add up; nothing of it is in the store.
        """
        conflicts = self._prepare(batch)
        self._write_journal(batch)
        with transaction(self._connection):
            self._write(batch, conflicts)
        if not self.holds(batch):
            raise StoreError("the store did not keep the batch", "check the disk, then run the same command again")
        self.settle(batch)

    def rehearse(self, batch: Sealed) -> None:
        """Everything that `apply` does to the database, without keeping any of it.

        Raises:
            duckdb.Error: the database fails on it.
        """
        conflicts = self._prepare(batch, settle=False)
        self._connection.execute("begin")
        self._write(batch, conflicts)
        self._connection.execute("rollback")

    def settle(self, batch: Sealed) -> None:
        """Add the figures of a batch that is in the store to those of its sources."""
        for change in batch.sources:
            change.progress.tally.add(self._tallies[change.checkpoint.source_id])
        self._recorded.clear()

    def _prepare(self, batch: Sealed, *, settle: bool = True) -> list[Rejected]:
        register(self._connection, "staged_event", batch.events)
        conflicts = self._find_repeated(batch)
        self._tallies = self._count(batch, settle=settle)
        return conflicts

    def _write(self, batch: Sealed, conflicts: list[Rejected]) -> None:
        self._insert_events(batch)
        self._insert_quarantine([*batch.rejected, *conflicts])
        for source_id in batch.forgotten:
            self._connection.execute("delete from internal.source_v1 where source_id = $1", [source_id])
        for change in batch.sources:
            if change.retracted_bytes:
                self._retract(change.checkpoint.source_id, change.retracted_bytes)
        self._save_sources(batch, self._tallies)

    def _retract(self, source_id: int, size: int) -> None:
        """Take a torn last line out of quarantine: it is read again, with what stands behind it by now."""
        self._connection.execute(
            "delete from internal.quarantine_v1 where why = 'torn_tail' and source_id = $1 and byte_offset ="
            " (select read_bytes - $2 from internal.source_v1 where source_id = $1)",
            [source_id, size],
        )
        self._connection.execute(
            "update internal.source_v1 set lines = lines - 1, quarantined = quarantined - 1, bytes = bytes - $2,"
            " quarantined_bytes = quarantined_bytes - $2 where source_id = $1",
            [source_id, size],
        )

    def holds(self, batch: Sealed) -> bool:
        """Whether the store has every checkpoint of the batch, and what it has of these sources adds up.

        DuckDB's COMMIT can return without an error and without having committed, and fail after it has: look.
        """
        register(self._connection, "staged_source", pl.DataFrame(_source_rows(batch, {}, self._now), _SOURCE_SCHEMA))
        rows = self._connection.execute(_CHECK_SOURCES).fetchall()
        return rows == [(len(batch.sources), True)]

    def _find_repeated(self, batch: Sealed) -> list[Rejected]:
        """Leaves the places of all events that are not new in the table `repeated`; those with other content."""
        connection = self._connection
        ids = batch.events["event_id"]
        bounds = [ids.min() or "", ids.max() or ""]
        connection.execute("create or replace temp table repeated (place ubigint, conflict boolean)")
        known = connection.execute(_COUNT_KNOWN, bounds).fetchall()[0][0] if batch.events.height else 0
        if not known and ids.n_unique() == batch.events.height:
            return []
        connection.execute(_FILL_REPEATED, bounds).fetchall()
        paths = {change.checkpoint.source_id: change.checkpoint.path for change in batch.sources}
        rows = connection.execute(
            "select source_id, line, byte_offset, byte_length, event_id, payload from staged_event"
            " semi join (from repeated where conflict) as r using (place) order by place"
        ).fetchall()
        return [
            Rejected(source, paths[source], line, offset, length, "conflict", f"id {event_id}"[:300], payload.encode())
            for source, line, offset, length, event_id, payload in rows
        ]

    def _count(self, batch: Sealed, *, settle: bool) -> dict[int, Tally]:
        """The full figures of each source in this batch.

        Raises:
            AccountingError: they do not add up.
        """
        bad = set(batch.bad_lines)
        tallies: dict[int, Tally] = {}
        for change in batch.sources:
            tallies[change.checkpoint.source_id] = tally = Tally()
            tally.add(change.gained)
        register(
            self._connection,
            "bad_line",
            pl.DataFrame(list(bad), schema={"source_id": pl.Int64, "line": pl.Int64}, orient="row"),
        )
        for row in self._connection.execute(_COUNT_LINES).fetchall():
            tally = tallies[row[0]]
            tally.events += row[1]
            tally.event_lines += row[2]
            tally.event_bytes += row[3]
            tally.duplicates += row[4]
            tally.duplicate_bytes += row[5]
            tally.quarantined += row[6]
            tally.quarantined_bytes += row[7]
        for change in batch.sources if settle else ():
            tallies[change.checkpoint.source_id].settle(change.checkpoint.path, native=change.progress.native)
        return tallies

    def _write_journal(self, batch: Sealed) -> None:
        if self._journal is None or not batch.derived:
            return
        repeated = {int(row[0]) for row in self._connection.execute("select place from repeated").fetchall()}
        for place, event in batch.derived.items():
            if place in repeated or event.id in self._recorded:
                continue
            if self._journal.record(event) is None:
                raise _unwritable(self._journal)
            # A second try of the same batch writes nothing twice.
            self._recorded.add(event.id)
        # The store's own commit is synced: it must not know of events that a power cut takes from the journal.
        if not self._journal.sync():
            raise _unwritable(self._journal)

    def _insert_events(self, batch: Sealed) -> None:
        # Without any rows, too: a statement that fails then is what is wrong, and no row is poison.
        self._connection.execute(_INSERT_EVENTS, [self._now]).fetchall()
        self._connection.execute(_INSERT_FACTS).fetchall()

    def _insert_quarantine(self, rejected: list[Rejected]) -> None:
        if not rejected:
            return
        rows = [
            (
                bad.source_id,
                sanitize(bad.path),
                bad.line,
                bad.offset,
                bad.length,
                bad.why,
                sanitize(bad.detail) or None,
                _shown(bad.text),
                self._now,
            )
            for bad in rejected
        ]
        register(self._connection, "staged_reject", pl.DataFrame(rows, schema=_QUARANTINE_SCHEMA, orient="row"))
        self._connection.execute("insert into internal.quarantine_v1 select * from staged_reject").fetchall()

    def _save_sources(self, batch: Sealed, tallies: dict[int, Tally]) -> None:
        """Checkpoints replace the former ones, figures add up."""
        frame = pl.DataFrame(_source_rows(batch, tallies, self._now), schema=_SOURCE_SCHEMA)
        register(self._connection, "staged_source", frame)
        self._connection.execute(_UPDATE_SOURCES).fetchall()
        self._connection.execute(_INSERT_SOURCES).fetchall()


def _unwritable(journal: EventLog) -> StoreError:
    return StoreError(f"the journal in {journal.folder} cannot be written", "free space, or check its permissions")


def _source_rows(batch: Sealed, tallies: dict[int, Tally], now: datetime) -> list[dict[str, Any]]:
    return [
        _source_row(change, tallies.get(change.checkpoint.source_id, Tally()), now) | {"batch_id": batch.batch_id}
        for change in batch.sources
    ]


def _source_row(change: SourceChange, tally: Tally, now: datetime) -> dict[str, Any]:
    checkpoint = change.checkpoint
    return {
        "source_id": checkpoint.source_id,
        "path": checkpoint.path,
        "format": checkpoint.format,
        "status": change.status,
        "detail": change.detail,
        "codec": change.progress.codec,
        "generation": checkpoint.generation,
        "fingerprint": checkpoint.fingerprint,
        "fingerprint_length": checkpoint.fingerprint_length,
        "mark": checkpoint.mark,
        "mark_length": checkpoint.mark_length,
        "read_bytes": checkpoint.offset,
        "read_lines": checkpoint.lines,
        "line_open": checkpoint.line_open,
        "torn_bytes": checkpoint.torn_bytes,
        "size": checkpoint.size,
        "mtime_ns": checkpoint.mtime_ns,
        "ctime_ns": checkpoint.ctime_ns,
        "state": _json.encode(checkpoint.state or {}).decode(),
        **tally.to_dict(),
        "pending_bytes": change.pending_bytes,
        "incident": checkpoint.incident,
        "incident_at": now if checkpoint.incident else None,
        "first_ingested_at": now,
        "last_ingested_at": now,
    }


def _shown(text: bytes) -> str:
    clean: str = sanitize(text.decode("utf-8", "replace"))
    return clean if len(clean) <= KEPT_TEXT else f"{clean[:KEPT_TEXT]}[… cut]"


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
    **dict.fromkeys(("torn_bytes", "size", "mtime_ns", "ctime_ns"), pl.Int64),
    "state": pl.String,
    **dict.fromkeys((*_SUMMED, "pending_bytes"), pl.Int64),
    "incident": pl.String,
    **dict.fromkeys(("incident_at", "first_ingested_at", "last_ingested_at"), pl.Datetime("us")),
    "batch_id": pl.String,
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
_KEPT = {"source_id", "first_ingested_at", "incident", "incident_at"}
_UPDATE_SOURCES = (
    "update internal.source_v1 as t set "  # noqa: S608 - names from this file alone
    + ", ".join(
        f"{name} = {f't.{name} + ' if name in _SUMMED else ''}s.{name}" for name in _SOURCE_SCHEMA if name not in _KEPT
    )
    # An incident stays on record; the first moment of the latest one counts.
    + ", incident = coalesce(s.incident, t.incident)"
    ", incident_at = case when s.incident is null or s.incident = t.incident then t.incident_at else s.incident_at end"
    " from staged_source as s where t.source_id = s.source_id"
)
_INSERT_SOURCES = (
    f"insert into internal.source_v1 ({', '.join(_SOURCE_SCHEMA)}) "  # noqa: S608 - as above
    "select s.* from staged_source as s anti join internal.source_v1 as k on s.source_id = k.source_id"
)
_CHECK_SOURCES = """
select
  count(*),
  coalesce(bool_and(
    t.lines = t.event_lines + t.duplicates + t.quarantined + t.blank + t.skipped
    and t.bytes = t.event_bytes + t.duplicate_bytes + t.quarantined_bytes + t.blank_bytes + t.skipped_bytes
    and t.bytes = t.read_bytes
    and t.lines = t.read_lines
  ), true)
from internal.source_v1 as t
inner join staged_source as s
  on t.source_id = s.source_id
  and t.batch_id = s.batch_id
  and t.read_bytes = s.read_bytes
"""

# Ids begin with their time, so that most of a large store lies outside of these bounds and is never looked at.
_COUNT_KNOWN = """
select count(*)
from internal.event_v1 as e
semi join staged_event as s
  on e.event_id = s.event_id
where e.event_id between $1 and $2
"""
_FILL_REPEATED = f"""
insert into repeated
with stored as (
  select e.event_id, e.type, e.occurred_at, e.session_id, e.payload, e.facts_id, e.source_format = 'analyzer' as own
  from internal.event_v1 as e
  semi join staged_event as s
    on e.event_id = s.event_id
  where e.event_id between $1 and $2
),

read as (
  select
    event_id,
    type,
    moment::timestamp as occurred_at,
    session_id,
    payload,
    {_FACTS_ID} as facts_id,
    source_format = 'analyzer' as own,
    place,
    row_number() over (partition by event_id order by place) as nth
  from staged_event
),

first as (
  from stored
  union all
  select * exclude (place, nth) from read anti join stored using (event_id) where nth = 1
)
select
  r.place,
  -- What is derived from a foreign log may be told differently by a later version; our own never changes.
  r.own and f.own and
    row(r.type, r.occurred_at, r.session_id, r.payload, r.facts_id)
    is distinct from row(f.type, f.occurred_at, f.session_id, f.payload, f.facts_id)
from read as r
inner join first as f
  on r.event_id = f.event_id
left join (select distinct event_id from stored) as k
  on r.event_id = k.event_id
where r.nth > 1 or k.event_id is not null
"""  # noqa: S608 - a constant of this file
_COUNT_LINES = """
with line as (
  select
    s.source_id,
    s.line,
    count(*) filter (r.place is null) as events,
    any_value(s.byte_length + s.newline_bytes) as bytes,
    coalesce(bool_or(r.conflict), false) as conflict
  from staged_event as s
  left join repeated as r
    on s.place = r.place
  group by s.source_id, s.line, case when s.line is null then s.place end
)
select
  l.source_id,
  sum(l.events),
  count(*) filter (whole and l.events > 0 and not l.conflict),
  coalesce(sum(l.bytes) filter (whole and l.events > 0 and not l.conflict), 0),
  count(*) filter (whole and l.events = 0 and not l.conflict),
  coalesce(sum(l.bytes) filter (whole and l.events = 0 and not l.conflict), 0),
  count(*) filter (whole and l.conflict),
  coalesce(sum(l.bytes) filter (whole and l.conflict), 0)
from (
  select l.*, l.line is not null and b.line is null as whole
  from line as l
  left join bad_line as b
    on l.source_id = b.source_id
    and l.line = b.line
) as l
group by l.source_id
"""
_INSERT_EVENTS = f"""
insert into internal.event_v1 (
  event_id, type, occurred_at, session_id, schema_version, writer, seq, dropped_before, host, time_source, recognised,
  payload, facts_id, source_format, source_path, source_line, ingested_at
)
select
  event_id,
  type,
  moment::timestamp,
  session_id,
  schema_version,
  writer,
  seq,
  dropped_before,
  host,
  time_source,
  schema_version between 1 and {SCHEMA_VERSION} and type in ({_KNOWN_TYPES}),
  payload,
  {_FACTS_ID},
  source_format,
  source_path,
  source_line,
  $1
from staged_event
anti join repeated using (place)
"""  # noqa: S608 - as above
_INSERT_FACTS = f"""
insert into internal.facts_v1
with new as (
  select s.facts_id, any_value(s.facts) as facts
  from (
    select {_FACTS_ID} as facts_id, facts
    from staged_event
    anti join repeated using (place)
    where facts is not null
  ) as s
  anti join internal.facts_v1 as f
    on s.facts_id = f.facts_id
  group by s.facts_id
)
select facts_id, facts, internal.template(internal.message(facts)) as template, internal.fingerprint(template)
from new
"""  # noqa: S608 - as above
