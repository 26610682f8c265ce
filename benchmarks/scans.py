"""What a check and a report of a week scan of the history before them: `python -m benchmarks.scans`, 1 if too much.

Two stores end with the same half of a log, and one has the other half before it; both were checked up to the last day.
What a statement scans more of the longer one, as DuckDB counts it, it scans of a history that nobody asked about. No
clock has a say: the counts are the same on every machine. The stores are written again in the smallest row groups that
there are, so that a small one has as many of them as one of millions of events.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

import duckdb

from analyzer.analysis.nightly.check import check
from analyzer.analysis.summary.overview import overview
from analyzer.events.times import now
from analyzer.store import Store, open_store
from analyzer.store.db.location import STORAGE_VERSION
from benchmarks.ingest import write_log

DAYS = 400
"""Of the longer history; half of them are more than the 147 days that the report of a week counts."""
EVENTS = 36_000
"""Of the longer history."""
ROW_GROUP = 2_048
"""Rows that a look may scan more of a longer history, too: row groups begin elsewhere there."""
BY_ID = ("facts_v1", "verdict_v1")
"""Tables that are asked for some ids. These are digests, and nothing says where they lie: a look reads them all."""
LOOKS_BY_ID = 2
"""Of one statement."""
ALLOWED = {
    "create temp table seen as": (2, "a session may be as old as the store: only its first and last events tell"),
    "with recorded as": (1, "which ruleset of a caller is its newest is told by all errors without facts"),
    "create temp table relays as": (1, "hand-offs without a name are counted from the first one of their session on"),
}
"""How statements begin that may look at all events, how often, and why they have to."""


class Scan(NamedTuple):
    """What one statement scanned."""

    statement: str
    """On one line."""
    rows: Counter[str]
    """By table of the store."""
    looks: Counter[str]
    """How often it scans each of them."""


@dataclass(frozen=True, slots=True)
class Excess:
    """What a statement scans of a history that nobody asked about."""

    statement: str
    table: str
    rows: int
    """That it scans more of the longer history."""
    looks: int


@dataclass(frozen=True, slots=True)
class Histories:
    """Two stores that end alike."""

    short: Path
    long: Path
    last: datetime
    """Their end, which is a midnight."""

    def excess(self, work: Callable[[Store], object]) -> tuple[Excess, ...]:
        """What the statements of some work scan too much, the same work with each of the stores."""
        short, long = (_summed(traced(path, work)) for path in (self.short, self.long))
        found = []
        for (statement, table), (rows, looks) in long.items():
            more = rows - short.get((statement, table), (0, 0))[0]
            if more > ROW_GROUP * looks and not _is_allowed(statement, table, looks):
                found.append(Excess(statement, table, more, looks))
        return tuple(found)


class Traced:
    """A connection that notes what its statements scan, as do the cursors that are made of it."""

    _submit = None
    """The other way to ask, which leaves no profile: who looks for it takes `sql`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, scans: list[Scan]) -> None:
        self._connection, self._scans, self._asked = connection, scans, False
        connection.execute("pragma enable_profiling = 'no_output'").fetchall()
        connection.execute("set profiling_coverage = 'ALL'").fetchall()

    def execute(self, *given: Any) -> duckdb.DuckDBPyConnection:
        """As DuckDB does."""
        return self._noted(lambda: self._connection.execute(*given))

    def sql(self, *given: Any, **named: Any) -> duckdb.DuckDBPyRelation:
        """As DuckDB does."""
        return self._noted(lambda: self._connection.sql(*given, **named))

    def cursor(self) -> Traced:
        """Another one of the same database."""
        return Traced(self._connection.cursor(), self._scans)

    def note(self) -> None:
        """Note what the last statement scanned, of which all rows were fetched by now."""
        if self._asked:
            profile = json.loads(self._connection.get_profiling_information(format="json"))
            self._asked = False
            if "query" in profile:
                self._scans.append(_scan(profile))

    def close(self) -> None:
        """As DuckDB does."""
        self.note()
        self._connection.close()

    def _noted(self, ask: Callable[[], Any]) -> Any:
        self.note()
        self._asked = True
        return ask()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _scan(profile: dict[str, Any]) -> Scan:
    rows: Counter[str] = Counter()
    looks: Counter[str] = Counter()
    waiting = list(profile["operator"])
    while waiting:
        operator = waiting.pop()
        waiting.extend(operator.get("children", ()))
        if "rows_scanned" in operator:
            schema, _, table = operator["extra_info"].get("Table", "").rpartition(".")
            if schema.endswith(".internal"):
                rows[table] += operator["rows_scanned"]
                looks[table] += 1
    return Scan(" ".join(profile["query"]["sql"].split()), rows, looks)


