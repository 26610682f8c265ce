"""Ad-hoc SQL over the views of a lake: a statement that DuckDB's own tree of it says to read, in the words of Spark.

Protection against accidents, as for a file. Whatever is no view or macro of the store is refused by name, as Spark
would read files that stand in the place of a table, and run Java that stands in that of a function. Invariant: what is
known to be answered differently is refused, too, but for the last digits of doubles and the case of a few letters
beyond ASCII. A clause or a function may be used in a form in which the program's own queries use it, which tests hold
equal on both engines, and in a few forms beside.
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
from analyzer.store.query.adhoc import Answer, schema_of
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
    # Nothing of it runs there: no file is opened, and no row is made.
    with connect(MEMORY, read_only=True, closed=True) as empty:
        statement = reading(empty, sql).statement
        try:
            tree = sqlglot.parse_one(statement, read="duckdb")
        except sqlglot.errors.SqlglotError as error:
            raise QueryError(f"Spark cannot be asked that: {str(error).splitlines()[0]}", ASK_A_SLICE) from None
        # Its views have the columns of a store without rows.
        if isinstance(tree, exp.Show) or _asks_for_views(tree):
            return run_in_file(empty, statement, limit)
        if isinstance(tree, exp.Describe):
            _check(tree.this if isinstance(tree.this, exp.Query) else exp.select("*").from_(tree.this), answers.macros)
            return run_in_file(empty, statement, limit)
        _check(tree, answers.macros)
        schema = schema_of(empty, statement)
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


def _asks_for_views(tree: exp.Expr) -> bool:
    """Whether a query asks which views there are, or for their columns, and for nothing else."""
    asked = {table.this.name.lower() for table in tree.find_all(exp.Table)}
    return bool(asked) and asked <= {"duckdb_columns", "duckdb_views"}


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
        if not (_equal(node, macros) if isinstance(node, _JUDGED) else _plain(node)):
            said = f"Spark may answer {node.sql(dialect='duckdb')[:60]} otherwise than DuckDB"
            raise QueryError(said, ASK_A_SLICE)
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if next(stars, None) and any(join.args.get("using") for join in tree.find_all(exp.Join)):
        raise QueryError("Spark puts the columns of `using` first in a *", "name the columns, or join by `on`")


_JUDGED = (exp.Func, exp.Binary, exp.Unary, exp.Window, exp.AtTimeZone, exp.Bracket, exp.Between, exp.Lambda, exp.Any)
"""Nodes of which each engine has an idea of its own."""
_CLAUSES = {
    "Boolean": {"this"},
    "Column": {"this", "table"},
    "Except": {"this", "expression", "distinct", "order", "with_"},
    "Having": {"this"},
    "Identifier": {"this", "quoted"},
    "Intersect": {"this", "expression", "distinct", "order", "with_"},
    "Interval": {"this", "unit"},
    "Join": {"kind", "side", "on", "using"},
    "Offset": {"expression"},
    "Ordered": {"nulls_first"},
    "Paren": {"this"},
    "Select": {"having", "offset"},
    "Subquery": {"joins"},
    "Table": {"joins"},
    "TableAlias": {"columns"},
    "Union": {"limit", "offset"},
}
"""By the kind of any other node, clauses that no query of the program's has and that mean the same to both."""
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


def _no_tuple(node: exp.Expr) -> bool:
    """Whether it compares no tuples: a null in one is a value to one of them."""
    return not isinstance(node.this, exp.Tuple) and not isinstance(node.expression, exp.Tuple)


def _texts(node: exp.Expr) -> bool:
    """Whether it joins texts: numbers and moments are other texts."""
    return all(map(_is_text, (node.this, node.expression)))


def _is_text(node: exp.Expr) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Column):
        return node.name in _text_columns() and all(one.alias != node.name for one in node.root().find_all(exp.Alias))
    return isinstance(node, exp.DPipe | exp.Lower | exp.Trim | exp.Upper) or (
        isinstance(node, exp.Literal) and bool(node.is_string)
    )


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
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _no_tuple),
    exp.DPipe: _texts,
    # Of several values that are as frequent one engine takes the first it sees.
    exp.Mode: lambda node: isinstance(node.this, exp.Order),
}
"""Of what is used in a tested form: whether its values are such that the engines agree."""


def _plain(node: exp.Expr) -> bool:
    """Whether a node that computes nothing has no other clauses than tests hold equal."""
    known = _clauses().get(type(node).__name__)
    return known is not None and _given(node) <= known


def _given(node: exp.Expr) -> set[str]:
    return {key for key, value in node.args.items() if value not in (None, False, [])}


def _form(node: exp.Expr) -> _Form:
    """What kind of node it is, to or by what, and with which clauses."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
    unit = node.args.get("unit")
    by = node.to.sql(dialect="duckdb") if isinstance(node, exp.Cast) else unit.name.lower() if unit is not None else ""
    return name, by, frozenset(_given(node) - {"this", "expression", "expressions"})


@cache
def _text_columns() -> frozenset[str]:
    """Names of columns that are texts in every view that has them."""
    columns = [column for header in views().values() for column in header.columns]
    return frozenset({one.name for one in columns} - {one.name for one in columns if one.type != "VARCHAR"})


@cache
def _forms() -> frozenset[_Form]:
    """Those of all queries of the catalogue, and a few beside."""
    return _FORMS | {_form(node) for node in _used() if isinstance(node, _JUDGED)}


@cache
def _clauses() -> Mapping[str, set[str]]:
    """By the kind of node that computes nothing: the clauses that it has in the catalogue, and a few beside."""
    known = {name: set(given) for name, given in _CLAUSES.items()}
    for node in _used():
        if not isinstance(node, _JUDGED):
            known.setdefault(type(node).__name__, set()).update(_given(node))
    return known


@cache
def _used() -> tuple[exp.Expr, ...]:
    """Every node of the queries of the catalogue."""
    return tuple(node for query in catalogue().values() for node in parsed(query.header.body).dfs())


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
