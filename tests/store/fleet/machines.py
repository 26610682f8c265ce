"""Stores that push to a shared table, and what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import duckdb

from analyzer.store import IngestResult, Push, open_store
from analyzer.store.fleet.table import EventTable, table_named

TABLES = ("event_v1", "facts_v1", "verdict_v1")
OTHERWISE = {"ingested_at", "judged_at", "host"}
"""Columns that differ between a store of a fleet and one that has read the logs itself."""


def push(store: Path, *logs: Path, to: str) -> Push:
    """Read logs into a store, and push what is new in it."""
    with open_store(store, writable=True) as opened:
        opened.ingest(logs)
        return opened.push(to)


def load(store: Path, *tables: str) -> IngestResult:
    """Read what is new in tables, or in logs, into a store."""
    with open_store(store, writable=True) as opened:
        return opened.ingest(tables)


def opened(to: str) -> EventTable:
    """Return the table of a name."""
    return table_named(to)


def ids(to: str) -> Counter[str]:
    """Count each event's lines in a table."""
    table = table_named(to)
    return Counter(table.column("event_id", table.opened().file_uris()))


def differences(first: Path, second: Path, beside: Iterable[str] = ()) -> dict[str, tuple[int, int]]:
    """Return by table how many rows only the one, and only the other store has; nothing where all are the same."""
    counts = {}
    with duckdb.connect() as connection:
        for name, path in (("one", first), ("two", second)):
            connection.execute(f"attach '{path}' as {name} (read_only)")
        for table in TABLES:
            described = connection.execute(f"describe one.internal.{table}").fetchall()
            columns = ", ".join(row[0] for row in described if row[0] not in {*OTHERWISE, *beside})
            rows = [f"select {columns} from {name}.internal.{table}" for name in ("one", "two")]
            only = tuple(
                connection.execute(f"select count(*) from ({left} except all {right})").fetchall()[0][0]
                for left, right in (rows, rows[::-1])
            )
            if any(only):
                counts[table] = only
    return counts
