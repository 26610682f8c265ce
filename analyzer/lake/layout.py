"""Define the tables of a lake: one Delta table for each base table of the DuckDB store.

Invariant: the columns are read out of the DuckDB store's own definition; only a lake's further
columns are defined in this module.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable, Field
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import ArrowException
from pyarrow.fs import FileSystem, LocalFileSystem, PyFileSystem, SubTreeFileSystem

from analyzer.errors import StoreError
from analyzer.lake.location import Lake, message_of
from analyzer.store.db.connection import connect
from analyzer.store.db.frames import ArrowStream, OnlyStream
from analyzer.store.db.location import MEMORY

GONE = "bring it back from a copy, or make the lake again: analyzer rebuild PATH... --store"
"""The hint for a missing file, before the name of the lake."""
DAY = "day"
"""The further column of a lake's tables that names their folders: the UTC day."""
MACHINE = "machine"
"""The further column of sources: the machine of the path; null if all machines see the same path.
"""
JOURNAL = "journal_v1"
"""The journal as a table with a row per line; a DuckDB store has a folder of logs for it."""
_BY_DAY = {"event_v1": "occurred_at"}
"""Tables in folders by day → the column of the moment."""
_KEYS = {"event_v1": "event_id", "facts_v1": "facts_id"}
"""Tables whose rows are looked up by an id → that column.

Files record its least and greatest value.
"""
_BESIDE = {"source_v1": [pa.field(MACHINE, pa.string())]}
"""Columns in the files of a lake that the DuckDB store does not have."""


class MissingTableError(StoreError):
    """A lake lacks a table, as one of an earlier version may."""


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A Delta table of a lake."""

    name: str
    columns: pa.Schema
    """The columns of the DuckDB store's table, in their order."""
    day_of: str | None = None
    """The moment (naive UTC) whose day names the folder of a row; None for a table that is in one folder."""
    key: str | None = None
    """The id by which rows are looked up."""

    @property
    def partition(self) -> list[str]:
        """Return the columns that the table is partitioned by."""
        return [DAY] if self.day_of else []

    @property
    def stored(self) -> pa.Schema:
        """Return the columns that are in files."""
        return pa.schema([*self.columns, *_BESIDE.get(self.name, ())])

    @property
    def schema(self) -> pa.Schema:
        """Return the columns as Delta has them, with the day."""
        return self.stored.append(pa.field(DAY, pa.date32())) if self.day_of else self.stored

    def rows(self, stream: ArrowStream) -> pa.Table:
        """Bring rows into the form in which they are written: the columns of this table and the day.

        Raises:
            KeyError: a column is missing.
        """
        table = pa.table(OnlyStream(stream))
        for field in _BESIDE.get(self.name, ()):
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        table = table.select(self.stored.names)
        if self.day_of:
            table = table.append_column(DAY, pc.cast(pc.floor_temporal(table[self.day_of], unit="day"), pa.date32()))
        return table.cast(self.schema)

    def stream(self, parts: Iterable[ArrowStream]) -> pa.RecordBatchReader:
        """Bring many parts of rows into that form, one at a time."""
        return pa.RecordBatchReader.from_batches(
            self.schema, (batch for part in parts for batch in self.rows(part).to_batches())
        )


@cache
def tables() -> dict[str, LakeTable]:
    """Return the tables of a lake by their names."""
    connection = connect(MEMORY, read_only=False)
    try:
        names = connection.execute(
            # List prices belong to the program, and are in no lake.
            "select table_name from duckdb_tables() where schema_name = 'internal' and not temporary"
            " and table_name <> 'list_price' order by all"
        ).fetchall()
        layouts = {
            name: LakeTable(name, _columns(connection, name), _BY_DAY.get(name), _KEYS.get(name)) for (name,) in names
        }
    finally:
        connection.close()
    layouts[JOURNAL] = LakeTable(JOURNAL, pa.schema([("event_id", pa.string()), ("line", pa.string())]))
    return layouts


def _columns(connection: Any, name: str) -> pa.Schema:
    relation = connection.sql(f"from internal.{name} limit 0")
    schema = pa.table(OnlyStream(cast("ArrowStream", relation))).schema
    # A lake holds no checks of its own, and the statements that write rows have none that are null where none may be.
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def opened(lake: Lake, name: str) -> DeltaTable:
    """Open a table as its last commit left it.

    Raises:
        StoreError: there is no such table, or its log is damaged.
    """
    with table_errors(lake, name):
        return DeltaTable(lake.table(name), storage_options=dict(lake.storage) or None)


@contextlib.contextmanager
def table_errors(lake: Lake, name: str) -> Iterator[None]:
    """Translate errors of Delta, of a table's files and of the storage into `StoreError`, with the table's name."""
    try:
        yield
    except TableNotFoundError:
        hint = "bring the table back, or make the lake again"
        raise MissingTableError(f"{lake.path} is no whole lake: the table {name} is missing", hint) from None
    except (DeltaError, OSError) as error:
        hint = f"an entry of {lake.table(name)}/_delta_log is damaged or gone, or the storage refuses; {_back(lake)}"
        raise StoreError(f"the table {name} of {lake.path} cannot be read: {message_of(error)}", hint) from None
    except ArrowException as error:
        hint = f"a file of {lake.table(name)} is damaged; {_back(lake)}"
        raise StoreError(f"the table {name} of {lake.path} cannot be read: {message_of(error)}", hint) from None


def _back(lake: Lake) -> str:
    return f"{GONE} delta:{lake.path}"


def filesystem(lake: Lake, name: str = "") -> FileSystem:
    """Return the file system of a lake, or of one of its folders."""
    if not lake.remote:
        return SubTreeFileSystem(lake.table(name).rstrip("/"), LocalFileSystem())
    return PyFileSystem(DeltaStorageHandler(lake.table(name).rstrip("/"), options=dict(lake.storage)))


def dataset(lake: Lake, name: str, paths: Iterable[str]) -> ds.Dataset:
    """Open files of a table, by their paths below its folder, with the columns that they are to have."""
    return ds.dataset(list(paths), schema=tables()[name].stored, format="parquet", filesystem=filesystem(lake, name))


def rows(lake: Lake, name: str, paths: Iterable[str], where: ds.Expression | None = None) -> pa.Table:
    """Read the rows of some files of a table.

    Raises:
        StoreError: one of them cannot be read.
    """
    with table_errors(lake, name):
        return dataset(lake, name, paths).to_table(filter=where)


def missing(lake: Lake, name: str, paths: Iterable[str]) -> list[str]:
    """Return the whole paths of files that are missing; of a lake in an object store none is looked for."""
    whole = (f"{lake.table(name)}/{path}" for path in paths)
    return [] if lake.remote else [path for path in whole if not os.path.exists(path)]


def create(lake: Lake, table: LakeTable) -> None:
    """Make a table where there is none, and give one that is there the columns that it lacks.

    Raises:
        StoreError: the storage refuses.
    """
    try:
        made = DeltaTable.create(
            lake.table(table.name),
            table.schema,
            mode="ignore",
            partition_by=table.partition,
            storage_options=dict(lake.storage),
        )
        present = {field.name for field in made.schema().fields}
        lacking = [Field.from_arrow(field) for field in table.schema if field.name not in present]
        if lacking:
            made.alter.add_columns(lacking)
    except (DeltaError, OSError) as error:
        raise StoreError(
            f"{lake.table(table.name)} cannot be made: {message_of(error)}",
            "check the path, and that it may be written",
        ) from None
