"""A lake and a DuckDB store, compared row by row: what differs is when something was met, and by which batch."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb
from deltalake import DeltaTable

from analyzer.lake.location import Lake

TABLES = ("event_v1", "facts_v1", "quarantine_v1", "source_v1", "verdict_v1")
_WHEN = {"ingested_at", "first_ingested_at", "last_ingested_at", "incident_at", "judged_at", "batch_id"}


def differences(lake: Lake, store: Path, beside: Collection[str] = ()) -> dict[str, tuple[int, int]]:
    """By table, where there are any: the rows that only the store has, and those that only the lake has.

    Columns that are `beside` what is compared may differ.
    """
    found: dict[str, tuple[int, int]] = {}
    with duckdb.connect(str(store), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        for name in TABLES:
            connection.register("lake", DeltaTable(lake.table(name)).to_pyarrow_table())
            asked = f"select column_name from duckdb_columns() where schema_name = 'internal' and table_name = '{name}'"
            columns = [row[0] for row in connection.execute(asked).fetchall() if row[0] not in {*_WHEN, *beside}]
            rows = ", ".join(f"cast({column} as varchar) as {column}" for column in columns)
            here, there = f"select {rows} from internal.{name}", f"select {rows} from lake"
            counts = tuple(
                connection.execute(f"select count(*) from ({one} except all {other})").fetchall()[0][0]
                for one, other in ((here, there), (there, here))
            )
            if any(counts):
                found[name] = counts
    return found
