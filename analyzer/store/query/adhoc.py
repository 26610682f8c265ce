"""Run ad-hoc SQL: one statement that only reads, on a connection that reaches only the store.

This protects against accidents, not against hostile SQL: a query can still use much memory and
time.

The database's own parser and binder decide whether a statement only reads, before any of it runs.

A statement may name frames of the caller: data, and never a way to a file. No such name hides a
view of the store, and the frames are not visible while the program asks its own questions.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
from duckdb.func import FunctionNullHandling

from analyzer.errors import QueryError
from analyzer.frozen import frozen
from analyzer.store.db.connection import PARAMETERS_HINT, attended, first_line, query_errors
from analyzer.store.db.engine import Connection, Parameters, execute
from analyzer.store.db.frames import ArrowStream, OnlyStream, register, to_frame
from analyzer.store.db.tables.schema import views

if TYPE_CHECKING:
    import polars as pl


_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.IGNORECASE | re.ASCII)
_RESERVED = """
select 1 from duckdb_keywords() where keyword_name = $1 and keyword_category in ('reserved', 'type_function')
"""
_FRAMES = "give a frame of polars, pandas or Arrow, a dict of columns, or a list of dicts"
_UNREADABLE = (ImportError, TypeError, ValueError, duckdb.Error)
_POLARS = "give a polars frame"
Registered: TypeAlias = "ArrowStream | pl.LazyFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]]"
"""The kinds of rows that can be registered."""


def checked_name(connection: Connection, name: str) -> str:
    """Return the name in small letters; SQL takes it in any case.

    Raises:
        QueryError: SQL would want it in quotes, or it is that of a view.
    """
    if not _NAME.fullmatch(name):
        raise QueryError(f"not a name that SQL takes as it is: {name!r}", "write letters, digits and _, as in my_teams")
    small = name.lower()
    if small in views():
        raise QueryError(f"{small} is a view of the store", "choose another name")
    if small == "internal" or execute(connection, _RESERVED, [small]):
        raise QueryError(f"{small} has a meaning of its own in SQL", "choose another name")
    return small


def copied(connection: Connection, name: str, frame: Registered) -> pl.DataFrame:
    """Copy the rows as they are now, after the database has checked their types.

    Raises:
        QueryError: it is no frame, or a column is of a type that SQL does not have.
    """
    import polars as pl

    rows = frame.clone() if isinstance(frame, pl.DataFrame) else _read(frame)
    if strange := [column for column, kind in rows.schema.items() if kind == pl.Object]:
        raise QueryError(f"no SQL type for Python objects, as in column {strange[0]}", "cast it to a text or a number")
    # SQL gives this type to a column of only nulls; Arrow's null type cannot mark them.
    rows = rows.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.Int32))
    with visible(connection, {name: rows}), query_errors():
        execute(connection, f"describe {name}")
    return rows


def _read(frame: object) -> pl.DataFrame:
    import polars as pl

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
def visible(connection: Connection, frames: Mapping[str, pl.DataFrame]) -> Iterator[None]:
    """Let statements of this connection see the frames under their names within the block."""
    try:
        with query_errors():
            for name, frame in frames.items():
                # The program may have left a table or view of this name, and makes it again when needed: a view
                # is replaced, a table is in the way.
                with suppress(duckdb.Error):
                    execute(connection, f"drop table if exists temp.{name}")
                register(connection, name, frame)
        yield
    finally:
        for name in frames:
            with suppress(duckdb.Error):
                connection.unregister(name)


_TABLE_FUNCTIONS = """
duckdb_approx_database_count duckdb_available_metrics duckdb_columns duckdb_connection_count duckdb_constraints
duckdb_coordinate_systems duckdb_databases duckdb_dependencies duckdb_dialects duckdb_eviction_queues
duckdb_extension_repositories duckdb_extensions duckdb_external_file_cache duckdb_external_resource_types
duckdb_external_resources duckdb_functions duckdb_grammar_extensions duckdb_indexes duckdb_keywords
duckdb_log_contexts duckdb_logs duckdb_logs_parsed duckdb_memory duckdb_optimizers duckdb_prepared_statements
duckdb_profiling_settings duckdb_schemas duckdb_secret_type_parameters duckdb_secret_types duckdb_secrets
duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_triggers
duckdb_types duckdb_variables duckdb_views generate_series generate_subscripts glob histogram histogram_values
icu_calendar_names json_each json_tree parquet_bloom_probe parquet_file_metadata parquet_full_metadata
parquet_kv_metadata parquet_metadata parquet_scan parquet_schema pg_timezone_names pragma_collations
pragma_database_size pragma_metadata_info pragma_platform pragma_show pragma_storage_info pragma_table_info
pragma_user_agent pragma_version query_table range read_blob read_csv read_csv_auto read_duckdb read_json
read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects
read_parquet read_single_csv_file read_single_json_file read_single_parquet_file read_text repeat repeat_row
sniff_csv summary test_all_types test_vector_types unnest which_secret
"""
READING_TABLE_FUNCTIONS = frozenset(_TABLE_FUNCTIONS.split())
"""Table functions that only read. Settings decide whether anything outside the store can be read.
"""

_EXPLAIN = re.compile(r"explain\s+(?:analy[sz]e\b\s*)?(\([^()]*\))?", re.IGNORECASE)
_FUNCTIONS_OF_TABLES = """
select json_extract_string(tree, '$.error'), json_extract_string(tree, '$..function.function_name')
from (select system.main.json_serialize_sql($1::varchar) as tree)
"""


def reading(connection: Connection, sql: str, parameters: Parameters = None) -> str:
    """Return the one statement in `sql`, which only reads, as the database shall run it. Nothing of it has run.

    The database decides: a statement may write at its top level, but never inside another query, and it names the
    table functions of its tree.

    Raises:
        QueryError: it is more or less than one statement, does not only read, or the database does not understand it.
    """
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(first_line(error), "check the SQL") from None
    if len(statements) != 1:
        raise QueryError(f"{len(statements)} statements", "give exactly one")
    kind = _kind(statements[0])
    if kind == "MULTI":
        raise QueryError("a pivot that has to look for its columns first", "name them: pivot … on x in ('a', 'b')")
    statement = _uncommented(statements[0].query)
    query = next((text for text in _queries(statement, kind) if _is_query(connection, text)), None)
    if query is None:
        raise _refused(f"a statement of kind {kind}" if kind != "EXPLAIN" else "EXPLAIN of something else than a query")
    with query_errors():
        # By its full name, as a store may hold a macro of that name.
        failed, functions = execute(connection, _FUNCTIONS_OF_TABLES, [query])[0]
    if failed == "true":
        raise _refused("something else than a query")
    if acting := {name.lower() for name in functions} - READING_TABLE_FUNCTIONS - set(views()):
        raise _refused(f"the table function {min(acting)}")
    with query_errors(), only_reading(connection):
        execute(connection, f"describe from (\n{query}\n)", parameters)
    return statement


def _kind(statement: duckdb.Statement) -> str:
    return str(statement.type).rsplit(".", 1)[-1].upper()


def _uncommented(text: str) -> str:
    """Return the statement without comments, and without semicolons at its end."""
    raw = text.encode()
    # The tokenizer gives offsets in bytes, and no ends.
    tokens = duckdb.tokenize(text)
    ends = [*(start for start, _ in tokens[1:]), len(raw)]
    pieces = (
        b" " if kind == duckdb.token_type.comment else raw[start:end]
        for (start, kind), end in zip(tokens, ends, strict=True)
    )
    return b"".join(pieces).decode().rstrip("; \t\r\n")


def _queries(statement: str, kind: str) -> Iterator[str]:
    """Yield what may be the query: the statement, or what its EXPLAIN explains, with a parenthesis and without it.

    A parenthesis after EXPLAIN opens its options or the query.
    """
    if kind == "SELECT":
        yield statement
    elif kind == "EXPLAIN" and (explain := _EXPLAIN.match(statement)):
        if explain[1]:
            yield statement[explain.start(1) :]
        yield statement[explain.end() :]


def _is_query(connection: Connection, text: str) -> bool:
    try:
        return [_kind(statement) for statement in connection.extract_statements(text)] == ["SELECT"]
    except duckdb.Error:
        return False


@contextlib.contextmanager
def only_reading(connection: Connection) -> Iterator[None]:
    """Open a transaction in which the database refuses to write to any store."""
    execute(connection, "begin transaction read only")
    try:
        yield
    finally:
        # After some errors DuckDB has already ended the transaction, and says so by raising.
        with contextlib.suppress(duckdb.Error):
            execute(connection, "rollback")


def _refused(what: str) -> QueryError:
    return QueryError(f"{what}; only reading is possible", "select, describe, summarize, show or explain")


_NAMED = re.compile(r"\bclassify\s*\(", re.IGNORECASE)
_FUNCTION = "classify_one"


def offer_classify(connection: Connection, sql: str) -> None:
    """Define the SQL function `classify` on this connection if `sql` names it.

    Raises:
        QueryError: it is named, and numpy is not installed.
    """
    if not load_classify(sql):
        return
    if execute(connection, "select 1 from duckdb_functions() where function_name = $1", [_FUNCTION]):
        return
    connection.create_function(
        _FUNCTION, _reason, ["VARCHAR", "INTEGER"], "VARCHAR", null_handling=FunctionNullHandling.SPECIAL
    )
    connection.execute(
        f"create or replace temp macro classify(message) as {_FUNCTION}(message::varchar, null),"
        f" (message, status) as {_FUNCTION}(message::varchar, try_cast(status as integer))"
    )


def load_classify(sql: str) -> bool:
    """Say whether `sql` names `classify`; if so, load what it needs, as limits may apply later.

    Raises:
        QueryError: it is named, and numpy is not installed.
    """
    if not _NAMED.search(sql):
        return False
    if find_spec("numpy") is None:
        raise QueryError(
            "the SQL function classify needs numpy",
            "the installation is not whole: pip install numpy",
        )
    import_module("numpy")
    _reason("", None)
    return True


def _reason(message: str | None, status: int | None) -> str | None:
    if message is None and status is None:
        return None
    from analyzer.classifier import classify

    facts = {"message": message, "status": status}
    return classify({key: value for key, value in facts.items() if value is not None}).reason


@frozen
class Answer:
    """The rows of an ad-hoc query."""

    frame: pl.DataFrame
    truncated: bool
    """Whether the limit cut rows off."""


def run(
    connection: Connection,
    sql: str,
    limit: int | None,
    parameters: Parameters = None,
    timeout: float | None = None,
) -> Answer:
    """Return the rows of one reading statement, at most `limit`, within `timeout` seconds.

    Raises:
        QueryError: more or less than one statement, one that writes, or one that the database refuses, as it does for
            a parameter without a value.
        LimitError: it takes longer.
    """
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping | None):
        raise QueryError(f"a {type(parameters).__name__} holds no parameters", PARAMETERS_HINT)
    offer_classify(connection, sql)
    statement = reading(connection, sql, parameters)

    def rows() -> pl.DataFrame:
        relation = connection.sql(statement, params=parameters)
        if relation is None:
            raise QueryError("the statement gives no rows", "select, describe, summarize, show or explain")
        return _frame(relation if limit is None else relation.limit(limit + 1))

    with query_errors(), only_reading(connection):
        frame = attended(connection, rows, timeout)
    if limit is None:
        return Answer(frame, truncated=False)
    return Answer(frame.head(limit), truncated=frame.height > limit)


def _frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Make a frame of the rows; intervals, unions and other unsafe values become text."""
    if any(map(_awkward, relation.types)):
        columns = [
            f'cast("{name.replace(chr(34), chr(34) * 2)}" as varchar) as "{name.replace(chr(34), chr(34) * 2)}"'
            if _awkward(kind)
            else f'"{name.replace(chr(34), chr(34) * 2)}"'
            for name, kind in zip(relation.columns, relation.types, strict=True)
        ]
        relation = relation.project(", ".join(columns))
    return to_frame(relation)


_AWKWARD = frozenset({"INTERVAL", "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"})
_NESTED = frozenset({"list", "array", "struct", "map"})
"""Types that contain other types; polars panics at a union or an interval in them."""


def _awkward(kind: Any, *, inside: bool = False) -> bool:
    if kind.id in {"union", "interval"} or (not inside and str(kind) in _AWKWARD):
        return True
    children = kind.children if kind.id in _NESTED else ()
    return any(_awkward(child, inside=True) for _, child in children if not isinstance(child, int))
