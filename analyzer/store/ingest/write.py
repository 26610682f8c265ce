"""Write sealed batches to the store, each in one transaction.

The lines of translated events reach the journal before the store: after a crash in between they are in the journal
twice under the same ids, which is harmless, and never only in the store.

Unless the disk fails, a batch ends up in the store once, or an error was raised. Whether a failed commit happened is
looked up, never guessed. Rows that the database fails on again and again go to quarantine as `poison`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.errors import FREE_SPACE, StoreError
from analyzer.events import EventLog
from analyzer.events.sanitize import sanitize
from analyzer.redaction import may_hold_secret
from analyzer.store.db.connection import first_line, transaction
from analyzer.store.db.engine import Connection, duckdb, execute, first_value
from analyzer.store.db.frames import frame_of, register, sql
from analyzer.store.db.tables.schema import leave_out_told_twice
from analyzer.store.ingest.batch import KEPT_TEXT, STORED, Progress, Rejected, SealedBatch, Tally, prefix_ids
from analyzer.store.ingest.statements import (
    CHECK_SOURCES,
    CLAIMED,
    COUNT_KNOWN,
    COUNT_LINES,
    FILL_CLAIMED,
    FILL_REPEATED,
    INSERT_EVENTS,
    INSERT_FACTS,
    INSERT_SOURCES,
    QUARANTINE_SCHEMA,
    RENAME_CLAIMED,
    SOURCE_SCHEMA,
    UPDATE_SOURCES,
)
from analyzer.store.journal import record_all

if TYPE_CHECKING:
    import polars as pl


Reopen = Callable[[], Connection]
MOST_POISON = 100
"""Most failing rows of one batch; if more fail, the rows are not the cause."""
_DEAD = duckdb.InternalException, duckdb.FatalException, duckdb.ConnectionException
_ROOM = duckdb.IOException, duckdb.OutOfMemoryException
_json = msgspec.json.Encoder()
_BAD_LINE = {"source_id": "Int64", "line": "Int64"}
_CHECKED = (
    *("source_id", "path", "format", "generation", "fingerprint", "fingerprint_length", "mark", "mark_length"),
    *("line_open", "torn_bytes", "size", "mtime_ns", "ctime_ns", "incident"),
)
"""The columns of a source with the names of its checkpoint's fields."""
_OF_LINES = (
    "events",
    "event_lines",
    "event_bytes",
    "duplicates",
    "duplicate_bytes",
    "quarantined",
    "quarantined_bytes",
)
"""The figures that `COUNT_LINES` gives of a source, in its order."""
_SEARCHED = 500
"""Texts that are searched for secrets at once."""


