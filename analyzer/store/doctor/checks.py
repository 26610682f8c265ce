"""What a check says: fine, worth a word, or wrong; and the checks that stores and folders share.

Here stand also the checks of what the rows of a store say about its sources: loss, wrong clocks, damage, age.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import duckdb

from analyzer.command_lines import command_line
from analyzer.events.times import now
from analyzer.importers import FORMATS
from analyzer.readable import counted
from analyzer.store.db.frames import sql
from analyzer.store.db.location import on_disk
from analyzer.store.ingest.discover import STDIN
from analyzer.store.ingest.statements import CLAIMED
from analyzer.store.journal import DECIDED

State = Literal["ok", "note", "problem"]
SPARE_BYTES = 256 * 1024 * 1024
"""Free space that is called little whatever the size of the store."""


@dataclass(frozen=True, slots=True)
class Check:
    """One result of `analyzer doctor`: what was checked, how it stands and what to do."""

    name: str
    state: State
    said: str
    todo: str = ""

    def to_dict(self) -> dict[str, str]:
        """The fields by name."""
        return asdict(self)


def loose_modes(name: str, paths: Iterable[str]) -> Check:
    """Whether others than their owner may read or write these files and folders: they quote error messages."""
    loose = [path for path in paths if stat.S_IMODE(os.stat(path).st_mode) & 0o077]
    if not loose:
        return Check(name, "ok", "for their owner alone")
    return Check(name, "problem", f"others may read or write {listed(loose)}", "chmod go= them")


def space_check(folder: str, size: int) -> Check:
    """Whether the disk of a folder has room for a store of so many bytes to be made again."""
    free = shutil.disk_usage(folder).free
    said = f"{megabytes(free)} free, the store has {megabytes(size)}"
    if free < max(SPARE_BYTES, 2 * size):
        return Check("space", "problem", said, "free some: a rebuild needs the size of the store twice")
    return Check("space", "ok", said)


def ruleset_check(digest: str, *, at_hand: bool, store: str | None = None) -> Check:
    """Whether new errors can be judged by the active ruleset, whose digest this is."""
    if at_hand:
        return Check("ruleset", "ok", f"the rules of {digest}, the active one, are at hand")
    said = f"the rules of {digest}, the active one, are gone"
    again = command_line("reclassify", "--apply", "--rules", "FILE", store=store)
    return Check("ruleset", "problem", said, f"name them: {again}")


def listed(names: list[str], shown: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """A number of bytes in megabytes: `1.5 MB`."""
    return f"{size / 1e6:,.1f} MB"


AHEAD = timedelta(minutes=5)
"""An event further in the future than this says that a clock is wrong."""
BACK = timedelta(minutes=5)
"""A writer whose next event is earlier by more than this had its clock set back."""
STALE = timedelta(days=7)
"""So long without anything new is worth a word."""
Asking = Callable[[str, Mapping[str, object]], Sequence[tuple[Any, ...]]]
"""Who answers a statement over the views, with its named parameters: the rows in its own order."""


def content_checks(ask: Asking, again: str, moment: datetime | None = None) -> Iterator[Check]:
    """Every check of the rows that any machine can make.

    `again` is the command that reads what is in quarantine once more; `moment` is naive UTC and stands in for now.
    """
    at = moment or now()
    yield _gaps(ask)
    yield _future(ask, at)
    yield _backwards(ask)
    yield _damaged(ask)
    yield _quarantine(ask, again, at)
    yield _claims(ask)
    yield _age(ask, at)


def journalled(connection: duckdb.DuckDBPyConnection) -> int:
    """How many events the journal keeps: those of other tools' logs, and decisions."""
    native = [known.name for known in FORMATS if known.native]
    query = "select count(*) from events where {decided} or source_format not in (select unnest($1))"
    return int(connection.execute(sql(query, decided=DECIDED), [native]).fetchall()[0][0])


