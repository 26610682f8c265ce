"""Prune: delete events from before a day for good, also for rebuilds and late logs.

The day is in the journal before anything is deleted. Decisions stay. Files go last, and only parts
of our own event log that are finished, wholly read, and wholly older.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from analyzer.errors import InputError, StoreError, system_text
from analyzer.events import Event, EventLog
from analyzer.events.appending.writer import event_line
from analyzer.events.times import EPOCH, format_time
from analyzer.store.db.connection import store_errors, transaction
from analyzer.store.db.engine import Connection, execute, first_value
from analyzer.store.db.frames import sql
from analyzer.store.db.location import kept, on_disk, sync
from analyzer.store.db.tables.schema import remember, setting
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import events_in
from analyzer.store.ingest.run import checkpoints
from analyzer.store.journal import DECIDED, DECISIONS, decide_all, finished, journal_of, part_day, parts_of, record_all

HORIZON = "horizon"
"""Key under which a store keeps the moment before which it holds nothing."""


@dataclass(slots=True)
class Prune:
    """The figures of what a prune deletes, or would delete."""

    before: datetime
    """Naive UTC; events before it go."""
    done: bool
    """False for a dry run."""
    events: int = 0
    quarantined: int = 0
    """Rejects of files that were last changed before that moment."""
    files: list[str] = field(default_factory=list)
    """Finished parts of event logs and of the journal."""
    file_bytes: int = 0
    kept_files: list[str] = field(default_factory=list)
    """Parts from before that stay, each with the reason."""

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return {"schema": "analyzer.prune/1", **asdict(self), "before": format_time(self.before)}


def prune(
    connection: Connection,
    before: datetime,
    *,
    store_path: str,
    journal: EventLog | None,
    files: bool,
    dry_run: bool,
) -> Prune:
    """Delete events from before a moment.

    With `files` also parts of logs and journal with no others.

    Raises:
        StoreError: journal, store or a file cannot be written; what was deleted by then stays deleted.
    """
    result = Prune(before, done=not dry_run)
    with store_errors():
        result.events, result.quarantined = count_old(connection, before)
        native, parts = _old_parts(connection, before, store_path, result) if files else ([], [])
        if dry_run:
            return result
        with transaction(connection):
            move_horizon(connection, journal, before)
            apply_horizon(connection)
            gone = [checkpoint.source_id for checkpoint in native]
            execute(
                connection,
                "update internal.source_v1 set status = 'vanished' where source_id in (select unnest($1))",
                [gone],
            )
    try:
        _delete(native, parts, journal)
    except OSError as error:
        raise StoreError(
            f"{error.filename or 'a part'} cannot be deleted: {system_text(error)}", "run it again"
        ) from None
    return result


def move_horizon(connection: Connection, journal: EventLog | None, before: datetime) -> None:
    """Move the horizon to a moment (naive UTC) if it was earlier, and record the decision."""
    former = horizon_of(connection)
    if former is None or before > former:
        decide_all(connection, journal, [("history.pruned", {"before": format_time(before)})])
    set_horizon(connection, before)


def horizon_of(connection: Connection) -> datetime | None:
    """Return the moment before which this store holds nothing; None if it was never pruned."""
    moment = setting(connection, HORIZON)
    return None if moment is None else datetime.fromisoformat(moment)


def apply_horizon(connection: Connection) -> int:
    """Delete rows from before the horizon, as a late log brings them; return the number of events."""
    before = horizon_of(connection)
    if before is None or not any(count_old(connection, before)):
        return 0
    deleting = "delete from internal.{table} where {old}"
    deleted = first_value(connection, sql(deleting, table="event_v1", old=OLD_EVENTS), [before])
    execute(connection, sql(deleting, table="quarantine_v1", old=_OLD_REJECTS), [nanoseconds(before)])
    execute(
        connection,
        "delete from internal.facts_v1 where facts_id not in"
        " (select facts_id from internal.event_v1 where facts_id is not null)",
    )
    execute(
        connection, "delete from internal.verdict_v1 where facts_id not in (select facts_id from internal.facts_v1)"
    )
    return int(deleted)


def restore_horizon(connection: Connection) -> None:
    """Set the horizon from the journal's decisions, in a store that is made again, and apply it."""
    last = "select max(decided[1].pruned_before) from internal.event_v1 where type = 'history.pruned' and {decided}"
    if (before := first_value(connection, sql(last, decided=DECIDED))) is not None:
        set_horizon(connection, before)
    apply_horizon(connection)