class Writer:
    """The writer of batches on one connection, which it opens again after an error that has made it useless."""

    def __init__(
        self,
        connection: Connection,
        journal: EventLog | None,
        now: datetime,
        *,
        reopen: Reopen | None = None,
        rereads: bool = False,
    ) -> None:
        """With `rereads` the lines of foreign logs that gave stored events count as those that gave them, not as
        duplicates: a rebuild reads the journal before the logs.
        """
        self._connection, self._journal, self._now = connection, journal, now
        self._reopen, self._rereads = reopen, rereads
        self._tallies: dict[int, Tally] = {}

    def commit(self, batch: SealedBatch | None) -> None:
        """Put a batch into the store, once, whatever fails on the way; rows that the database refuses are left out.

        Raises:
            StoreError: the store or its journal did not take it; nothing of it is in the store.
            AccountingError: its lines or bytes do not add up; nothing of it is in the store.
        """
        if batch is None:
            return
        error: duckdb.Error | None = None
        for _ in range(2):
            try:
                self._apply(batch)
            except duckdb.Error as failure:
                error = failure
                self._recover(failure)
                if self._holds(batch):
                    self._settle(batch)
                    return
            else:
                return
        # If a batch without rows fails, too, the rows are not the cause.
        if error is None or _has_no_room(error) or not self._is_taken(batch, batch.events.head(0)):
            raise _refusal(error)
        poison = list(islice(self._poison(batch, batch.events), MOST_POISON + 1))
        if len(poison) > MOST_POISON:
            raise StoreError("the store refused very many rows", "nothing of the batch was kept")
        try:
            self._apply(_without(batch, poison))
        except duckdb.Error as failure:
            self._recover(failure)
            raise _refusal(failure) from None

    def _apply(self, batch: SealedBatch) -> None:
        """Commit the batch, and add its figures to those of its sources.

        Raises:
            duckdb.Error: it may be in the store or not; `_holds` tells.
            StoreError, AccountingError: as `commit`.
        """
        conflicts = self._prepare(batch)
        if self._journal is not None and batch.event_lines is not None:
            repeated = [row[0] for row in execute(self._connection, "select place from repeated")]
            new = batch.events["place"].filter(~batch.events["place"].is_in(repeated))
            record_all(self._journal, batch.event_lines.gather(new).drop_nulls())
            batch.event_lines = None
        with transaction(self._connection):
            self._write(batch, conflicts)
        if not self._holds(batch):
            raise StoreError("the store did not keep the batch", "check the disk, then run the same command again")
        self._settle(batch)

    def _settle(self, batch: SealedBatch) -> None:
        """Add the figures of a batch that is in the store to those of its sources."""
        for change in batch.sources:
            change.tally.add(self._tallies[change.checkpoint.source_id])

    def _recover(self, error: duckdb.Error) -> None:
        """Make the connection usable again, whatever the error has done to it.

        Raises:
            StoreError: it cannot be.
        """
        with contextlib.suppress(duckdb.Error):
            self._connection.execute("rollback")
        if not isinstance(error, _DEAD):
            with contextlib.suppress(duckdb.Error):
                execute(self._connection, "select 1")
                return
        if self._reopen is None:
            raise _refusal(error)
        try:
            self._connection = self._reopen()
        except duckdb.Error as failure:
            raise _refusal(failure) from None

    def _is_taken(self, batch: SealedBatch, rows: pl.DataFrame) -> bool:
        """Say whether the store takes these rows of the batch; nothing of them is kept."""
        try:
            part = replace(batch, events=rows)
            conflicts = self._prepare(part, settle=False)
            self._connection.execute("begin")
            self._write(part, conflicts)
            self._connection.execute("rollback")
        except duckdb.Error as error:
            self._recover(error)
            return False
        return True

    def _poison(self, batch: SealedBatch, rows: pl.DataFrame) -> Iterator[int]:
        """Yield the places of the rows that fail by themselves, by halving."""
        if self._is_taken(batch, rows):
            return
        if rows.height == 1:
            yield rows["place"].item()
            return
        half = rows.height // 2
        yield from self._poison(batch, rows[:half])
        yield from self._poison(batch, rows[half:])

    def _prepare(self, batch: SealedBatch, *, settle: bool = True) -> list[Rejected]:
        register(self._connection, "staged_event", batch.events)
        conflicts = self._find_repeated(batch)
        self._tallies = self._count(batch, settle=settle)
        return conflicts

    def _write(self, batch: SealedBatch, conflicts: list[Rejected]) -> None:
        if first_value(self._connection, "select count(*) from claimed where place is null"):
            execute(self._connection, RENAME_CLAIMED)
        self._insert_events(batch)
        self._insert_quarantine([*batch.rejected, *conflicts])
        for table in ("source_v1", "quarantine_v1") if batch.forgotten else ():
            execute(
                self._connection,
                sql("delete from internal.{table} where source_id in (select unnest($1))", table=table),
                [batch.forgotten],
            )
        for change in batch.sources:
            if change.retracted_bytes:
                self._retract(change.checkpoint.source_id, change.retracted_bytes)
        self._save_sources(batch, self._tallies)

    def _retract(self, source_id: int, size: int) -> None:
        """Take a torn last line out of quarantine: it is read again, with what follows it by now."""
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

    def _holds(self, batch: SealedBatch) -> bool:
        """Say whether the store has every checkpoint of the batch, and its accounts add up.

        DuckDB's COMMIT can return without an error and without having committed, and fail after it has: look.
        """
        register(self._connection, "staged_source", frame_of(SOURCE_SCHEMA, _source_rows(batch, {}, self._now)))
        rows = execute(self._connection, CHECK_SOURCES)
        return rows == [(len(batch.sources), True)]

    def _find_repeated(self, batch: SealedBatch) -> list[Rejected]:
        """Fill the table `repeated` with the places of events that are not new.

        Return the conflicting ones.

        An id derived from a foreign record belongs to that record: an event of a log with this id gets another one.
        """
        connection = self._connection
        ids = batch.events["event_id"]
        bounds = [ids.min() or "", ids.max() or ""]
        connection.execute("create or replace temp table repeated (place ubigint, conflict boolean, is_origin boolean)")
        connection.execute("create or replace temp table claimed (event_id varchar, place ubigint)")
        stored = first_value(connection, COUNT_KNOWN, bounds) if batch.events.height else 0
        if not stored and ids.n_unique() == batch.events.height:
            return []
        execute(connection, FILL_CLAIMED, bounds)
        renamed = {int(row[0]) for row in execute(connection, "select place from claimed where place is not null")}
        if renamed:
            events = prefix_ids(batch.events, renamed, CLAIMED)
            register(connection, "staged_event", events)
            bounds = [events["event_id"].min() or "", events["event_id"].max() or ""]
        execute(connection, FILL_REPEATED, [*bounds, self._rereads])
        paths = {change.checkpoint.source_id: change.checkpoint.path for change in batch.sources}
        rows = execute(
            connection,
            "select source_id, line, byte_offset, byte_length, event_id, payload from staged_event"
            " semi join (from repeated where conflict) as r using (place) order by place",
        )
        return [
            Rejected(
                source, paths[source], line, offset, length, 0, "conflict", f"id {event_id}"[:300], payload.encode()
            )
            for source, line, offset, length, event_id, payload in rows
        ]

    def _count(self, batch: SealedBatch, *, settle: bool) -> dict[int, Tally]:
        """Count the full figures of each source in this batch.

        Raises:
            AccountingError: they do not add up.
        """
        tallies: dict[int, Tally] = {}
        for change in batch.sources:
            tallies[change.checkpoint.source_id] = tally = Tally()
            tally.add(change.gained)
        bad_lines = {(bad.source_id, bad.line): bad for bad in batch.rejected if bad.line}
        for bad in bad_lines.values():
            tallies[bad.source_id].quarantined += 1
            tallies[bad.source_id].quarantined_bytes += bad.length + bad.newline_bytes
        register(self._connection, "bad_line", frame_of(_BAD_LINE, list(bad_lines)))
        for source_id, *figures in execute(self._connection, COUNT_LINES):
            tallies[source_id].add(Tally(**dict(zip(_OF_LINES, figures, strict=True))))
        for change in batch.sources if settle else ():
            tallies[change.checkpoint.source_id].settle(change.checkpoint.path, native=change.native)
        return tallies

    def _insert_events(self, batch: SealedBatch) -> None:
        # Also without rows: if a statement fails even then, no row is poison.
        execute(self._connection, INSERT_EVENTS, [self._now])
        leave_out_told_twice(self._connection, "staged_event")
        execute(self._connection, INSERT_FACTS)

    def _insert_quarantine(self, rejected: list[Rejected]) -> None:
        if not rejected:
            return
        paths = {path: sanitize(path) for path in {bad.path for bad in rejected}}
        details = {detail: sanitize(detail) or None for detail in {bad.detail for bad in rejected}}
        columns = {
            "source_id": [bad.source_id for bad in rejected],
            "source_path": [paths[bad.path] for bad in rejected],
            "line": [bad.line for bad in rejected],
            "byte_offset": [bad.offset for bad in rejected],
            "byte_length": [bad.length for bad in rejected],
            "why": [bad.why for bad in rejected],
            "detail": [details[bad.detail] for bad in rejected],
            "text": _shown([bad.text for bad in rejected]),
            "ingested_at": [self._now] * len(rejected),
        }
        register(self._connection, "staged_reject", frame_of(QUARANTINE_SCHEMA, columns))
        execute(self._connection, "insert into internal.quarantine_v1 select * from staged_reject")

    def _save_sources(self, batch: SealedBatch, tallies: dict[int, Tally]) -> None:
        """Save the sources: a checkpoint replaces the former one, figures are added to the former
        ones.
        """
        frame = frame_of(SOURCE_SCHEMA, _source_rows(batch, tallies, self._now))
        register(self._connection, "staged_source", frame)
        execute(self._connection, UPDATE_SOURCES)
        execute(self._connection, INSERT_SOURCES)


