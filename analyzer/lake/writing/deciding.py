"""Decisions of the analyzer in a lake: journal and events of one batch, by the statements of a store in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import cast

import duckdb
import pyarrow as pa

from analyzer.events import EventLog
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.moving import journal_lines
from analyzer.lake.writing.ledger import Ledger
from analyzer.store.db.arrow import ArrowStream, OnlyStream


def record(
    ledger: Ledger,
    connection: duckdb.DuckDBPyConnection,
    decide: Callable[[duckdb.DuckDBPyConnection, EventLog], None],
) -> None:
    """Let `decide` write into a store in memory and a journal, and append both. Call it inside of a batch.

    Raises:
        StoreError: the journal or the lake does not take it.
    """
    load(connection, "store_v1", ledger.rows("store_v1"))
    with tempfile.TemporaryDirectory() as folder:
        with EventLog(folder, durability="batch") as journal:
            decide(connection, journal)
        for lines in journal_lines(folder):
            ledger.append(JOURNAL, tables()[JOURNAL].rows(lines))
    ledger.append("event_v1", rows_of(connection, "event_v1"))


def load(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Put rows into the place of all of a table."""
    connection.execute(f"delete from internal.{name}").fetchall()  # noqa: S608 - a name of ours
    insert(connection, name, rows)


def insert(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
    """Add rows to a table: those of a lake, whose columns have the names of the store's."""
    connection.register("loaded", OnlyStream(cast("ArrowStream", rows)))
    columns = ", ".join(f'"{column}"' for column in tables()[name].columns.names)
    connection.execute(f"insert into internal.{name} ({columns}) select {columns} from loaded").fetchall()  # noqa: S608
    connection.unregister("loaded")


def rows_of(connection: duckdb.DuckDBPyConnection, name: str) -> pa.Table:
    """All rows of a table, as a lake has them."""
    return tables()[name].rows(cast("ArrowStream", connection.sql(f"from internal.{name}")))
