"""DuckDB and polars, both ways over the Arrow C stream and without pyarrow. The only place that knows how.

Polars is imported where a frame is made: it takes longer than all that an ingest with nothing new does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import duckdb

from analyzer.errors import LimitError, QueryError
from analyzer.store.db.arrow import ArrowStream, OnlyStream
from analyzer.store.db.failures import unusable

if TYPE_CHECKING:
    import polars as pl

Schema = Mapping[str, str]
"""Columns → the names of their types in polars; a `Datetime` is in microseconds."""
OUT_OF_MEMORY_HINT = "ask for fewer columns, rows or groups"


def to_frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """A result as a polars frame. It must hold no INTERVAL and no TIMESTAMPTZ; the catalogue's tests see to that.

    Raises:
        QueryError: it holds a value that no frame can, or the database fails at one.
        StoreError: the store is damaged where it was read.
        LimitError: memory ends.
    """
    import polars as pl

    try:
        return pl.DataFrame(OnlyStream(cast("ArrowStream", relation)))
    except duckdb.Error:
        raise
    except pl.exceptions.ComputeError as error:
        # What DuckDB says once rows are flowing arrives inside of an error of polars.
        message = str(error).removeprefix("got external error: ").strip()
        if message.startswith("Out of Memory Error"):
            raise LimitError(message.splitlines()[0], OUT_OF_MEMORY_HINT) from None
        raise unusable(message) or QueryError(message.splitlines()[0], "cast what cannot be shown to varchar") from None
    except BaseException as error:
        # polars panics on types that it does not know, and a panic is no Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise QueryError("the answer holds a value that cannot be shown", "cast it to varchar") from None


def alone(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with texts of its own: one that came from DuckDB keeps all rows and columns of its answer in memory."""
    import polars as pl

    return frame.with_columns(pl.col(pl.String) + "")


def _types(schema: Schema) -> dict[str, Any]:
    """The columns of a schema with their types as polars has them."""
    import polars as pl

    return {name: pl.Datetime("us") if kind == "Datetime" else getattr(pl, kind) for name, kind in schema.items()}


def frame_of(schema: Schema, rows: Mapping[str, Any] | Iterable[Any] = ()) -> pl.DataFrame:
    """A frame of these columns: of columns by name, or of rows as mappings or tuples."""
    import polars as pl

    if isinstance(rows, Mapping):
        return pl.DataFrame(rows, _types(schema))
    return pl.DataFrame(list(rows), _types(schema), orient="row")


def register(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    """Make a frame visible to SQL under this name until it is registered again."""
    connection.register(name, OnlyStream(frame))