def _source_rows(batch: SealedBatch, tallies: dict[int, Tally], now: datetime) -> list[dict[str, Any]]:
    return [
        _source_row(change, tallies.get(change.checkpoint.source_id, Tally()), now) | {"batch_id": batch.batch_id}
        for change in batch.sources
    ]


def _source_row(change: Progress, tally: Tally, now: datetime) -> dict[str, Any]:
    checkpoint = change.checkpoint
    return {
        **{name: getattr(checkpoint, name) for name in _CHECKED},
        "status": change.status,
        "detail": change.detail,
        "codec": change.codec,
        "read_bytes": checkpoint.offset,
        "read_lines": checkpoint.lines,
        "state": _json.encode(checkpoint.state or {}).decode(),
        **{name: getattr(tally, name) for name in STORED},
        "pending_bytes": change.pending_bytes,
        "incident_at": now if checkpoint.incident else None,
        "first_ingested_at": now,
        "last_ingested_at": now,
    }


def _shown(texts: list[bytes]) -> list[str]:
    """Return the texts as quarantine keeps them: redacted, and at most `KEPT_TEXT` characters each."""
    shown: list[str] = []
    for start in range(0, len(texts), _SEARCHED):
        chunk = [text.decode("utf-8", "replace") for text in texts[start : start + _SEARCHED]]
        # If the joined texts hold no secret, none of them does: one search, not many.
        clean = not may_hold_secret("\n".join(chunk).encode())
        shown += [text if clean and len(text) <= KEPT_TEXT else _shown_text(text) for text in chunk]
    return shown


