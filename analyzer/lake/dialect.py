"""The program's SQL, which is DuckDB's, in the words of Spark, so that both give the same rows to the last digit.

Invariant: no statement is written twice. What sqlglot carries over otherwise than DuckDB means it has its remedy here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp

INTERNAL = "internal_"
"""What stands before the names of internal tables: a temporary view of Spark's has no schema."""
WHOLE = "main_"
"""What stands before the names of views that a selection has replaced."""
_TYPES = {"VARCHAR": "string", "TIMESTAMP": "timestamp_ntz"}

_NUMBERS = itertools.count(1)


def spark_type(name: str) -> str:
    """A type of DuckDB's, as headers name it, in Spark's words."""
    return _TYPES.get(name, name.lower())


def parsed(sql: str) -> exp.Expr:
    """A statement of the program's as a tree."""
    return sqlglot.parse_one(sql, read="duckdb")


class Statement(NamedTuple):
    """A statement in the words of Spark."""

    sql: str
    names: frozenset[str]
    """Of the tables and views that it asks, and of its own CTEs, in small letters."""


def spark_sql(tree: exp.Expr, macros: Mapping[str, Macro], params: Mapping[str, str]) -> Statement:
    """A tree in the words of Spark.

    `params` are the statement's own parameters with their types in DuckDB, which `:name` stands for and whose values
    are texts.
    """
    tree = expanded(tree.copy(), macros)
    for remedy in (lambda node: _parameter(node, params), *_REMEDIES):
        tree = _upwards(tree, remedy)
    names = frozenset(table.name.lower() for table in tree.find_all(exp.Table))
    return Statement(str(tree.sql(dialect="spark")), names)


