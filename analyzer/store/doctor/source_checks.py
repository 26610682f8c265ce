"""What the rows of a store say about its sources: loss, wrong clocks, damage, age."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta

import duckdb

from analyzer.events.times import now
from analyzer.importers import FORMATS
from analyzer.phrases import counted
from analyzer.store.db.paths import on_disk
from analyzer.store.decisions import DECIDED, DECISIONS
from analyzer.store.doctor.checks import Check, listed
from analyzer.store.ingest.discovery import STDIN
from analyzer.store.ingest.statements import CLAIMED

AHEAD = timedelta(minutes=5)
"""An event further in the future than this says that a clock is wrong."""
BACK = timedelta(minutes=5)
"""A writer whose next event is earlier by more than this had its clock set back."""
STALE = timedelta(days=7)
"""So long without anything new is worth a word."""


def content_checks(connection: duckdb.DuckDBPyConnection, moment: datetime | None = None) -> Iterator[Check]:
    """Every check of the rows; `moment` is naive UTC and stands in for now."""
    at = moment or now()
    yield _gaps(connection)
    yield _future(connection, at)
    yield _backwards(connection)
    yield _damaged(connection)
    yield _quarantine(connection, at)
    yield _claims(connection)
    yield _vanished(connection)
    yield _age(connection, at)


def journalled(connection: duckdb.DuckDBPyConnection) -> int:
    """How many events the journal keeps: those of other tools' logs, and decisions."""
    native = [known.name for known in FORMATS if known.native]
    query = f"select count(*) from events where {DECIDED} or source_format not in (select unnest($1))"  # noqa: S608
    return int(connection.execute(query, [native]).fetchall()[0][0])


def _gaps(connection: duckdb.DuckDBPyConnection) -> Check:
    rows = connection.execute(
        "select writer, missing from writers where missing > 0 order by missing desc, writer"
    ).fetchall()
    if not rows:
        return Check("gaps", "ok", "no writer's count has one")
    lost = sum(row[1] for row in rows)
    writers = listed([f"{writer} ({missing:,})" for writer, missing in rows])
    said = f"{counted(lost, 'event')} of {counted(len(rows), 'writer')} never came: {writers}"
    return Check("gaps", "note", said, "ingest all parts of their logs; what is in none of them was lost")


def _future(connection: duckdb.DuckDBPyConnection, at: datetime) -> Check:
    rows = connection.execute(
        "select source_path, count(*), max(occurred_at) from events where occurred_at > $1"
        " group by source_path order by 2 desc, 1",
        [at + AHEAD],
    ).fetchall()
    if not rows:
        return Check("future", "ok", "no event is ahead of this machine's clock")
    said = f"{counted(sum(row[1] for row in rows), 'event')} up to {max(row[2] for row in rows):%Y-%m-%d %H:%M} UTC"
    return Check("future", "problem", f"{said} in {listed([str(row[0]) for row in rows])}", "set the clocks")


def _backwards(connection: duckdb.DuckDBPyConnection) -> Check:
    rows = connection.execute(
        "with step as (select writer, lag(occurred_at) over (partition by writer order by seq) - occurred_at as back"
        " from events where writer is not null and seq is not null)"
        " select writer, epoch(max(back)) from step where back > $1 group by writer order by 2 desc, 1",
        [BACK],
    ).fetchall()
    if not rows:
        return Check("clocks", "ok", "events of each writer are in the order that it counted them")
    writers = listed([f"{writer} by {seconds:,.0f} s" for writer, seconds in rows])
    said = f"the clock of {counted(len(rows), 'writer')} went back: {writers}"
    return Check("clocks", "note", said, "days and spikes follow the clock: set it by NTP")


def _damaged(connection: duckdb.DuckDBPyConnection) -> Check:
    rows = connection.execute("select source_path from sources where status = 'damaged' order by 1").fetchall()
    if not rows:
        return Check("damaged", "ok", "no compressed log breaks off")
    return Check(
        "damaged", "problem", f"compressed data breaks off in {listed([row[0] for row in rows])}", "fetch them again"
    )


def _quarantine(connection: duckdb.DuckDBPyConnection, at: datetime) -> Check:
    total, recent = connection.execute(
        "select count(*), count(*) filter (where ingested_at > $1) from quarantine", [at - STALE]
    ).fetchall()[0]
    if not total:
        return Check("quarantine", "ok", "every line could be read")
    said = f"{counted(total, 'line')}, {recent:,} of them met in the last {STALE.days} days"
    return Check("quarantine", "note", said, "analyzer quarantine; after an upgrade its `retry` reads them again")


def _claims(connection: duckdb.DuckDBPyConnection) -> Check:
    rows = connection.execute(
        "select source_path, count(*) from events where starts_with(event_id, $1) group by 1 order by 2 desc, 1",
        [CLAIMED],
    ).fetchall()
    if not rows:
        return Check("claims", "ok", "no log gives its events the ids of other tools' records")
    paths = listed([str(row[0]) for row in rows])
    said = f"{counted(sum(row[1] for row in rows), 'event')} with the ids of other tools' records, in {paths}"
    return Check("claims", "problem", said, "find out who writes there; a copy of a journal is no log")


def _vanished(connection: duckdb.DuckDBPyConnection) -> Check:
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


def _age(connection: duckdb.DuckDBPyConnection, at: datetime) -> Check:
    # What the analyzer decided says nothing about the age of what it read.
    first, last, read = connection.execute(
        "select min(occurred_at), max(occurred_at), (select max(last_ingested_at) from sources) from events"
        " where not list_contains($1, type)",
        [list(DECISIONS)],
    ).fetchall()[0]
    if first is None:
        return Check("age", "note", "no events", "analyzer ingest PATH")
    said = f"events from {first:%Y-%m-%d} to {last:%Y-%m-%d %H:%M} UTC"
    if read is not None:
        said += f", last read {read:%Y-%m-%d %H:%M}"
    if read is None or at - read > STALE:
        return Check("age", "note", said, "nothing new was read for a week: does the nightly ingest run?")
    return Check("age", "ok", said)
