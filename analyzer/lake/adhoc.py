"""Ad-hoc SQL over the views of a lake: a statement that DuckDB's own tree of it says to read, in the words of Spark.

Protection against accidents, as for a file. Whatever is no view or macro of the store is refused by name, as Spark
would read files that stand in the place of a table, and run Java that stands in that of a function. Invariant: what
the two engines may answer differently is refused, too. A function may be used in a form in which the program's own
queries use it, which tests hold equal on both engines, and in a few forms beside.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import sqlglot
from sqlglot import exp

from analyzer.errors import LimitError, QueryError
from analyzer.lake.answers import ASK_A_SLICE, Answers
from analyzer.lake.dialect import parsed
from analyzer.store.db.connection import connect
from analyzer.store.db.lock import MEMORY
from analyzer.store.db.tables.schema import views
from analyzer.store.query.adhoc import Answer
from analyzer.store.query.adhoc import run as run_in_file
from analyzer.store.query.catalogue import catalogue
from analyzer.store.query.readonly import reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNITS = ("minute", "hour", "day", "week", "month", "year")
_PLAIN = [
    "Abs",
    "Contains",
    "DenseRank",
    "ILike",
    "Lag",
    "Lead",
    "Like",
    "Lower",
    "Mod",
    "Neg",
    "Rank",
    "Trim",
    "Upper",
]
_FORMS = frozenset(
    {
        *(("TimestampTrunc", unit, frozenset({"unit"})) for unit in _UNITS),
        *((name, "", frozenset[str]()) for name in _PLAIN),
        ("Between", "", frozenset({"low", "high"})),
        ("Window", "", frozenset({"order", "over"})),
    }
)
"""Forms that no query of the program's has; tests hold each of them equal."""
_OFFSET = re.compile(r"\d{4}-\d\d-\d\d.*(?:[+-]\d\d(?::?\d\d)?|Z)")
"""A moment with its distance from UTC, which Spark would not heed where none is asked for."""
_MOST_ROWS = 2**31 - 1
"""What Spark takes for a limit."""
# What it makes nothing of is refused here.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
_AGAIN = 0.2
"""Seconds from one attempt to stop a statement to the next."""
_VIEWS = "views: docs/reference/views.md; the columns of one: analyzer sql 'describe errors' --store LAKE"


def run(answers: Answers, spark: SparkSession, sql: str, limit: int | None, seconds: float, *, remote: bool) -> Answer:
    """The rows of one reading statement over a lake's views, at most `limit` of them.

    `remote` is a session over Connect.

    Raises:
        QueryError: more or less than one statement, one that writes, or one that DuckDB, sqlglot or Spark refuses.
        LimitError: it takes longer.
        StoreError: a file of the lake cannot be read.
    """
    with connect(MEMORY, read_only=False) as empty:
        statement = reading(empty, sql).statement
        try:
            tree = sqlglot.parse_one(statement, read="duckdb")
        except sqlglot.errors.SqlglotError as error:
            raise QueryError(f"Spark cannot be asked that: {str(error).splitlines()[0]}", ASK_A_SLICE) from None
        if isinstance(tree, exp.Describe):
            # Its views have the columns of a store without rows.
            return run_in_file(empty, statement, limit)
        _check(tree, answers.macros)
        schema = run_in_file(empty, statement, 0).frame.schema
    cancel = spark.interruptAll if remote else spark.sparkContext.cancelAllJobs
    late, done = threading.Event(), threading.Event()

    def stop() -> None:
        if done.wait(seconds):
            return
        late.set()
        # Again and again: while Spark plans there is no job yet that could be cancelled.
        while not done.wait(_AGAIN):
            cancel()

    stopper = threading.Thread(target=stop, daemon=True)
    stopper.start()
    try:
        rows = None if limit is None or limit + 1 >= _MOST_ROWS else limit + 1
        frame = _as_in_a_file(answers.asked(tree, list(schema), rows), schema)
    except QueryError:
        if late.is_set():
            raise LimitError.of_time(seconds) from None
        raise
    finally:
        done.set()
        stopper.join()
    if limit is None:
        return Answer(frame, truncated=False)
    return Answer(frame.head(limit), truncated=frame.height > limit)


