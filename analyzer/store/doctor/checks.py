"""Check what stores and folders have in common; a check is fine, worth a word, or wrong.

Other checks look at what the rows of a store say about its sources: loss, wrong clocks, damage,
age.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Literal

from analyzer.command_lines import TABLE, command_line
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.importers import FORMATS
from analyzer.readable import counted
from analyzer.store.db.engine import Connection, execute, first_value
from analyzer.store.db.frames import sql
from analyzer.store.db.location import on_disk
from analyzer.store.ingest.discover import STDIN
from analyzer.store.ingest.statements import CLAIMED
from analyzer.store.journal import DECIDED

State = Literal["ok", "note", "problem"]
SPARE_BYTES = 256 * 1024 * 1024
"""Free space below this counts as little, whatever the size of the store."""


@frozen
class Check:
    """One result of `analyzer doctor`: what was checked, the state and what to do."""

    name: str
    state: State
    said: str
    todo: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the fields by name."""
        return asdict(self)


def loose_modes(name: str, paths: Iterable[str]) -> Check:
    """Check that only the owner may access these files and folders, which quote error messages."""
    loose = [path for path in paths if stat.S_IMODE(os.stat(path).st_mode) & 0o077]
    if not loose:
        return Check(name, "ok", "only for their owner")
    return Check(name, "problem", f"others may read or write {listed(loose)}", "chmod go= them")


def space_check(folder: str, size: int) -> Check:
    """Check that the disk of a folder has room to make a store of so many bytes again."""
    free = shutil.disk_usage(folder).free
    message = f"{megabytes(free)} free, the store has {megabytes(size)}"
    if free < max(SPARE_BYTES, 2 * size):
        return Check("space", "problem", message, "free some: a rebuild needs the size of the store twice")
    return Check("space", "ok", message)


def ruleset_check(digest: str, *, at_hand: bool, store: str | None = None) -> Check:
    """Check that the rules of the active ruleset, given by its digest, can judge new errors."""
    if at_hand:
        return Check("ruleset", "ok", f"the rules of {digest}, the active one, are at hand")
    message = f"the rules of {digest}, the active one, are gone"
    again = command_line("reclassify", "--apply", "--rules", "FILE", store=store)
    return Check("ruleset", "problem", message, f"name them: {again}")


def listed(names: list[str], shown: int = 3) -> str:
    """Join the first few names, and say how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """Format a number of bytes as megabytes: `1.5 MB`."""
    return f"{size / 1e6:,.1f} MB"


AHEAD = timedelta(minutes=5)
"""An event further in the future than this shows that a clock is wrong."""
BACK = timedelta(minutes=5)
"""If the next event of a writer is earlier by more than this, its clock was set back."""
STALE = timedelta(days=7)
"""If nothing new came for so long, the check says so."""
UNFINISHED = timedelta(days=1)
"""A last line that has waited for so long is hardly ever written to its end."""
Asking = Callable[[str, Mapping[str, object]], Sequence[tuple[Any, ...]]]
"""Runs a statement over the views with its named parameters, and returns the rows in its order."""


def content_checks(ask: Asking, again: str, moment: datetime | None = None) -> Iterator[Check]:
    """Yield every check of the rows that needs no files of this machine.

    `again` is the command that reads the quarantine again; `moment` is naive UTC and replaces now.
    """
    at = moment or now()
    yield _gaps(ask)
    yield _future(ask, at)
    yield _backwards(ask)
    yield _damaged(ask)
    yield _unfinished(ask, at)
    yield _quarantine(ask, again, at)
    yield _claims(ask)
    yield _age(ask, at)


def journalled(connection: Connection) -> int:
    """Count the events that the journal keeps: decisions, and those of other tools' logs."""
    native = [kind.name for kind in FORMATS if kind.native]
    query = "select count(*) from events where {decided} or source_format not in (select unnest($1))"
    return int(first_value(connection, sql(query, decided=DECIDED), [native]))


def _gaps(ask: Asking) -> Check:
    rows = ask("select writer, missing from writers where missing > 0 order by missing desc, writer", {})
    if not rows:
        return Check("gaps", "ok", "no writer's count has one")
    lost = sum(row[1] for row in rows)
    writers = listed([f"{writer} ({missing:,})" for writer, missing in rows])
    message = f"{counted(lost, 'event')} of {counted(len(rows), 'writer')} never came: {writers}"
    return Check("gaps", "note", message, "ingest all parts of their logs; what is in none of them was lost")


def _future(ask: Asking, at: datetime) -> Check:
    rows = ask(
        "select source_path, count(*) as events, max(occurred_at) as last from events where occurred_at > $ahead"
        " group by source_path order by events desc, source_path",
        {"ahead": at + AHEAD},
    )
    if not rows:
        return Check("future", "ok", "no event is ahead of this machine's clock")
    message = f"{counted(sum(row[1] for row in rows), 'event')} up to {max(row[2] for row in rows):%Y-%m-%d %H:%M} UTC"
    return Check("future", "problem", f"{message} in {listed([str(row[0]) for row in rows])}", "set the clocks")


