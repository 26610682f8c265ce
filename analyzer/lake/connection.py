"""A connection of DuckDB's that shows a lake: its large tables are views of their files, the small ones are copied.

Invariant: everything of a store that asks, its views, queries, sums and ad-hoc SQL, is used as it is; no statement is
written for a lake.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from analyzer.errors import StoreError
from analyzer.lake.beside import columns_of, listed, load, relation
from analyzer.lake.former import current
from analyzer.lake.layout import GONE, JOURNAL, missing, rows, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import State
from analyzer.store.db.connection import connect
from analyzer.store.db.location import MEMORY

if TYPE_CHECKING:
    import duckdb

LARGE = ("event_v1", "facts_v1", "verdict_v1", "quarantine_v1")
"""Tables that grow with what is read. The others hold a row a source, a setting, or a sum."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A lake as one of its batches left it. Of its files only those of large tables are opened later."""

    lake: Lake
    at: State
    rows: Mapping[str, pa.Table]
    """Of each small table."""


def snapshot(lake: Lake, at: State | None = None) -> Snapshot:
    """Read the lake as it is now, or as one of its batches left it.

    Raises:
        StoreError: there is none, it is of another version of the program, a log of it is damaged, or a file is missing
            that it names.
    """
    at = at or current(lake)
    small = {}
    for name in tables():
        if gone := missing(lake, name, at.files[name]):
            hint = f"{GONE} delta:{lake.path}"
            raise StoreError(f"{gone[0]} is missing, which the lake's table {name} names", hint)
        if name not in {*LARGE, JOURNAL}:
            small[name] = rows(lake, name, at.files[name])
    return Snapshot(lake, at, small)


def connected(shown: Snapshot, settings: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
    """Open a connection that shows a lake and reaches no other file; `settings` are DuckDB's.

    Raises:
        StoreError: the database does not open.
    """
    # In memory, the database would spill into the working directory.
    chosen = settings or {"temp_directory": os.path.join(tempfile.gettempdir(), f"analyzer-{os.getpid()}.tmp")}
    connection = connect(MEMORY, read_only=False, settings=chosen)
    run = connection.execute
    try:
        for name, small in shown.rows.items():
            run(f"delete from internal.{name}").fetchall()
            load(connection, name, small)
        for name in LARGE:
            if paths := shown.at.files[name]:
                source = relation(connection, shown.lake, name, paths)
                run(f"drop table internal.{name}")
                run(f"create view internal.{name} as select {columns_of(name)} from {source}")
        named = (f"{shown.lake.table(name)}/{path}" for name in LARGE for path in shown.at.files[name])
        run(f"set global allowed_paths = {listed(named if not shown.lake.remote else ())}")
        # Files of a lake never change: what their ends say is read once, not for each statement.
        run("set global parquet_metadata_cache = true")
        run("set global enable_external_access = false")
        run("set global lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection
