"""The query catalogue: `queries/<area>/<name>.sql`, known as `<area>-<name>`. No query is written anywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from analyzer.command_lines import command_line
from analyzer.errors import QueryError
from analyzer.events.times import now
from analyzer.store.db.connection import attended, query_errors
from analyzer.store.db.frames import MANY_ROWS, give_back
from analyzer.store.db.tables.schema import Header, Param, parse_header
from analyzer.store.query.selection import Selection, moment, span

_Answer = TypeVar("_Answer", bound=Sized)
_FIRST = ("overview", "errors", "unknown", "retries", "relays", "exhaustions", "tools", "timeline")
"""Areas in the order of what people ask first; others follow by name."""
_INNER = ("compare", "detection")
"""The areas of what commands ask for themselves: the last ones."""


@dataclass(frozen=True, slots=True)
class Query:
    """A catalogue entry."""

    name: str
    header: Header

    @property
    def inner(self) -> bool:
        """Whether it is of those that checks and reports ask for themselves."""
        return self.name.partition("-")[0] in _INNER

    def values(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the value of every parameter: the given one, else its default.

        Raises:
            QueryError: a parameter that the query does not have, or a value of the wrong type.
        """
        known = {param.name: param for param in self.header.params}
        if "last" in given and "last" not in known:
            given = _since(given)
        for name in given:
            if name not in known and name in Selection.__slots__:
                said = f"with store.selecting(Selection({name}={given[name]!r})): …"
                raise QueryError(f"query {self.name} has no parameter {name}", f"ask for a part of the store: {said}")
            if name not in known:
                raise QueryError.unknown_value(f"parameter of query {self.name}", name, known)
        return {name: _value(param, given.get(name, param.default)) for name, param in known.items()}


def _since(given: Mapping[str, object]) -> dict[str, object]:
    """The parameters with `since` in the place of `last`."""
    if given.get("since") is not None:
        raise QueryError("both since and last", "give one of them")
    last = given["last"]
    rest = {name: value for name, value in given.items() if name != "last"}
    return rest if last is None else {**rest, "since": now() - span(str(last))}


def catalogue() -> dict[str, Query]:
    """All queries by name, those first that people ask first."""
    return _load(_folder())


def find(name: str) -> Query:
    """Return the query of this name.

    Raises:
        QueryError: there is none of that name.
    """
    known = catalogue()
    if name not in known:
        raise QueryError.unknown_value("query", name, known, command_line("query", "--list"))
    return known[name]


def run(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    given: Mapping[str, object],
    read: Callable[[duckdb.DuckDBPyConnection, str, Mapping[str, object]], _Answer],
) -> _Answer:
    """The rows of a query in its own order, as `read` gives them.

    Raises:
        QueryError: unknown name or parameter, a bad value, or the database refuses.
    """
    query = find(name)
    values = query.values(given)
    with query_errors():
        answer = attended(connection, lambda: read(connection, query.header.body, values))
    if len(answer) >= MANY_ROWS:
        give_back()
    return answer


@cache
def _load(folder: str) -> dict[str, Query]:
    found = {}
    for path in sorted(Path(folder).glob("*/*.sql"), key=lambda path: (_rank(path.parent.name), path)):
        name = f"{path.parent.name}-{path.stem}"
        found[name] = Query(name, parse_header(path.read_text("utf-8"), f"{path.parent.name}/{path.name}"))
    return found


def _rank(area: str) -> int:
    return _FIRST.index(area) if area in _FIRST else len(_FIRST) + (area in _INNER)


@cache
def _folder() -> str:
    """`queries/` inside the installed package, else at the top of the checkout."""
    inside = resources.files("analyzer").joinpath("queries")
    if inside.is_dir():
        return os.fspath(str(inside))
    return os.fspath(Path(__file__).resolve().parents[3] / "queries")


def _value(param: Param, given: object) -> object:
    if given is None or given == "null":
        return None
    try:
        if param.type == "TIMESTAMP":
            return given if isinstance(given, datetime) else moment(str(given), now())
        if param.type in {"BIGINT", "INTEGER"}:
            return int(str(given))
        if param.type == "DOUBLE":
            return float(str(given))
    except ValueError:
        raise QueryError(f"{given!r} is no {param.type}", f"parameter {param.name}: {param.description}") from None
    text: Any = str(given)
    return text.strip("'") if given is param.default else text
