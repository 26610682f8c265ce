"""DuckDB and polars, both ways over the Arrow C stream and without pyarrow. The only place that knows how.

Both are imported where they are used: polars takes longer than all that an ingest with nothing new does, and who
reads logs for another process has no use for either.

What the database says when a store cannot be read or written is translated here, memory that was freed is given back to
the system, and statements are put together as text. Their parts are written in this program: what comes from people or
logs is a parameter, or `quoted`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from analyzer.command_lines import command_line
from analyzer.errors import FREE_SPACE, LimitError, QueryError, StoreError

if TYPE_CHECKING:
    import duckdb
    import polars as pl


_PART = re.compile(r"\{(\w+)\}")


def sql(template: str, /, **parts: str) -> str:
    """Replace each `{name}` of the template with the part of that name, which is taken as it is, braces included.

    Raises:
        KeyError: there is no part of such a name.
    """
    return _PART.sub(lambda found: parts[found[1]], template)


def with_rows(query: str, /, **rows: str) -> str:
    """A query of the form `with name as (…), …` with other rows under some of these names.

    Raises:
        KeyError: the query has no such name.
    """
    for name, body in rows.items():
        start, end = _part(query, name)
        query = query[:start] + body + query[end:]
    return query


def rows_of(query: str, name: str) -> str:
    """The statement behind a name of such a query.

    Raises:
        KeyError: the query has no such name.
    """
    start, end = _part(query, name)
    return query[start:end]


def _part(query: str, name: str) -> tuple[int, int]:
    part = re.search(rf"^(?:with )?{name} as (?:(?:not )?materialized )?\((\n.*?\n)\)", query, re.MULTILINE | re.DOTALL)
    if part is None:
        raise KeyError(name)
    return part.span(1)


def quoted(text: str) -> str:
    """Quote a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


class ArrowStream(Protocol):
    """Anything with an Arrow C stream, as DuckDB's results are; its stubs do not say so."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


class OnlyStream:
    """The stream alone: DuckDB would ask for pyarrow at the sight of a polars frame."""

    __slots__ = ("_of",)

    def __init__(self, of: ArrowStream) -> None:
        self._of = of

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self._of.__arrow_c_stream__(requested_schema)


_DAMAGED = (
    "Corrupt database file",
    "FATAL Error",
    "IO Error: Could not",
    "IO Error: Cannot",
    "IO Error: No space",
    "Serialization Error",
    "TransactionContext Error: Failed to commit",
)
"""How its messages begin. Some come without a class of their own, some through a frame, as text alone."""
_FULL = ("No space left", "Disk quota", "File too large", "Failed to allocate", "max_temp_directory_size")


def is_full(message: str) -> bool:
    """Tell whether a message of the database is about a full disk."""
    return any(words in message for words in _FULL)


def unusable(message: str) -> StoreError | None:
    """The error of a store that is damaged, or for which there is no room; None for what is wrong with the query."""
    return cannot_go_on(message) if message.startswith(_DAMAGED) else None


def cannot_go_on(message: str) -> StoreError:
    """The error of a store under a statement of our own, whatever the database says."""
    line = message.strip().split("\n", 1)[0]
    if is_full(line):
        return StoreError(f"the store cannot be written: {line}", FREE_SPACE)
    again = command_line("rebuild", "PATH...", store="FILE")
    hint = f"{command_line('doctor', store='FILE')} says what is wrong; {again} makes it again from the logs"
    return StoreError(f"the store cannot be used: {line}", hint)


Schema = Mapping[str, str]
"""Columns → the names of their types in polars; a `Datetime` is in microseconds."""
OUT_OF_MEMORY_HINT = "ask for fewer columns, rows or groups"
Params = Mapping[str, Any] | Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class _Answer:
    """The stream of a statement that is run when it is read.

    A relation binds its statement to know its columns, and once more to run it; of our views that is most of the time
    that a small store takes to answer.
    """

    _connection: Any
    _statement: str
    _params: Params

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        # What relations call, too, is private: another version of the package may call it otherwise.
        with suppress(AttributeError, TypeError):
            return self._connection._submit(self._statement, self._params, "stream").arrow_capsule()
        return self._connection.sql(self._statement, params=self._params).__arrow_c_stream__()


def ask(connection: duckdb.DuckDBPyConnection, statement: str, params: Params = None) -> pl.DataFrame:
    """The answer of one SELECT as `to_frame` gives it."""
    return to_frame(_Answer(connection, statement, params or None))


def to_frame(relation: duckdb.DuckDBPyRelation | ArrowStream) -> pl.DataFrame:
    """Turn a result into a polars frame. It must hold no INTERVAL or TIMESTAMPTZ; the catalogue's tests see to that.

    Raises:
        QueryError: it holds a value that no frame can, or the database fails at one.
        StoreError: the store is damaged where it was read.
        LimitError: memory ends.
    """
    import duckdb
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


@dataclass(frozen=True, slots=True)
class PlainRows(Sized):
    """A small answer as values of Python: who only writes it down does not wait for polars."""

    names: list[str]
    numeric: list[bool]
    """Which columns hold numbers."""
    rows: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.rows)


_NUMBERS = frozenset({"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"})


def ask_rows(connection: duckdb.DuckDBPyConnection, statement: str, params: Params = None) -> PlainRows:
    """The same as rows; beyond what `to_frame` asks for they must hold no dates outside of Python's years."""
    rows = connection.execute(statement, params or None).fetchall()
    names, kinds = zip(*((column[0], column[1]) for column in connection.description or ()), strict=True)
    return PlainRows([*names], [str(kind.id) in _NUMBERS for kind in kinds], rows)


