"""Frames of the caller's own, under names that a statement may use: data, and never a way to a file.

Invariant: no such name hides a view of the store, and none is there while the program asks questions of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb
import polars as pl

from analyzer.errors import QueryError
from analyzer.store.db.connection import query_errors
from analyzer.store.db.frames import ArrowStream, OnlyStream, register
from analyzer.store.db.tables.schema import views

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.IGNORECASE | re.ASCII)
_RESERVED = """
select 1 from duckdb_keywords() where keyword_name = $1 and keyword_category in ('reserved', 'type_function')
"""
_FRAMES = "give a frame of polars, pandas or Arrow, a dict of columns, or a list of dicts"
_UNREADABLE = (ImportError, TypeError, ValueError, duckdb.Error)
_POLARS = "give a polars frame"
Registered = ArrowStream | pl.LazyFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""What rows come in."""


def checked_name(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The name in small letters, as SQL takes it in any.

    Raises:
        QueryError: SQL would want it in quotes, or it is that of a view.
    """
    if not _NAME.fullmatch(name):
        raise QueryError(f"not a name that SQL takes as it is: {name!r}", "write letters, digits and _, as in my_teams")
    small = name.lower()
    if small in views():
        raise QueryError(f"{small} is a view of the store", "choose another name")
    if small == "internal" or connection.execute(_RESERVED, [small]).fetchall():
        raise QueryError(f"{small} has a meaning of its own in SQL", "choose another name")
    return small


def copied(connection: duckdb.DuckDBPyConnection, name: str, frame: Registered) -> pl.DataFrame:
    """The rows as they are now; the database has had a look at their types.

    Raises:
        QueryError: it is no frame, or a column is of a type that SQL does not have.
    """
    rows = frame.clone() if isinstance(frame, pl.DataFrame) else _read(frame)
    if strange := [column for column, kind in rows.schema.items() if kind == pl.Object]:
        raise QueryError(f"no SQL type for Python objects, as in column {strange[0]}", "cast it to a text or a number")
    # The type that SQL gives to a column of nulls alone; Arrow's own has no place for them to be marked in.
    rows = rows.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.Int32))
    with visible(connection, {name: rows}), query_errors():
        connection.execute(f"describe {name}").fetchall()
    return rows


def _read(frame: object) -> pl.DataFrame:
    try:
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if isinstance(frame, pl.Series):
            return frame.to_frame()
        if isinstance(frame, Mapping) or (
            isinstance(frame, list | tuple) and all(isinstance(row, Mapping) for row in frame)
        ):
            return pl.DataFrame(frame)
        if not hasattr(frame, "__arrow_c_stream__"):
            raise QueryError(f"a {type(frame).__name__} is no frame", _FRAMES)
        return pl.DataFrame(OnlyStream(frame))
    except (*_UNREADABLE, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # pandas has the stream where pyarrow is installed.
        raise QueryError(f"the rows of this {type(frame).__name__} cannot be read: {error}", _POLARS) from None


@contextmanager
def visible(connection: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> Iterator[None]:
    """Within the block statements of this connection see the frames under their names."""
    try:
        with query_errors():
            for name, frame in frames.items():
                # What the program itself has left behind under this name, and makes anew where it wants it: a view
                # is replaced, a table is in the way.
                with suppress(duckdb.Error):
                    connection.execute(f"drop table if exists temp.{name}").fetchall()
                register(connection, name, frame)
        yield
    finally:
        for name in frames:
            with suppress(duckdb.Error):
                connection.unregister(name)
