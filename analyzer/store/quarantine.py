"""Quarantine tried again: after a fix, the same bytes of the same files may be events now.

Each file is read once more, as far as it had been read, into a throw-away store; what came out of its rejects there
moves over in one transaction with their leaving quarantine, so that a line is one of five things still.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

import duckdb
import msgspec
import polars as pl

from analyzer.errors import InputError, StoreError
from analyzer.events import Event, EventLog, Origin
from analyzer.events.times import now
from analyzer.importers import BY_NAME
from analyzer.store.blocks import lengths_of
from analyzer.store.database import connect, query_errors, transaction
from analyzer.store.frames import register, to_frame
from analyzer.store.identity import Checkpoint
from analyzer.store.ingest import checkpoints, ingest, open_journal
from analyzer.store.inputs import Input
from analyzer.store.lock import MEMORY
from analyzer.store.prune import horizon_of

_FATES = (
    ("quarantined", "event_lines", "skipped", "duplicates"),
    ("quarantined_bytes", "event_bytes", "skipped_bytes", "duplicate_bytes"),
)


@dataclass(slots=True)
class Retry:
    """What became of the rejects."""

    tried: int = 0
    """Stretches that were read again."""
    mended: int = 0
    """Of these the ones that can be read now, and have left quarantine."""
    events: int = 0
    """New events out of them."""
    remaining: int = 0
    """Stretches still in quarantine, those that could not be read again included."""
    gone: list[str] = field(default_factory=list)
    """Files that are no longer there, or hold something else now."""
    pruned: int = 0
    """Of the new events those that are older than what the store keeps: they were left out."""
    unjudged: int = 0
    """As of `analyzer ingest`."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"schema": "analyzer.quarantine-retry/1", **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Reject:
    """One row of quarantine."""

    source_id: int
    line: int
    offset: int
    length: int


def retry(connection: duckdb.DuckDBPyConnection, *, store_path: str) -> Retry:
    """Read every reject again whose file is still there.

    Raises:
        StoreError: the store or its journal cannot be written; what was mended before is kept.
    """
    result = Retry()
    rows = connection.execute(
        "select source_id, line, byte_offset, byte_length from internal.quarantine_v1 order by source_id, byte_offset"
    ).fetchall()
    known = {item.source_id: item for item in checkpoints(connection)}
    with open_journal(store_path) as journal, query_errors():
        for source_id, group in groupby((_Reject(*row) for row in rows), key=lambda item: item.source_id):
            checkpoint = known[source_id]
            if not _still_there(checkpoint):
                result.gone.append(checkpoint.path)
                continue
            with closing(connect(MEMORY, read_only=False)) as trial:
                ingest(trial, [checkpoint.path], limits={checkpoint.path: checkpoint.offset})
                _Source(connection, trial, journal, checkpoint).mend(list(group), result)
    result.remaining = len(rows) - result.mended
    return result


def _still_there(checkpoint: Checkpoint) -> bool:
    try:
        with Input(checkpoint.path) as source:
            return checkpoint.fits(source)
    except InputError:
        return False