def alone(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with texts of its own: one that came from DuckDB keeps all rows and columns of its answer in memory."""
    import polars as pl

    return frame.with_columns(pl.col(pl.String) + "")


def _types(schema: Schema) -> dict[str, Any]:
    """The columns of a schema with their types as polars has them."""
    import polars as pl

    return {name: pl.Datetime("us") if kind == "Datetime" else getattr(pl, kind) for name, kind in schema.items()}


def frame_of(schema: Schema, rows: Mapping[str, Any] | Iterable[Any] = ()) -> pl.DataFrame:
    """Make a frame with these columns out of columns by name, or of rows as mappings or tuples."""
    import polars as pl

    if isinstance(rows, Mapping):
        return pl.DataFrame(rows, _types(schema))
    return pl.DataFrame(list(rows), _types(schema), orient="row")


def register(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    """Make a frame visible to SQL under this name until it is registered again."""
    connection.register(name, OnlyStream(frame))


MANY_ROWS = 100_000
"""From so many rows on an answer is worth the ten milliseconds that giving back takes."""


_CONFIGURATION = "_RJEM_MALLOC_CONF"


def give_back() -> None:
    """Lets all of DuckDB's allocators go of what they hold and do not use, in every database of the process.

    DuckDB has no function for it, but does it whenever a database is closed.
    """
    import duckdb

    duckdb.connect(":memory:").close()


def load_frugal_polars() -> None:
    """Imports polars such that it keeps what it has freed for a tenth of a second; no effect where it is imported.

    Its allocator, jemalloc, is told by a variable that polars writes, adding what stands in it, and reads in the same
    moment. The variable is put back: it is not for processes that are started later.
    """
    if "polars" in sys.modules:
        return
    before = os.environ.get(_CONFIGURATION)
    os.environ[_CONFIGURATION] = ",".join([*filter(None, [before]), "dirty_decay_ms:100,muzzy_decay_ms:0"])
    try:
        import polars  # noqa: F401 - the import is what it is for
    finally:
        os.environ.pop(_CONFIGURATION, None)
        if before is not None:
            os.environ[_CONFIGURATION] = before