def _backwards(ask: Asking) -> Check:
    rows = ask(
        "with step as (select writer,"
        " epoch(lag(occurred_at) over (partition by writer order by seq)) - epoch(occurred_at) as back"
        " from events where writer is not null and seq is not null)"
        " select writer, max(back) as most from step where back > $back group by writer order by most desc, writer",
        {"back": int(BACK.total_seconds())},
    )
    if not rows:
        return Check("clocks", "ok", "events of each writer are in the order that it counted them")
    writers = listed([f"{writer} by {seconds:,.0f} s" for writer, seconds in rows])
    message = f"the clock of {counted(len(rows), 'writer')} went back: {writers}"
    return Check("clocks", "note", message, "days and spikes follow the clock: set it by NTP")


def _damaged(ask: Asking) -> Check:
    rows = ask("select source_path from sources where status = 'damaged' order by source_path", {})
    if not rows:
        return Check("damaged", "ok", "no compressed log breaks off")
    return Check(
        "damaged", "problem", f"compressed data breaks off in {listed([row[0] for row in rows])}", "fetch them again"
    )


def _unfinished(ask: Asking, at: datetime) -> Check:
    rows = ask(
        "select source_path from sources where status = 'read' and pending_bytes > 0 and last_ingested_at < $since"
        " order by source_path",
        {"since": at - UNFINISHED},
    )
    if not rows:
        return Check("unfinished", "ok", "no log has waited for more than a day for the end of its last line")
    paths = listed([str(row[0]) for row in rows])
    message = f"{counted(len(rows), 'log')} waiting for more than a day for the end of a last line or document: {paths}"
    return Check("unfinished", "note", message, "look at their ends: what is not finished is not counted")


def _quarantine(ask: Asking, again: str, at: datetime) -> Check:
    [(total, recent)] = ask(
        "select count(*) as total, count(*) filter (where ingested_at > $since) as recent from quarantine",
        {"since": at - STALE},
    )
    if not total:
        return Check("quarantine", "ok", "every line could be read")
    message = f"{counted(total, 'line')}, {recent:,} of them met in the last {STALE.days} days"
    return Check("quarantine", "note", message, f"after an upgrade, to read them again: {again}")


def _claims(ask: Asking) -> Check:
    rows = ask(
        "select source_path, count(*) as events from events where starts_with(event_id, $claimed)"
        " group by source_path order by events desc, source_path",
        {"claimed": CLAIMED},
    )
    if not rows:
        return Check("claims", "ok", "no log gives its events the ids of other tools' records")
    paths = listed([str(row[0]) for row in rows])
    message = f"{counted(sum(row[1] for row in rows), 'event')} with the ids of other tools' records, in {paths}"
    return Check("claims", "problem", message, "find out who writes there; a copy of a journal is no log")


def vanished(connection: Connection) -> Check:
    """Check that the logs that were read are still where this machine read them."""
    rows = execute(
        connection, "select distinct source_path, source_format from sources where status <> 'vanished' order by 1"
    )
    files = [(path, kind) for path, kind in rows if path != STDIN and not path.startswith(TABLE)]
    gone = [(path, kind) for path, kind in files if not os.path.exists(on_disk(path))]
    if not gone:
        return Check("logs", "ok", f"all {len(rows):,} that were read are still there")
    native = [path for path, kind in gone if kind == "analyzer"]
    if native:
        message = (
            f"{counted(len(native), 'event log')} gone, so that only this store has their events: {listed(native)}"
        )
        there = "" if all(map(os.path.isabs, native)) else "; those are paths below the folder that they were read from"
        return Check("logs", "problem", message, f"bring them back, or back up the store{there}")
    message = f"{counted(len(gone), 'log')} of other tools gone: {listed([path for path, _ in gone])}"
    return Check("logs", "note", message, "nothing: the journal has their events")


def _age(ask: Asking, at: datetime) -> Check:
    # What the analyzer decided says nothing about the age of what it read.
    [(first, last, read)] = ask(
        "select min(occurred_at) as first, max(occurred_at) as last,"
        " (select max(last_ingested_at) from sources) as read"
        " from events where not is_decision(type)",
        {},
    )
    if first is None:
        return Check("age", "note", "no events", "read logs into it")
    message = f"events from {first:%Y-%m-%d} to {last:%Y-%m-%d %H:%M} UTC"
    if read is not None:
        message += f", last read {read:%Y-%m-%d %H:%M}"
    if read is None or at - read > STALE:
        return Check("age", "note", message, "nothing new was read for a week: does the nightly ingest run?")
    return Check("age", "ok", message)