def _shown_text(text: str) -> str:
    clean: str = sanitize(text)
    return clean if len(clean) <= KEPT_TEXT else f"{clean[:KEPT_TEXT]}[… cut]"


def _without(batch: SealedBatch, places: list[int]) -> SealedBatch:
    """Return the batch without these rows; their lines go to quarantine."""
    lost = batch.events["place"].is_in(places)
    paths = {change.checkpoint.source_id: change.checkpoint.path for change in batch.sources}
    rejected = [
        Rejected(
            row["source_id"],
            paths[row["source_id"]],
            row["line"] or 0,
            row["byte_offset"],
            row["byte_length"],
            row["newline_bytes"],
            "poison",
            f"id {row['event_id']}",
            row["payload"].encode(),
        )
        for row in batch.events.filter(lost).iter_rows(named=True)
    ]
    return replace(batch, events=batch.events.filter(~lost), rejected=[*batch.rejected, *rejected])


def _refusal(error: duckdb.Error | None) -> StoreError:
    message = first_line(error) if error is not None else "no reason given"
    no_room = error is not None and _has_no_room(error)
    hint = FREE_SPACE if no_room else "nothing of it was kept"
    return StoreError(f"the store refused the batch: {message}", hint)


def _has_no_room(error: duckdb.Error) -> bool:
    # A write that fails in a commit is reported as an error of the transaction.
    return isinstance(error, _ROOM) or "Could not write" in str(error)