def traced(path: Path, work: Callable[[Store], object]) -> list[Scan]:
    """What the statements of some work with a store scan."""
    _write_in_small_groups(path)  # again each time: a checkpoint joins what is small
    scans: list[Scan] = []
    with open_store(path, writable=True) as store:
        connection: Any = Traced(store._connection, scans)
        store._connection = connection
        work(store)
        connection.note()
    return scans


def _summed(scans: Iterable[Scan]) -> dict[tuple[str, str], tuple[int, int]]:
    """Rows of each statement and table, and the most looks of one of its runs."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for scan in scans:
        for table, rows in scan.rows.items():
            before, looks = found.get((scan.statement, table), (0, 0))
            found[scan.statement, table] = (before + rows, max(looks, scan.looks[table]))
    return found


def _is_allowed(statement: str, table: str, looks: int) -> bool:
    if table in BY_ID:
        return looks <= LOOKS_BY_ID
    return any(statement.startswith(begins) and looks <= most for begins, (most, _) in ALLOWED.items())


def histories(folder: Path, events: int = EVENTS) -> Histories:
    """Both stores in an empty folder, with the last night read and not yet checked."""
    last = datetime.combine(now().date(), time())
    write_log(folder / "whole.jsonl", events, first=last - timedelta(days=DAYS), days=DAYS, of_session=20)
    lines = (folder / "whole.jsonl").read_bytes().splitlines(keepends=True)
    before = events - events // DAYS
    paths = []
    for name, begin in (("short", events // 2), ("long", 0)):
        paths.append(folder / f"{name}.duckdb")
        for part, (start, end) in {"history": (begin, before), "night": (before, events)}.items():
            log = folder / f"{name}-{part}.jsonl"
            log.write_bytes(b"".join(lines[start:end]))
            with open_store(paths[-1], writable=True) as store:
                store.ingest(log)
                if part == "history":
                    check(store, until=last - timedelta(days=1))
    return Histories(*paths, last)


def _write_in_small_groups(path: Path) -> None:
    small = path.with_suffix(".small")
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as former (read_only)").fetchall()
        options = f"row_group_size {ROW_GROUP}, storage_version '{STORAGE_VERSION}'"
        connection.execute(f"attach '{small}' as analyzer ({options})").fetchall()
        connection.execute("copy from database former to analyzer").fetchall()
    os.replace(small, path)


def commands(last: datetime) -> Iterator[tuple[str, Callable[[Store], object]]]:
    """What may read its window, the sums and the findings alone, in the order in which it is done."""
    yield "check of a new night", lambda store: check(store, until=last)
    yield "check of a night that was checked", lambda store: check(store, until=last)
    yield "report of a week", lambda store: overview(store, since=last - timedelta(days=7), until=last)


def main(argv: Sequence[str] | None = None) -> int:
    """Print what is scanned too much; 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scans", description=__doc__)
    parser.add_argument("--events", type=float, default=EVENTS, help=f"of the longer history (default: {EVENTS:,})")
    events = int(parser.parse_args(argv).events)
    sound = True
    with tempfile.TemporaryDirectory(prefix="scans-") as folder:
        stores = histories(Path(folder), events)
        for name, work in commands(stores.last):
            found = stores.excess(work)
            sound &= not found
            print(f"{name}: {'nothing too much' if not found else ''}")
            for each in found:
                print(f"  {each.rows:,} rows of {each.table}, {each.looks} looks: {each.statement[:150]}")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
