"""Try quarantine again: after a fix, the same bytes of the same files may be events.

Each file is read again, as far as it had been read, into a throw-away store. Events out of its
rejects move over in one transaction that takes the rejects out of quarantine, so that a line still
counts as one of five things.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.events import Event, EventLog, Origin
from analyzer.events.appending.writer import event_line
from analyzer.events.model import new_id
from analyzer.events.times import now
from analyzer.importers import BY_NAME
from analyzer.store.db.connection import connect, store_errors, transaction
from analyzer.store.db.engine import Connection, execute
from analyzer.store.db.frames import ask, register, sql
from analyzer.store.db.location import MEMORY
from analyzer.store.db.tables.schema import leave_out_told_twice
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import lengths_of
from analyzer.store.ingest.run import checkpoints, ingest, next_moment
from analyzer.store.ingest.statements import OTHER_CONTENT
from analyzer.store.journal import open_journal, record_all
from analyzer.store.upkeep.prune import horizon_of

if TYPE_CHECKING:
    import polars as pl

_FATES = (
    ("quarantined", "event_lines", "skipped", "duplicates"),
    ("quarantined_bytes", "event_bytes", "skipped_bytes", "duplicate_bytes"),
)


@dataclass(slots=True)
class QuarantineRetry:
    """The figures of quarantined lines that were read again."""

    tried: int = 0
    """Rejects that were read again."""
    mended: int = 0
    """Rejects of these that can be read now, and have left quarantine."""
    events: int = 0
    """New events that were read out of these rejects."""
    remaining: int = 0
    """Rejects still in quarantine, including those that could not be read again."""
    gone: list[str] = field(default_factory=list)
    """Files that are no longer there, or hold something else now."""
    pruned: int = 0
    """New events that are older than what the store keeps, and were left out."""
    unjudged: int = 0
    """Distinct facts that were not judged, as in the result of an ingest."""

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return {"schema": "analyzer.quarantine-retry/1", **asdict(self)}


def retry(connection: Connection, *, store_path: str) -> QuarantineRetry:
    """Read every reject again whose file is still there.

    Raises:
        StoreError: the store or its journal cannot be written; what was mended before is kept.
    """
    result = QuarantineRetry()
    held = execute(
        connection, "select source_id, count(*) from internal.quarantine_v1 group by source_id order by source_id"
    )
    by_id = {item.source_id: item for item in checkpoints(connection)}
    with open_journal(store_path) as journal, store_errors():
        for source_id, count in held:
            result.remaining += count
            checkpoint = by_id[source_id]
            if not checkpoint.is_there():
                result.gone.append(checkpoint.path)
                continue
            with closing(connect(MEMORY, read_only=False)) as trial:
                ingest(trial, [checkpoint.path], limits={checkpoint.path: checkpoint.offset})
                tried, mended, events = _mend(connection, trial, journal, checkpoint)
            result.tried += tried
            result.mended += mended
            result.events += events
    result.remaining -= result.mended
    return result


def _mend(
    connection: Connection, trial: Connection, journal: EventLog | None, checkpoint: SourceCheckpoint
) -> tuple[int, int, int]:
    """Move rejects of a source that can be read now into the store as events, out of what a trial has read.

    Return the numbers of rejects that were tried and mended, and of new events.
    """
    read = execute(trial, "select format, read_bytes from internal.source_v1")
    if not read or read[0][0] != checkpoint.format:
        return 0, 0, 0
    # Frames, as there may be millions of either.
    rejects = ask(
        connection,
        "select line, byte_offset, byte_length from internal.quarantine_v1 where source_id = $1",
        [checkpoint.source_id],
    )
    broken = ask(trial, "select distinct byte_offset from internal.quarantine_v1")
    register(connection, "staged_event", ask(trial, "from internal.event_v1"))
    # Lines whose event has the id of a stored event with other content stay.
    taken = ask(
        connection,
        sql(
            "select distinct r.source_line as line from staged_event as r"
            " join internal.event_v1 as f using (event_id)"
            " where 'analyzer' in (r.source_format, f.source_format) and {other_content}",
            other_content=OTHER_CONTENT,
        ),
    )
    whole = rejects.filter(rejects["byte_offset"] + rejects["byte_length"] <= read[0][1])
    mended = whole.join(broken, on="byte_offset", how="anti").join(taken, on="line", how="anti")
    if mended.is_empty():
        return rejects.height, 0, 0
    # The events of the whole file that the store lacks come out of the rejects.
    events = ask(
        connection,
        "from staged_event anti join internal.event_v1 using (event_id) where occurred_at >= coalesce($1, occurred_at)",
        [horizon_of(connection)],
    )
    if journal is not None and not events.is_empty() and not BY_NAME[checkpoint.format].native:
        record_all(journal, map(event_line, _translated(trial, events["event_id"].to_list())))
    register(connection, "staged_event", events)
    register(connection, "staged_facts", ask(trial, "from internal.facts_v1"))
    register(connection, "staged_mended", mended)
    with transaction(connection):
        rows = "select * replace ($1::timestamp as ingested_at) from staged_event"
        execute(connection, f"insert into internal.event_v1 by name {rows}", [next_moment(connection)])
        leave_out_told_twice(connection, "staged_event")
        execute(
            connection,
            "insert into internal.facts_v1 by name from staged_facts as s"
            " semi join staged_event as e on s.facts_id = e.facts_id"
            " anti join internal.facts_v1 as f on s.facts_id = f.facts_id",
        )
        execute(
            connection,
            "delete from internal.quarantine_v1 where source_id = $1"
            " and byte_offset in (select byte_offset from staged_mended)",
            [checkpoint.source_id],
        )
        _count(connection, trial, checkpoint, mended["line"].to_list(), events)
    return rejects.height, mended.height, events.height


def _translated(trial: Connection, ids: list[str]) -> Iterator[Event]:
    rows = execute(
        trial,
        "select type, occurred_at, session_id, payload, event_id, schema_version, time_source, host, source_format,"
        " source_path, source_line from events where event_id in (select unnest($1))"
        " order by source_line, event_id",
        [ids],
    )
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


def _count(
    connection: Connection, trial: Connection, checkpoint: SourceCheckpoint, lines: list[int], events: pl.DataFrame
) -> None:
    """Count the lines, which are no longer in quarantine, as one of the other four kinds."""
    with Input(checkpoint.path) as source:
        sizes = lengths_of(source, set(lines))
    fresh = set(events["source_line"].to_list()) & sizes.keys()
    in_trial = execute(trial, "select skipped, skipped_bytes from internal.source_v1")[0]
    # What is neither new nor skipped is a duplicate; lines and bytes are split alike.
    moved = (len(sizes), sum(sizes.values())), (len(fresh), sum(sizes[line] for line in fresh))
    for (bad, new, skipped, repeated), total, gained, trial_skipped in zip(_FATES, *moved, in_trial, strict=True):
        execute(
            connection,
            sql(
                "update internal.source_v1 set {bad} = {bad} - $2, {new} = {new} + $3,"
                " {skipped} = {skipped} + least(greatest($4 - {skipped}, 0), $2 - $3),"
                " {repeated} = {repeated} + $2 - $3 - least(greatest($4 - {skipped}, 0), $2 - $3)"
                " where source_id = $1",
                bad=bad,
                new=new,
                skipped=skipped,
                repeated=repeated,
            ),
            [checkpoint.source_id, total, gained, trial_skipped],
        )
    execute(
        connection,
        "update internal.source_v1 set events = events + $2, last_ingested_at = $3, batch_id = $4 where source_id = $1",
        [checkpoint.source_id, events.height, now(), new_id()],
    )