OLD_EVENTS = f"occurred_at < $1 and not ({DECIDED} and type in ({', '.join(repr(name) for name in DECISIONS)}))"
_OLD_REJECTS = "source_id in (select source_id from internal.source_v1 where mtime_ns >= 0 and mtime_ns < $1)"
"""By the file's own time, which a rebuild sees again; only the store knows when it met a line."""


def count_old(connection: Connection, before: datetime) -> tuple[int, int]:
    """Count the events before a moment (naive UTC), and the rejects of files as old."""
    count = "select count(*) from internal.{table} where {old}"
    rejects = first_value(connection, sql(count, table="quarantine_v1", old=_OLD_REJECTS), [nanoseconds(before)])
    return first_value(connection, sql(count, table="event_v1", old=OLD_EVENTS), [before]), rejects


def nanoseconds(moment: datetime) -> int:
    """Convert a moment (naive UTC) to a file time: nanoseconds since 1970."""
    return int((moment - EPOCH).total_seconds()) * 10**9


def set_horizon(connection: Connection, before: datetime) -> None:
    """Move the horizon to a moment (naive UTC) if it was earlier."""
    latest = max(before, horizon_of(connection) or before)
    remember(connection, **{HORIZON: latest.isoformat()})


def _old_parts(
    connection: Connection, before: datetime, store_path: str, result: Prune
) -> tuple[list[SourceCheckpoint], list[str]]:
    """Find the sources and journal parts whose files may go; list the others in `kept_files`."""
    native: list[SourceCheckpoint] = []
    rejects = {row[0] for row in execute(connection, "select distinct source_id from internal.quarantine_v1")}
    parts: list[str] = []
    logs = [(item.path, item) for item in checkpoints(connection) if item.format == "analyzer"]
    for path, checkpoint in [*logs, *((part, None) for part in parts_of(journal_of(store_path) or ""))]:
        day = part_day(path)
        if day is None or day >= before.date() or not os.path.isfile(on_disk(path)):
            continue
        why = _why_kept(path, before)
        if why is None and checkpoint is not None:
            if checkpoint.source_id in rejects:
                why = "lines of it are in quarantine"
            elif not _wholly_read(checkpoint):
                why = "not wholly read"
        if why is not None:
            result.kept_files.append(f"{path}: {why}")
        elif checkpoint is not None:
            native.append(checkpoint)
        else:
            parts.append(path)
    result.files = [*(item.path for item in native), *map(kept, parts)]
    result.file_bytes = sum(os.path.getsize(on_disk(path)) for path in result.files)
    return native, parts


def _why_kept(path: str, before: datetime) -> str | None:
    """Return why a part has to stay; None if everything in it is older."""
    try:
        with finished(on_disk(path)) as nobody_writes:
            if not nobody_writes:
                return "a process still has it open"
            for event in events_in(path):
                if not isinstance(event, Event):
                    return "holds lines that cannot be read"
                if event.occurred_at >= before and event.type not in DECISIONS:
                    return "holds later events"
    except (InputError, OSError) as error:
        return f"cannot be read: {system_text(error)}"
    return None


def _wholly_read(checkpoint: SourceCheckpoint) -> bool:
    with Input(checkpoint.path) as source:
        return checkpoint.status == "read" and checkpoint.offset == source.size and checkpoint.fits(source)


def _delete(native: list[SourceCheckpoint], parts: list[str], journal: EventLog | None) -> None:
    """Delete files that nobody writes to, after moving their decisions to the end of the journal."""
    for path in parts:
        kept = [event for event in events_in(path) if isinstance(event, Event) and event.type in DECISIONS]
        assert journal is not None  # its own parts are among the files
        record_all(journal, map(event_line, kept))
    for path in [*(on_disk(item.path) for item in native), *parts]:
        with contextlib.suppress(FileNotFoundError), finished(path) as nobody_writes:
            if nobody_writes:
                os.unlink(path)
        sync(os.path.dirname(os.path.abspath(path)))
