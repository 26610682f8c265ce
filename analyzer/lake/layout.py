"""The tables of a lake: one Delta table for each base table of the DuckDB store, with its name, columns and types.

Invariant: the columns are read out of the DuckDB store's own definition; only what a lake has beside them stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from analyzer.store.db.arrow import ArrowStream, OnlyStream
from analyzer.store.db.connection import connect
from analyzer.store.db.lock import MEMORY

DAY = "day"
"""The column that a lake has beside those of the DuckDB store: the UTC day, which its folders are named by."""
JOURNAL = "journal_v1"
"""The journal as a table, a row a line: what is a folder of logs beside a DuckDB store."""
_BY_DAY = {"event_v1": "occurred_at"}
"""Tables in folders by day → the column that tells the day."""


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A Delta table of a lake."""

    name: str
    columns: pa.Schema
    """Those of the DuckDB store's table, in their order."""
    day_of: str | None = None
    """The moment (naive UTC) whose day names the folder of a row; None for a table that is in one folder."""

    @property
    def partition(self) -> list[str]:
        """The columns that the table is partitioned by."""
        return [DAY] if self.day_of else []

    @property
    def schema(self) -> pa.Schema:
        """The columns as Delta has them, with the day."""
        return self.columns.append(pa.field(DAY, pa.date32())) if self.day_of else self.columns

    def rows(self, given: ArrowStream) -> pa.Table:
        """Rows with the columns of this table, in any order, as they are written: with their day, and nothing else.

        Raises:
            KeyError: a column is missing.
        """
        table = pa.table(OnlyStream(given))
        table = table.select(self.columns.names)
        if self.day_of:
            table = table.append_column(DAY, pc.cast(pc.floor_temporal(table[self.day_of], unit="day"), pa.date32()))
        return table.cast(self.schema)


@cache
def tables() -> dict[str, LakeTable]:
    """The tables of a lake by name."""
    connection = connect(MEMORY, read_only=False)
    try:
        names = connection.execute(
            "select table_name from duckdb_tables() where schema_name = 'internal' and not temporary order by all"
        ).fetchall()
        found = {name: LakeTable(name, _columns(connection, name), _BY_DAY.get(name)) for (name,) in names}
    finally:
        connection.close()
    found[JOURNAL] = LakeTable(JOURNAL, pa.schema([("event_id", pa.string()), ("line", pa.string())]))
    return found


def _columns(connection: Any, name: str) -> pa.Schema:
    relation = connection.sql(f"from internal.{name} limit 0")
    schema = pa.table(OnlyStream(cast("ArrowStream", relation))).schema
    # A lake holds no checks of its own, and the statements that write rows have none that are null where none may be.
    return pa.schema([pa.field(field.name, field.type) for field in schema])
