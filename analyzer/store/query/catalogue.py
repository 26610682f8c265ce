"""The query catalogue: `queries/<area>/<name>.sql`, known as `<area>-<name>`. No query is written anywhere else.

Views are worked out once for many questions: a report asks some twenty, and each would fold all events again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
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
from analyzer.store.db.frames import MANY_ROWS, give_back, sql
from analyzer.store.db.location import CATALOG
from analyzer.store.db.tables.schema import Header, Param, parse_header, views
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


_TEXTS = ("code", "error_type", "message", "fingerprint", "template")
PINNED = {
    # Without sums of tokens, which no table of a report shows.
    "sessions": (
        "session_id, started_at, ended_at, requests, errors, unknown_errors, relays, caller, agent, agent_version,"
        " project, provider, model, tool_calls, tool_failures"
    ),
    "usage": (
        "event_id, occurred_at, session_id, caller, agent, project, model, input_tokens, output_tokens,"
        " cache_read_tokens, cache_write_tokens, cache_write_hour_tokens, cost_usd, cost_basis, prompt_cost_usd,"
        " whole_run"
    ),
    "retries": "operation, caller, session_id, reason, outcome, attempts, waited_seconds, started_at",
    # Texts take most room by far, and a report quotes those of unknown errors alone.
    "errors": (
        "occurred_at, caller, session_id, operation, outcome, reason, detail, party, provider, project, retryable,"
        " status, counts_as_unknown, has_facts, source_line,"
        + ",".join(map(" case when counts_as_unknown then {0} end as {0}".format, _TEXTS))
    ),
    "relays": (
        "relay, occurred_at, caller, session_id, step_id, trigger, strategy, token_usage_percent, threshold_percent,"
        " pre_tokens, post_tokens, outcome"
    ),
    "endings": "*",
}
"""The views that cost most and are asked most, with the columns that a report's tables are made of. The others would
take more room than these; a question for one of them fails. Views look names up when they are asked: those that stand
behind another one here are made of its copy.
"""
_COUNTED = ("retries", "errors")
_IN_WINDOW = "occurred_at >= $since and occurred_at < $until"
_SINCE = "occurred_at >= (select least($since, min(started_at)) from temp.sessions)"
_OF_CHAINS = "operation between $first and $last"
_OF_SESSIONS = "session_id in (select session_id from temp.sessions)"
_OF_WHOLE = "session_id in (select session_id from temp.whole_session where is_read)"
WITHIN = {
    "sessions": "ended_at >= $since and started_at < $until",
    "usage": f"{_IN_WINDOW} or {_OF_SESSIONS}",
    "retries": _OF_CHAINS,
    # What a chain of the window ended as is told by later errors.
    "errors": f"({_IN_WINDOW}) or {_OF_CHAINS}",
    "relays": f"{_SINCE} and ({_IN_WINDOW} or {_OF_WHOLE})",
    "endings": _OF_SESSIONS,
}
"""Of each what questions about a window need. Ids of chains begin with their time, as a rule."""
_WHOLE = """
create temp table whole_session as
select
  session_id,
  true as is_read
from temp.usage
union
select
  session_id,
  true as is_read
from internal.event_v1
where type = 'session.observed'
  and session_id in (select session_id from temp.sessions)
union
select
  s.session_id,
  false as is_read
from temp.retries as r
inner join temp.sessions as s
  on r.session_id = s.session_id
inner join (
  select
    operation,
    max(occurred_at) as last_at,
    bool_or(type = 'retry.scheduled') as waits
  from internal.event_v1
  where operation between $first and $last
  group by operation
) as e
  on r.operation = e.operation
where r.outcome = 'unresolved'
  and e.waits
  and e.last_at >= s.ended_at - interval 1 second
"""
"""The sessions that are asked about beyond the window, as an agent may keep one for months: those that end in a chain,
for their chains alone; those of which requests or a log tell the cost or the end, for all that they met (`is_read`).
"""
_WHOLE_CHAINS = """
insert into temp.retries
with near as (
  select *
  from internal.event_v1
  where operation in (
      select operation
      from internal.event_v1
      where session_id in (select session_id from temp.whole_session)
    )
    and not ({within})
),

retries as ({view})

select {columns}
from retries
"""
_WHOLE_ERRORS = """
insert into temp.errors
select {columns}
from {main}.errors
where {of_whole}
  and not coalesce({within}, false)
"""
"""What else those sessions met."""
CHAINS = """
select
  min(operation) as lowest,
  max(operation) as highest
from internal.event_v1
where occurred_at >= $since - interval 1 second
  and occurred_at < $until
"""
"""The first and the last of the chains that a window has any event of; a session may end a second after its chain."""


@contextmanager
def pinned(
    connection: duckdb.DuckDBPyConnection, since: datetime | None = None, until: datetime | None = None
) -> Iterator[Callable[[str], None]]:
    """Copy what these views have of a window into tables, and answer from the copies within the block.

    Without room for copies the views are used. What the block gets drops the copy of a view: from then on it answers
    itself, made of the copies that are left.
    """

    def drop(name: str) -> None:
        with suppress(duckdb.Error):
            connection.execute(f"drop table if exists temp.{name}").fetchall()

    try:
        # Names of temporary tables come before those of views.
        with suppress(duckdb.Error):
            window = {"since": since or datetime.min, "until": until or datetime.max}  # noqa: DTZ901 - naive UTC
            whole = since is None and until is None
            first, last = (None, None) if whole else connection.execute(CHAINS, window).fetchall()[0]
            known = {**window, "first": first, "last": last}
            # Sessions bound the errors of a window; of all time they are counted from the copy of the errors.
            for name in sorted(PINNED, key=_COUNTED.__contains__, reverse=True) if whole else PINNED:
                rows = _copied(connection, name, "" if whole else WITHIN[name], known)
                if rows >= MANY_ROWS:
                    give_back()
        yield drop
    finally:
        for name in (*PINNED, "whole_session"):
            drop(name)


def _copied(connection: duckdb.DuckDBPyConnection, name: str, within: str, known: Mapping[str, Any]) -> int:
    """The rows of a view's copy, of a window that `within` says; there is a whole copy or none.

    Raises:
        duckdb.Error: there is none.
    """
    columns = PINNED[name]
    view = "internal.session" if name == "sessions" else f"main.{name}"
    copy = sql("create temp table {name} as select {columns} from {view}", name=name, columns=columns, view=view)
    rows = _made(connection, f"{copy} where {within}" if within else copy, known)
    try:
        if name == "retries" and within:
            _made(connection, _WHOLE, known)
            body = views()["retries"].body.replace("internal.event_v1", "near")
            rows += _made(connection, sql(_WHOLE_CHAINS, within=within, view=body, columns=columns), known)
        if name == "errors" and within:
            # Temporary tables have a `main`, too.
            parts = {"within": within, "of_whole": _OF_WHOLE, "columns": columns, "main": f"{CATALOG}.main"}
            rows += _made(connection, sql(_WHOLE_ERRORS, **parts), known)
    except duckdb.Error:
        connection.execute(f"drop table temp.{name}").fetchall()  # it would answer of a part
        raise
    return rows


def _made(connection: duckdb.DuckDBPyConnection, statement: str, known: Mapping[str, Any]) -> int:
    """The rows that a statement copied, given those of the values that it names."""
    given = {key: value for key, value in known.items() if f"${key}" in statement}
    return int(connection.execute(statement, given).fetchall()[0][0])
