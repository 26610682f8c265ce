"""Move data between DuckDB and polars over the Arrow C stream, without pyarrow.

No other module does that.

Both are imported where they are used: importing polars takes longer than an ingest with nothing
new, and processes that only read logs for others need neither.

Errors of the database about a damaged or full store are translated, freed memory is given back to
the system, and statements are put together as text. Parts of statements are written in this
program: text of people or logs is a parameter, or `quoted`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from analyzer.command_lines import command_line
from analyzer.errors import FREE_SPACE, LimitError, QueryError, StoreError
from analyzer.frozen import frozen

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from analyzer.store.db.engine import Connection, Parameters


_PART = re.compile(r"\{(\w+)\}")


def sql(template: str, /, **parts: str) -> str:
    """Replace each `{name}` of the template with the part of that name, which is taken as it is, braces included.

    Raises:
        KeyError: there is no part of such a name.
    """
    return _PART.sub(lambda match: parts[match[1]], template)


def with_rows(query: str, /, **rows: str) -> str:
    """Replace rows of a query of the form `with name as (…), …` under some of these names.

    Raises:
        KeyError: the query has no such name.
    """
    for name, body in rows.items():
        start, end = _part(query, name)
        query = query[:start] + body + query[end:]
    return query


def rows_of(query: str, name: str) -> str:
    """Return the statement under a name of such a query.

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
        """Return a capsule with the stream."""


class OnlyStream:
    """Hides all of a frame except its stream: DuckDB asks for pyarrow when it sees a polars frame."""

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
"""Beginnings of DuckDB's messages about a damaged store; some arrive only as text, without a class.
"""
_FULL = ("No space left", "Disk quota", "File too large", "Failed to allocate", "max_temp_directory_size")


def is_full(message: str) -> bool:
    """Say whether a message of the database is about a full disk."""
    return any(words in message for words in _FULL)


def unusable(message: str) -> StoreError | None:
    """Return the error of a damaged or full store; None if the message is about the query."""
    return cannot_go_on(message) if message.startswith(_DAMAGED) else None


def cannot_go_on(message: str) -> StoreError:
    """Return the error of a store for any message of the database about a statement of our own."""
    line = message.strip().split("\n", 1)[0]
    if is_full(line):
        return StoreError(f"the store cannot be written: {line}", FREE_SPACE)
    again = command_line("rebuild", "PATH...", store="FILE")
    hint = f"{command_line('doctor', store='FILE')} says what is wrong; {again} makes it again from the logs"
    return StoreError(f"the store cannot be used: {line}", hint)


Schema = Mapping[str, str]
"""Columns → the names of their types in polars; a `Datetime` is in microseconds."""
OUT_OF_MEMORY_HINT = "ask for fewer columns, rows or groups"


@frozen
class _StatementStream:
    """The stream of a statement, which runs when the stream is read.

    A relation binds its statement once to know its columns and again to run it; with our views
    binding takes most of the time that a small store needs to answer.
    """

    _connection: Any
    _statement: str
    _params: Parameters

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        # `_submit` is private to the package: another version may name it differently.
        with suppress(AttributeError, TypeError):
            return self._connection._submit(self._statement, self._params, "stream").arrow_capsule()
        import duckdb  # noqa: F401 - it gives connections relations

        return self._connection.sql(self._statement, params=self._params).__arrow_c_stream__()


def ask(connection: Connection, statement: str, params: Parameters = None) -> pl.DataFrame:
    """Return the answer of one SELECT as a frame."""
    return to_frame(_StatementStream(connection, statement, params or None))


def to_frame(relation: duckdb.DuckDBPyRelation | ArrowStream) -> pl.DataFrame:
    """Turn a result into a polars frame.

    It must hold no INTERVAL or TIMESTAMPTZ; the catalogue's tests check that.

    Raises:
        QueryError: it holds a value that no frame can, or the database fails at one.
        StoreError: the store is damaged where it was read.
        LimitError: memory ends.
    """
    import polars as pl

    from analyzer.store.db.engine import duckdb

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


