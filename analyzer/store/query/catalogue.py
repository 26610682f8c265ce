"""The query catalogue: `queries/<area>/<name>.sql`, known as `<area>-<name>`. No query is written anywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sized
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from analyzer.command_lines import command_line
from analyzer.errors import QueryError
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.store.db.connection import attended, query_errors
from analyzer.store.db.engine import Connection
from analyzer.store.db.frames import MANY_ROWS, give_back
from analyzer.store.db.tables.schema import Header, Param, parse_header
from analyzer.store.query.selection import Selection, moment, span

_Answer = TypeVar("_Answer", bound=Sized)
_FIRST = ("overview", "errors", "unknown", "retries", "relays", "exhaustions", "tools", "timeline")
"""Areas that people ask for first, in order; others follow by name."""
_INNER = ("compare", "detection", "objectives", "whatif")
"""Areas of queries that commands run for themselves: they come last."""


@frozen
class Query:
    """A catalogue entry."""

    name: str
    header: Header

    @property
    def inner(self) -> bool:
        """Say whether checks and reports run this query for themselves."""
        return self.name.partition("-")[0] in _INNER

    def values(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the value of every parameter: that of `arguments`, else its default.

        Raises:
            QueryError: a parameter that the query does not have, or a value of the wrong type.
        """
        params = {param.name: param for param in self.header.params}
        if "last" in arguments and "last" not in params:
            arguments = _since(arguments)
        for name in arguments:
            if name not in params and name in Selection.__slots__:
                example = f"with store.selecting(Selection({name}={arguments[name]!r})): …"
                raise QueryError(
                    f"query {self.name} has no parameter {name}", f"ask for a part of the store: {example}"
                )
            if name not in params:
                raise QueryError.unknown_value(f"parameter of query {self.name}", name, params)
        return {name: _value(param, arguments.get(name, param.default)) for name, param in params.items()}


def _since(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters with `since` instead of `last`."""
    if arguments.get("since") is not None:
        raise QueryError("both since and last", "give one of them")
    last = arguments["last"]
    rest = {name: value for name, value in arguments.items() if name != "last"}
    return rest if last is None else {**rest, "since": now() - span(str(last))}


def catalogue() -> dict[str, Query]:
    """Return all queries by name, in the order of the areas."""
    return _load(_folder())


def find(name: str) -> Query:
    """Return the query of this name.

    Raises:
        QueryError: there is none of that name.
    """
    area, _, rest = name.partition("-")
    path = Path(_folder(), area, f"{rest}.sql")
    # Only a plain name is that of a file in the folder.
    if name.replace("-", "").isalnum() and name.islower() and path.is_file():
        return _read(path)
    raise QueryError.unknown_value("query", name, catalogue(), command_line("query", "--list"))


def run(
    connection: Connection,
    name: str,
    arguments: Mapping[str, object],
    read: Callable[[Connection, str, Mapping[str, object]], _Answer],
) -> _Answer:
    """Run a query and return its rows in its own order, as `read` gives them.

    Raises:
        QueryError: unknown name or parameter, a bad value, or the database refuses.
    """
    query = find(name)
    values = query.values(arguments)
    with query_errors():
        answer = attended(connection, lambda: read(connection, query.header.body, values))
    if len(answer) >= MANY_ROWS:
        give_back()
    return answer


@cache
def _load(folder: str) -> dict[str, Query]:
    queries = {}
    for path in sorted(Path(folder).glob("*/*.sql"), key=lambda path: (_rank(path.parent.name), path)):
        query = _read(path)
        queries[query.name] = query
    return queries


@cache
def _read(path: Path) -> Query:
    header = parse_header(path.read_text("utf-8"), f"{path.parent.name}/{path.name}")
    return Query(f"{path.parent.name}-{path.stem}", header)


def _rank(area: str) -> int:
    return _FIRST.index(area) if area in _FIRST else len(_FIRST) + (area in _INNER)


@cache
def _folder() -> str:
    """Return `queries/` inside the installed package, else the one at the top of the checkout."""
    _, _, package, checkout, *_ = Path(__file__).resolve().parents
    inside = package / "queries"
    return os.fspath(inside if inside.is_dir() else checkout / "queries")


def _value(param: Param, value: object) -> object:
    if value is None or value == "null":
        return None
    try:
        if param.type == "TIMESTAMP":
            return value if isinstance(value, datetime) else moment(str(value), now())
        if param.type in {"BIGINT", "INTEGER"}:
            return int(str(value))
        if param.type == "DOUBLE":
            return float(str(value))
    except ValueError:
        raise QueryError(f"{value!r} is no {param.type}", f"parameter {param.name}: {param.description}") from None
    text: Any = str(value)
    return text.strip("'") if value is param.default else text