def _upwards(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The tree with every node changed, the innermost first."""
    for node in reversed(list(tree.dfs())):
        parent = node.parent
        key, place = node.arg_key, node.index
        changed = change(node)
        if changed is not node:
            if parent is None:
                tree = changed
                tree.parent = None
            else:
                parent.set(str(key), changed, place)
    return tree


class Macro:
    """A macro of the store's: the names of its parameters, and the expression or the query that it stands for."""

    def __init__(self, names: tuple[str, ...], body: exp.Expr) -> None:
        self._names = names
        self._body = body

    def applied(self, arguments: list[exp.Expr]) -> exp.Expr:
        """The body, with these arguments in the place of the parameters."""
        given = dict(zip(self._names, arguments, strict=True))

        def replaced(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and node.name in given:
                return exp.paren(given[node.name].copy())
            return node

        return _upwards(_renamed(self._body.copy(), next(_NUMBERS)), replaced)


def _renamed(body: exp.Expr, number: int) -> exp.Expr:
    """A query whose own CTEs have names that no other query has: in one statement Spark wants each of them once."""
    own = {cte.alias: f"{cte.alias}_{number}" for cte in body.find_all(exp.CTE)}
    for cte in body.find_all(exp.CTE):
        cte.set("alias", exp.TableAlias(this=exp.to_identifier(own[cte.alias])))
    for table in body.find_all(exp.Table):
        if not table.db and table.name in own and isinstance(table.this, exp.Identifier):
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(own[table.name]))
    return body


def expanded(tree: exp.Expr, macros: Mapping[str, Macro]) -> exp.Expr:
    """The tree with what its macros stand for in their place."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous) and node.this.name.lower() in macros:
            body = macros[node.this.name.lower()].applied(node.this.expressions)
            alias = node.args.get("alias")
            return exp.Subquery(this=expanded(body, macros), alias=alias or exp.TableAlias(this=exp.to_identifier("m")))
        if isinstance(node, exp.Anonymous) and node.name.lower() in macros and not isinstance(node.parent, exp.Table):
            return exp.paren(expanded(macros[node.name.lower()].applied(node.expressions), macros))
        return node

    return _upwards(tree, replaced)


def _parameter(node: exp.Expr, params: Mapping[str, str]) -> exp.Expr:
    name = node.name if isinstance(node, exp.Parameter | exp.Placeholder) else None
    if not name or name not in params:
        return node
    kind = "int" if isinstance(node.parent, exp.Limit) else spark_type(params[name])
    return _cast(exp.Placeholder(this=name), kind)


def _names(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Table) and node.db in {"internal", "main"}:
        before = INTERNAL if node.db == "internal" else WHOLE
        node.set("this", exp.to_identifier(before + node.name))
        node.set("db", None)
        node.set("catalog", None)
    return node


def _where(node: exp.Expr) -> exp.Expr:
    """`t where (seen)` is to Spark a table that is called `where`, with a column that is called `seen`."""
    if isinstance(node, exp.Where):
        node.set("this", node.this.unnest())
    return node


def _literal(node: exp.Expr) -> exp.Expr:
    """1.92 is a decimal to Spark."""
    if isinstance(node, exp.Literal) and not node.is_string and "." in node.this and "e" not in node.this.lower():
        return exp.Literal(this=f"{node.this}e0", is_string=False)
    return node


def _best(node: exp.Expr) -> exp.Expr:
    """The value at the largest or smallest key: nulls are no value, and in a key of several parts the largest part."""
    if not isinstance(node, exp.ArgMax | exp.ArgMin):
        return node
    value, key, count = node.this, node.expression, node.args.get("count")
    some = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    parts = list(key.expressions) if isinstance(key, exp.Tuple) else [key]
    word = "max_by" if isinstance(node, exp.ArgMax) else "min_by"
    if len(parts) > 1:
        key = _call(
            "struct", *(_call("struct", exp.Is(this=part.copy(), expression=exp.Null()), part) for part in parts)
        )
    if count is None:
        return _filtered(_call(word, value.copy(), key), some)
    rows = _call("array_sort", _call("collect_list", _call("named_struct", _text("k"), key, _text("v"), value)))
    first = _call("slice", rows, exp.Literal.number(1), count)
    return _call("transform", first, exp.Lambda(this=exp.column("v", "s"), expressions=[exp.to_identifier("s")]))


def _filtered(call: exp.Expr, condition: Any) -> exp.Expr:
    return exp.Filter(this=call, expression=exp.Where(this=condition))


def _nested_filter(node: exp.Expr) -> exp.Expr:
    """A filter of a filtered aggregate is one filter of both conditions."""
    if isinstance(node, exp.Filter) and isinstance(node.this, exp.Filter):
        both = exp.and_(node.expression.this, node.this.expression.this)
        return _filtered(node.this.this, both)
    return node


def _function(node: exp.Expr) -> exp.Expr:
    remedy = _FUNCTIONS.get(type(node))
    if remedy:
        return remedy(node)
    if isinstance(node, exp.Anonymous):
        named = _ANONYMOUS.get(node.name.lower())
        if named:
            return named(node)
    return node


def _round(node: exp.Expr) -> exp.Expr:
    """DuckDB rounds the multiple, Spark the decimal digits."""
    places = node.args.get("decimals")
    if places is None:
        return node
    scale = exp.Literal(this=f"1e{places.name}", is_string=False)
    return exp.paren(
        exp.Div(this=exp.Round(this=exp.Mul(this=exp.paren(node.this), expression=scale)), expression=scale.copy())
    )


def _item(node: exp.Expr) -> exp.Expr:
    """An item that a list does not have is null; counted from 1 in DuckDB, and by now from 0 in the tree."""
    if len(node.expressions) == 1 and node.expressions[0].is_int:
        return _call("get", node.this, node.expressions[0])
    return node


def _zoned(node: exp.Expr) -> exp.Expr:
    """`timezone(zone, timezone('UTC', x))`: naive UTC as the clock of a zone, naive."""
    zone, inner = node.expressions
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "timezone":
        return _call("convert_timezone", inner.expressions[0], zone, inner.expressions[1])
    return node


def _mode(node: exp.Expr) -> exp.Expr:
    """The most frequent value; of several the first in this order."""
    return exp.WithinGroup(this=_call("mode"), expression=exp.Order(expressions=node.this.expressions))


def _exists(node: exp.Expr) -> exp.Expr:
    """Spark asks for rows in a condition alone, and counts them anywhere."""
    if node.find_ancestor(exp.Where, exp.Join):
        return node
    rows = node.this.copy()
    rows.set("expressions", [exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))])
    return exp.Subquery(this=rows)


def _window(node: exp.Expr) -> exp.Expr:
    """An aggregate over a window takes no filter in Spark; nulls are not counted in any."""
    if isinstance(node.this, exp.Filter):
        call, condition = node.this.this, node.this.expression.this
        counted = exp.Literal.number(1) if isinstance(call.this, exp.Star) else call.this
        call.set("this", exp.Case(ifs=[exp.If(this=condition, true=counted)]))
        node.set("this", call)
    return node


def _json_rows(node: exp.Expr) -> exp.Expr:
    """JSON by a shape that DuckDB writes as JSON, too."""
    text, shape = (one for one in node.args.values() if isinstance(one, exp.Expr))
    return _call("from_json", text, _text(_shape(json.loads(shape.name))))


def _shape(said: Any) -> str:
    if isinstance(said, list):
        return f"array<{_shape(said[0])}>"
    if isinstance(said, dict):
        return f"struct<{', '.join(f'{name}: {_shape(kind)}' for name, kind in said.items())}>"
    return spark_type(said)


def _seconds(node: exp.Expr) -> exp.Expr:
    """Seconds since 1970 with their fraction."""
    micros = _call("unix_micros", _cast(node.this, "timestamp_ltz"))
    return exp.paren(exp.Div(this=micros, expression=exp.Literal(this="1e6", is_string=False)))


def _truncated(node: exp.Expr) -> exp.Expr:
    return _cast(_call("date_trunc", _text(node.args["unit"].name), node.this), "timestamp_ntz")


def _total(node: exp.Expr) -> exp.Expr:
    """The sum of a list; of an empty one it is null."""
    items = node.expressions[0]
    nothing = _cast(exp.Literal.number(0), "bigint")
    names = [exp.to_identifier("so_far"), exp.to_identifier("item")]
    adding = exp.Lambda(this=exp.Add(this=exp.column("so_far"), expression=exp.column("item")), expressions=names)
    some = exp.GT(this=_call("size", items.copy()), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=_call("aggregate", items, nothing, adding))])


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="spark"))


def _no_hint(node: exp.Expr) -> exp.Expr:
    """Spark decides by itself what to keep of a query that is asked twice, and has no word for it."""
    node.set("materialized", None)
    return node


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


_FUNCTIONS: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Round: _round,
    exp.Bracket: _item,
    exp.AnyValue: lambda node: exp.Min(this=node.this),
    # `min` of what was a value: the tree says already that nulls are none.
    exp.IgnoreNulls: lambda node: node.this if isinstance(node.this, exp.Min) else node,
    exp.CTE: _no_hint,
    exp.FromJson: _json_rows,
    exp.Mode: _mode,
    exp.Exists: _exists,
    exp.Window: _window,
    exp.TimeToUnix: _seconds,
    exp.TimestampTrunc: _truncated,
}
_ANONYMOUS: dict[str, Callable[[Any], exp.Expr]] = {
    "timezone": _zoned,
    "list_sum": _total,
}
_REMEDIES: tuple[Callable[[exp.Expr], exp.Expr], ...] = (_names, _where, _literal, _best, _nested_filter, _function)