def _check(tree: exp.Expr, macros: frozenset[str]) -> None:
    """Refuse what is no query over views and macros.

    Raises:
        QueryError: it is none.
    """
    if not isinstance(tree, exp.Query) or tree.find(exp.Command, exp.DDL, exp.DML, exp.QueryTransform, exp.Into):
        raise QueryError("a lake answers queries alone", ASK_A_SLICE)
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    known = {name for name, header in views().items() if not header.params} | own
    for table in tree.find_all(exp.Table):
        called = isinstance(table.this, exp.Anonymous) and table.this.name.lower() in macros
        if not called and (table.db or table.catalog or table.name.lower() not in known):
            raise QueryError(f"no view {table.sql(dialect='duckdb')} in a lake", _VIEWS)
    for text in tree.find_all(exp.Literal):
        if text.is_string and _OFFSET.fullmatch(text.name.strip()):
            raise QueryError(f"{text.name} names its distance from UTC", "write moments in UTC, without it")
    for node in tree.dfs():
        if isinstance(node, _JUDGED) and not _equal(node, macros):
            said = f"Spark may answer {node.sql(dialect='duckdb')[:60]} otherwise than DuckDB"
            raise QueryError(said, ASK_A_SLICE)


_JUDGED = (exp.Func, exp.Binary, exp.Unary, exp.Window, exp.AtTimeZone, exp.Bracket, exp.Between, exp.Lambda, exp.Any)
"""Nodes of which each engine has an idea of its own."""
_Form = tuple[str, str, frozenset[str]]


def _equal(node: exp.Expr, macros: frozenset[str]) -> bool:
    """Whether tests hold a node equal on both engines."""
    if isinstance(node, exp.Anonymous) and node.name.lower() in macros:
        return True
    plain = _PLAINLY.get(type(node))
    return _form(node) in _forms() and (plain is None or plain(node))


def _counts(node: object) -> bool:
    """Whether it is a number that is written down, without a sign."""
    return isinstance(node, exp.Literal) and bool(node.is_int)


def _cast_alike(node: exp.Expr) -> bool:
    """Whether it is no cast by rules of their own: to one 1.7 is 2, and numbers and moments are other texts."""
    return node.args["to"].sql(dialect="duckdb") not in {"BIGINT", "TEXT"}


_PLAINLY: Mapping[type, Callable[[exp.Expr], bool]] = {
    exp.Cast: _cast_alike,
    exp.TryCast: _cast_alike,
    # From the end, or before the beginning.
    exp.Bracket: lambda node: all(_counts(one) or one.is_string for one in node.expressions),
    exp.Left: lambda node: _counts(node.expression),
    exp.Round: lambda node: node.args.get("decimals") is None or _counts(node.args["decimals"]),
    # A backslash is an escape to one of them.
    exp.Like: lambda node: "\\" not in node.expression.name,
    exp.ILike: lambda node: "\\" not in node.expression.name,
}
"""Of what is used in a tested form: whether its values are such that the engines agree."""


def _form(node: exp.Expr) -> _Form:
    """What kind of node it is, to or by what, and with which clauses."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
    unit = node.args.get("unit")
    by = node.to.sql(dialect="duckdb") if isinstance(node, exp.Cast) else unit.name.lower() if unit is not None else ""
    values = ("this", "expression", "expressions")
    given = (key for key, value in node.args.items() if value not in (None, False, []) and key not in values)
    return name, by, frozenset(given)


@cache
def _forms() -> frozenset[_Form]:
    """Those of all queries of the catalogue, and a few beside."""
    trees = (parsed(query.header.body) for query in catalogue().values())
    used = {_form(node) for tree in trees for node in tree.dfs() if isinstance(node, _JUDGED)}
    return _FORMS | used


def _as_in_a_file(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The answer with the types that DuckDB gives its columns.

    Raises:
        QueryError: Spark has made something else of one of them.
    """
    for name, wanted in schema.items():
        found = frame.schema[name]
        if found != wanted and not (found.is_numeric() and wanted.is_numeric()) and found != pl.Null:
            raise QueryError(f"Spark answers {name} as {found}, DuckDB as {wanted}", ASK_A_SLICE)
    return frame.cast(schema)
