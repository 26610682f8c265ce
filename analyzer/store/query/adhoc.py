"""Ad-hoc SQL: one statement that only reads, on a connection that reaches nothing but the store.

Protection against accidents, not a wall against hostile SQL: a query can still use much memory and time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from analyzer.errors import QueryError
from analyzer.store.db.attending import attended
from analyzer.store.db.connection import PARAMETERS_HINT, query_errors
from analyzer.store.db.frames import to_frame
from analyzer.store.query.classify_function import offer_classify
from analyzer.store.query.readonly import only_reading, reading

if TYPE_CHECKING:
    import polars as pl


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
    """The rows of one reading statement, at most `limit` of them, within `timeout` seconds (None: however long).

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
    """Make a frame of the rows. Values that no frame takes safely, as intervals and unions, become text."""
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
"""Types in which others stand; at a union or an interval in them polars panics."""


def _awkward(kind: Any, *, inside: bool = False) -> bool:
    if kind.id in {"union", "interval"} or (not inside and str(kind) in _AWKWARD):
        return True
    children = kind.children if kind.id in _NESTED else ()
    return any(_awkward(child, inside=True) for _, child in children if not isinstance(child, int))
