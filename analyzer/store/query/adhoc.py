"""Run ad-hoc SQL: one statement that only reads, on a connection that reaches only the store.

This protects against accidents, not against hostile SQL: a query can still use much memory and
time.

The database's own syntax tree of a statement and its binder decide whether it only reads, before
any of it runs.

A statement may name frames of the caller: data, and never a way to a file. No such name hides a
view of the store, and the frames are not visible while the program asks its own questions.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import polars as pl
from duckdb.func import FunctionNullHandling

from analyzer.errors import QueryError
from analyzer.store.db.connection import PARAMETERS_HINT, attended, first_line, query_errors
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


def checked_name(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the name in small letters; SQL takes it in any case.

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
        connection.execute(f"describe {name}").fetchall()
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
def visible(connection: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> Iterator[None]:
    """Let statements of this connection see the frames under their names within the block."""
    try:
        with query_errors():
            for name, frame in frames.items():
                # The program may have left a table or view of this name, and makes it again when needed: a view
                # is replaced, a table is in the way.
                with suppress(duckdb.Error):
                    connection.execute(f"drop table if exists temp.{name}").fetchall()
                register(connection, name, frame)
        yield
    finally:
        for name in frames:
            with suppress(duckdb.Error):
                connection.unregister(name)


_QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""Nodes that a query may consist of; others insert, update, delete, or copy into files."""

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

ACTING_FUNCTIONS = frozenset({"json_serialize_plan", "nextval", "setval", "write_log"})
"""Functions in expressions that write, or that plan SQL given as text."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement that only reads."""

    statement: str
    query: str
    """The query in it: the statement itself, or what its EXPLAIN explains."""


def reading(connection: duckdb.DuckDBPyConnection, sql: str, parameters: object = None) -> Reading:
    """Return the one statement in `sql`, which only reads. Nothing of it has run.

    Raises:
        QueryError: it is more or less than one statement, does not only read, or the database does not understand it.
    """
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(first_line(error), "check the SQL") from None
    if len(statements) != 1:
        raise QueryError(f"{len(statements)} statements", "give exactly one")
    kind = str(statements[0].type).rsplit(".", 1)[-1].upper()
    text = statements[0].query
    if kind == "MULTI":
        raise QueryError("a pivot that has to look for its columns first", "name them: pivot … on x in ('a', 'b')")
    if kind not in {"SELECT", "EXPLAIN"}:
        raise _refused(f"a statement of kind {kind}")
    query = next((candidate for candidate in _candidates(text, kind) if _reads(connection, candidate)), None)
    if query is None:
        raise _refused(f"{kind} of something else than a query")
    _bind_below_a_query(connection, query, parameters)
    return Reading(text, query)


def _candidates(text: str, kind: str) -> Iterator[str]:
    """Yield the query of a statement, without EXPLAIN, its options and the semicolons at its end.

    A parenthesis after EXPLAIN opens its options or the query; the caller finds out which is one.
    """
    raw = text.encode()
    # The tokenizer gives offsets in bytes, and no ends.
    starts = [start for start, token in duckdb.tokenize(text) if token != duckdb.token_type.comment]
    while starts and raw[starts[-1] : starts[-1] + 1] == b";":
        raw = raw[: starts.pop()]
    if kind == "SELECT" or len(starts) < 2:
        yield raw.decode()
        return
    # Only words and parentheses matter; the rest of a token is ignored.
    first = 2 if re.match(rb"analy[sz]e\b", raw[starts[1] :], re.IGNORECASE) else 1
    if first >= len(starts):
        return
    yield raw[starts[first] :].decode()
    depth = 0
    for index in range(first, len(starts)):
        depth += {b"(": 1, b")": -1}.get(raw[starts[index] : starts[index] + 1], 0)
        if depth <= 0:
            if index + 1 < len(starts):
                yield raw[starts[index + 1] :].decode()
            return


def _reads(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Say whether a node of the tree is a query.

    Raises:
        QueryError: it is one, and does not only read.
    """
    with query_errors():
        # By its full name, as a store may hold a macro of that name.
        rows = connection.execute("select system.main.json_serialize_sql($1::varchar)", [query]).fetchall()
    try:
        tree = json.loads(rows[0][0])
    except RecursionError:
        raise QueryError("the statement is nested too deeply", "write it with fewer levels") from None
    if tree["error"] or len(tree["statements"]) != 1:
        return False
    for node in _nodes(tree["statements"]):
        _check(node)
    return True


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Yield every object of the tree, at any depth."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def _check(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if ("cte_map" in node or str(kind).endswith("_NODE")) and kind not in _QUERY_NODES:
        raise _refused(f"{str(kind).split('_')[0]} inside of a query")
    if kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name")).lower()
        if name not in READING_TABLE_FUNCTIONS and name not in views():
            raise _refused(f"the table function {name}")
    if node.get("class") == "FUNCTION" and str(node.get("function_name")).lower() in ACTING_FUNCTIONS:
        raise _refused(f"the function {node['function_name']}")


def _bind_below_a_query(connection: duckdb.DuckDBPyConnection, query: str, parameters: object) -> None:
    """Let the database itself refuse what writes.

    A statement may write at its top level, but never inside another query.
    """
    with query_errors(), only_reading(connection):
        connection.execute(f"describe from (\n{query}\n)", parameters).fetchall()


@contextlib.contextmanager
def only_reading(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Open a transaction in which the database refuses to write to any store."""
    connection.execute("begin transaction read only").fetchall()
    try:
        yield
    finally:
        # After some errors DuckDB has already ended the transaction, and says so by raising.
        with contextlib.suppress(duckdb.Error):
            connection.execute("rollback").fetchall()


def _refused(what: str) -> QueryError:
    return QueryError(f"{what}; only reading is possible", "select, describe, summarize, show or explain")


_NAMED = re.compile(r"\bclassify\s*\(", re.IGNORECASE)
_FUNCTION = "classify_one"


def offer_classify(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Define the SQL function `classify` on this connection if `sql` names it.

    Raises:
        QueryError: it is named, and numpy is not installed.
    """
    if not load_classify(sql):
        return
    if connection.execute("select 1 from duckdb_functions() where function_name = $1", [_FUNCTION]).fetchall():
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


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of an ad-hoc query."""

    frame: pl.DataFrame
    truncated: bool
    """Whether the limit cut rows off."""


Parameters = Sequence[object] | Mapping[str, object] | None
"""Values of a statement: a sequence for `?` and `$1`, a mapping for `$name`."""


def run(
    connection: duckdb.DuckDBPyConnection,
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
    statement = reading(connection, sql, parameters).statement

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
