"""Ad-hoc SQL: one statement that only reads, on a connection that reaches nothing but the store.

Protection against accidents, not a wall against hostile SQL: a query can still use much memory and time.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import polars as pl

from analyzer.errors import QueryError
from analyzer.store.database import first_line, query_errors
from analyzer.store.frames import to_frame
from analyzer.store.functions import offer_classify

_READING = {"SELECT", "EXPLAIN", "RELATION"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of an ad-hoc query."""

    frame: pl.DataFrame
    truncated: bool
    """Whether the limit cut rows off."""


def run(connection: duckdb.DuckDBPyConnection, sql: str, limit: int | None) -> Answer:
    """The rows of one reading statement, at most `limit` of them.

    Raises:
        QueryError: more or less than one statement, one that writes, or one that the database refuses.
    """
    offer_classify(connection, sql)
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(first_line(error), "check the SQL") from None
    if len(statements) != 1:
        raise QueryError(f"{len(statements)} statements", "give exactly one")
    kind = str(statements[0].type).rsplit(".", 1)[-1].upper()
    if kind not in _READING:
        raise QueryError(
            f"a {kind} statement; only reading is possible", "select, describe, summarize, show or explain"
        )
    with query_errors():
        relation = connection.sql(sql)
        if relation is None:
            raise QueryError("the statement gives no rows", "select, describe, summarize, show or explain")
        if limit is None:
            return Answer(_frame(relation), truncated=False)
        frame = _frame(relation.limit(limit + 1))
    return Answer(frame.head(limit), truncated=frame.height > limit)


def _frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """INTERVAL and TIME ZONE values have no safe way into a frame; they go as text."""
    awkward = {"INTERVAL", "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"}
    if any(str(kind) in awkward for kind in relation.types):
        columns = [
            f'cast("{name.replace(chr(34), chr(34) * 2)}" as varchar) as "{name.replace(chr(34), chr(34) * 2)}"'
            if str(kind) in awkward
            else f'"{name.replace(chr(34), chr(34) * 2)}"'
            for name, kind in zip(relation.columns, relation.types, strict=True)
        ]
        relation = relation.project(", ".join(columns))
    return to_frame(relation)