@frozen
class PlainRows(Sized):
    """A small answer as Python values, without the time that loading polars takes."""

    names: list[str]
    numeric: list[bool]
    """Whether each column holds numbers."""
    rows: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def named(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dictionaries by column."""
        for row in self.rows:
            yield dict(zip(self.names, row, strict=True))


_NUMBERS = frozenset({"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"})


def ask_rows(connection: Connection, statement: str, params: Parameters = None) -> PlainRows:
    """Return the answer of one SELECT as rows; its dates must also lie within Python's years."""
    rows = connection.execute(statement, params or None).fetchall()
    names, kinds = zip(*((column[0], column[1]) for column in connection.description or ()), strict=True)
    return PlainRows([*names], [str(kind.id) in _NUMBERS for kind in kinds], rows)


def copy_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy the texts of a frame: those from DuckDB keep the whole answer in memory."""
    import polars as pl

    return frame.with_columns(pl.col(pl.String) + "")


def _types(schema: Schema) -> dict[str, Any]:
    """Return the columns of a schema with their polars types."""
    import polars as pl

    return {name: pl.Datetime("us") if kind == "Datetime" else getattr(pl, kind) for name, kind in schema.items()}


def frame_of(schema: Schema, rows: Mapping[str, Any] | Iterable[Any] = ()) -> pl.DataFrame:
    """Make a frame with these columns out of columns by name, or of rows as mappings or tuples."""
    import polars as pl

    if isinstance(rows, Mapping):
        return pl.DataFrame(rows, _types(schema))
    return pl.DataFrame(list(rows), _types(schema), orient="row")


def register(connection: Connection, name: str, frame: pl.DataFrame) -> None:
    """Make a frame visible to SQL under this name until it is registered again."""
    import duckdb  # noqa: F401 - it lets connections read frames

    connection.register(name, OnlyStream(frame))


def copy_rows(
    source: Connection,
    statement: str,
    target: Connection,
    table: str,
    params: Parameters = None,
) -> None:
    """Add the answer of one SELECT to a table of the schema `internal` in another database."""
    import duckdb  # noqa: F401 - it lets connections read streams

    # The target asks three times for what it reads: for the schema, again, and for the rows.
    source.execute(f"create temp table copied_rows as {statement}", params).fetchall()
    target.register("copied_rows", _StatementStream(source, "from temp.copied_rows", None))
    try:
        target.execute(f"insert into internal.{table} by name from copied_rows").fetchall()
    finally:
        target.unregister("copied_rows")
        source.execute("drop table temp.copied_rows").fetchall()


MANY_ROWS = 100_000
"""Rows from which an answer is worth the ten milliseconds that `give_back` takes."""


_CONFIGURATION = "_RJEM_MALLOC_CONF"


def give_back() -> None:
    """Make all of DuckDB's allocators release unused memory, in every database of the process.

    DuckDB has no function for it, but does it whenever a database is closed.
    """
    from analyzer.store.db.engine import duckdb

    duckdb.connect(":memory:").close()


def load_frugal_polars() -> None:
    """Import polars so that it keeps freed memory for a tenth of a second, unless it is imported.

    Its allocator, jemalloc, reads a variable that polars extends and reads during the import. The
    variable is restored afterwards: it is not meant for processes that are started later.
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


class _Deferred(ModuleType):
    """Stands for polars, and imports it when the first of its names is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)
            load_frugal_polars()
        value = vars(self)[name] = getattr(import_module(self.__name__), name)
        return value


def defer_polars() -> None:
    """Let modules import polars from now on without loading it, as `load_frugal_polars` does once it is used.

    It takes 130 ms to load, and a check of a night that is written down already makes no frame.
    """
    sys.modules.setdefault("polars", _Deferred("polars"))