def _gaps(ask: Asking) -> Check:
    rows = ask("select writer, missing from writers where missing > 0 order by missing desc, writer", {})
    if not rows:
        return Check("gaps", "ok", "no writer's count has one")
    lost = sum(row[1] for row in rows)
    writers = listed([f"{writer} ({missing:,})" for writer, missing in rows])
    said = f"{counted(lost, 'event')} of {counted(len(rows), 'writer')} never came: {writers}"
    return Check("gaps", "note", said, "ingest all parts of their logs; what is in none of them was lost")


def _future(ask: Asking, at: datetime) -> Check:
    rows = ask(
        "select source_path, count(*) as events, max(occurred_at) as last from events where occurred_at > $ahead"
        " group by source_path order by events desc, source_path",
        {"ahead": at + AHEAD},
    )
    if not rows:
        return Check("future", "ok", "no event is ahead of this machine's clock")
    said = f"{counted(sum(row[1] for row in rows), 'event')} up to {max(row[2] for row in rows):%Y-%m-%d %H:%M} UTC"
    return Check("future", "problem", f"{said} in {listed([str(row[0]) for row in rows])}", "set the clocks")


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
    said = f"the clock of {counted(len(rows), 'writer')} went back: {writers}"
    return Check("clocks", "note", said, "days and spikes follow the clock: set it by NTP")


def _damaged(ask: Asking) -> Check:
    rows = ask("select source_path from sources where status = 'damaged' order by source_path", {})
    if not rows:
        return Check("damaged", "ok", "no compressed log breaks off")
    return Check(
        "damaged", "problem", f"compressed data breaks off in {listed([row[0] for row in rows])}", "fetch them again"
    )


def _quarantine(ask: Asking, again: str, at: datetime) -> Check:
    [(total, recent)] = ask(
        "select count(*) as total, count(*) filter (where ingested_at > $since) as recent from quarantine",
        {"since": at - STALE},
    )
    if not total:
        return Check("quarantine", "ok", "every line could be read")
    said = f"{counted(total, 'line')}, {recent:,} of them met in the last {STALE.days} days"
    return Check("quarantine", "note", said, f"after an upgrade, to read them again: {again}")


def _claims(ask: Asking) -> Check:
    rows = ask(
        "select source_path, count(*) as events from events where starts_with(event_id, $claimed)"
        " group by source_path order by events desc, source_path",
        {"claimed": CLAIMED},
    )
    if not rows:
        return Check("claims", "ok", "no log gives its events the ids of other tools' records")
    paths = listed([str(row[0]) for row in rows])
    said = f"{counted(sum(row[1] for row in rows), 'event')} with the ids of other tools' records, in {paths}"
    return Check("claims", "problem", said, "find out who writes there; a copy of a journal is no log")


def vanished(connection: duckdb.DuckDBPyConnection) -> Check:
    """Whether the logs that were read are still where this machine read them."""
    rows = connection.execute(
        "select distinct source_path, source_format from sources where status <> 'vanished' order by 1"
    ).fetchall()
    gone = [(path, kind) for path, kind in rows if path != STDIN and not os.path.exists(on_disk(path))]
    if not gone:
        return Check("logs", "ok", f"all {len(rows):,} that were read are still there")
    native = [path for path, kind in gone if kind == "analyzer"]
    if native:
        said = f"{counted(len(native), 'event log')} gone, so that only this store has their events: {listed(native)}"
        there = "" if all(map(os.path.isabs, native)) else "; those are paths below the folder that they were read from"
        return Check("logs", "problem", said, f"bring them back, or back up the store{there}")
    said = f"{counted(len(gone), 'log')} of other tools gone: {listed([path for path, _ in gone])}"
    return Check("logs", "note", said, "nothing: the journal has their events")


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
    said = f"events from {first:%Y-%m-%d} to {last:%Y-%m-%d %H:%M} UTC"
    if read is not None:
        said += f", last read {read:%Y-%m-%d %H:%M}"
    if read is None or at - read > STALE:
        return Check("age", "note", said, "nothing new was read for a week: does the nightly ingest run?")
    return Check("age", "ok", said)