class _Source:
    """One source, and what reading it again gave."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        trial: duckdb.DuckDBPyConnection,
        journal: EventLog | None,
        checkpoint: Checkpoint,
    ) -> None:
        self._connection, self._trial, self._journal, self._checkpoint = connection, trial, journal, checkpoint

    def mend(self, rejects: list[_Reject], result: Retry) -> None:
        """Move over what can be read now."""
        read = self._trial.execute("select format, read_bytes from internal.source_v1").fetchall()
        if not read or read[0][0] != self._checkpoint.format:
            return
        result.tried += len(rejects)
        broken = {row[0] for row in self._trial.execute("select byte_offset from internal.quarantine_v1").fetchall()}
        mended = [item for item in rejects if item.offset not in broken and item.offset + item.length <= read[0][1]]
        if not mended:
            return
        events = self._new_events()
        self._write_journal(events["event_id"].to_list())
        with transaction(self._connection):
            self._insert(events)
            self._take_out(mended)
            self._count([item.line for item in mended], events)
        result.mended += len(mended)
        result.events += events.height

    def _new_events(self) -> pl.DataFrame:
        """Events of the whole file that the store has not; it had read all of it, so they come out of the rejects."""
        found = to_frame(self._trial.sql("from internal.event_v1"))
        register(self._connection, "staged_event", found.select("event_id"))
        rows = self._connection.execute(
            "select event_id from staged_event anti join internal.event_v1 using (event_id)"
        ).fetchall()
        new = found.filter(pl.col("event_id").is_in([row[0] for row in rows]))
        horizon = horizon_of(self._connection)
        return new if horizon is None else new.filter(pl.col("occurred_at") >= horizon)

    def _write_journal(self, ids: list[str]) -> None:
        if self._journal is None or not ids or BY_NAME[self._checkpoint.format].native:
            return
        written = all(self._journal.record(event) is not None for event in self._derived(ids))
        if not written or not self._journal.sync():
            raise StoreError(
                f"the journal in {self._journal.folder} cannot be written", "free space, or check its permissions"
            )

    def _derived(self, ids: list[str]) -> Iterator[Event]:
        rows = self._trial.execute(
            "select type, occurred_at, session_id, payload, event_id, schema_version, time_source, host, source_format,"
            " source_path, source_line from events where event_id in (select unnest($1))"
            " order by source_line, event_id",
            [ids],
        ).fetchall()
        for kind, moment, session, payload, event_id, version, time_source, host, *place in rows:
            yield Event(
                kind,
                moment,
                session,
                msgspec.json.decode(payload),
                event_id,
                version,
                time_source=time_source,
                origin=Origin(*place),
                extra={} if host is None else {"_meta": {"host": host}},
            )

    def _insert(self, events: pl.DataFrame) -> None:
        run = self._connection.execute
        register(self._connection, "staged_event", events.with_columns(ingested_at=pl.lit(now(), pl.Datetime("us"))))
        run("insert into internal.event_v1 by name from staged_event").fetchall()
        register(self._connection, "staged_facts", to_frame(self._trial.sql("from internal.facts_v1")))
        run(
            "insert into internal.facts_v1 by name from staged_facts as s"
            " semi join staged_event as e on s.facts_id = e.facts_id"
            " anti join internal.facts_v1 as f on s.facts_id = f.facts_id"
        ).fetchall()

    def _take_out(self, mended: list[_Reject]) -> None:
        self._connection.execute(
            "delete from internal.quarantine_v1 where source_id = $1 and byte_offset in (select unnest($2))",
            [self._checkpoint.source_id, [item.offset for item in mended]],
        ).fetchall()

    def _count(self, lines: list[int], events: pl.DataFrame) -> None:
        """The lines are no longer in quarantine but one of the other four."""
        with Input(self._checkpoint.path) as source:
            sizes = lengths_of(source, set(lines))
        fresh = set(events["source_line"].to_list()) & sizes.keys()
        found = self._trial.execute("select skipped, skipped_bytes from internal.source_v1").fetchall()[0]
        # What is neither new nor skipped is a duplicate; lines and bytes are split alike.
        moved = (len(sizes), sum(sizes.values())), (len(fresh), sum(sizes[line] for line in fresh))
        for (bad, new, skipped, repeated), total, gained, known in zip(_FATES, *moved, found, strict=True):
            self._connection.execute(
                f"update internal.source_v1 set {bad} = {bad} - $2, {new} = {new} + $3,"  # noqa: S608 - named above
                f" {skipped} = {skipped} + least(greatest($4 - {skipped}, 0), $2 - $3),"
                f" {repeated} = {repeated} + $2 - $3 - least(greatest($4 - {skipped}, 0), $2 - $3)"
                " where source_id = $1",
                [self._checkpoint.source_id, total, gained, known],
            ).fetchall()
        self._connection.execute(
            "update internal.source_v1 set events = events + $2, last_ingested_at = $3 where source_id = $1",
            [self._checkpoint.source_id, events.height, now()],
        ).fetchall()
