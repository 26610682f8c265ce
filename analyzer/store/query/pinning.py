"""Copy views for many questions about one window, each of which would fold all events again.

A window reads its own events and, from before it, only events of its sessions. Only a look at all
events tells which sessions these are: a session may be as old as the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from analyzer.store.db.engine import Connection, duckdb, execute
from analyzer.store.db.frames import MANY_ROWS, give_back, sql, with_rows
from analyzer.store.db.location import CATALOG
from analyzer.store.db.tables.schema import folded, views

_TEXTS = ("code", "error_type", "message", "fingerprint", "template")
PINNED = {
    # Without sums of tokens and unknown errors, which no table of a report shows.
    "sessions": (
        "session_id, started_at, ended_at, requests, errors, relays, caller, agent, agent_version, project, provider,"
        " model, tool_calls, tool_failures"
    ),
    "usage": (
        "event_id, occurred_at, session_id, caller, agent, project, model, input_tokens, output_tokens,"
        " cache_read_tokens, cache_write_tokens, cache_write_hour_tokens, cost_usd, cost_basis, prompt_cost_usd,"
        " whole_run"
    ),
    # With the columns that endings need.
    "retries": "operation, caller, session_id, reason, outcome, attempts, waited_seconds, started_at, last_at, waits",
    # Texts take most room by far, and a report quotes only those of unknown errors.
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
"""The views that cost most and are asked most, with the columns that a report's tables need.

A question for another column fails: copies of all would take more room. Views look names up when
they are asked, so a later view here is made of the copies of those before it.
"""
_IN_WINDOW = "occurred_at >= $since and occurred_at < $until"
_OF_CHAINS = "operation between $first and $last"
_OF_SESSIONS = "session_id in (select session_id from temp.sessions)"
_OF_READ = "session_id in (select session_id from temp.whole_session where is_read)"
_WITHIN = {
    "usage": f"{_IN_WINDOW} or {_OF_SESSIONS}",
    "retries": _OF_CHAINS,
    # Later errors decide how a chain of the window ended.
    "errors": f"({_IN_WINDOW}) or {_OF_CHAINS}",
    "relays": f"occurred_at >= $begun and ({_IN_WINDOW} or {_OF_READ})",
}
"""The rows of each view that questions about a window need.

Ids of chains usually begin with their time.
"""
_CHAINS = """
select
  min(operation) as first,
  max(operation) as last
from internal.event_v1
where occurred_at >= $since - interval 1 second
  and occurred_at < $until
"""
"""Selects the first and the last id of the chains with any event in the window.

A session may end a second after its chain.
"""
_SEEN = """
create temp table seen as
with life as (
  select
    session_id,
    min(occurred_at) as first_at,
    min(occurred_at) as started_at,
    max(occurred_at) as ended_at,
    false as is_observed
  from internal.event_v1 as e
  anti join internal.told_twice as w
    on e.event_id = w.event_id
  where session_id is not null
  group by session_id
  union all
  select
    session_id,
    null as first_at,
    min(seen[1].started_at) as started_at,
    max(seen[1].ended_at) as ended_at,
    true as is_observed
  from internal.event_v1
  where type = 'session.observed'
    and session_id is not null
  group by session_id
),

session as (
  select
    session_id,
    min(first_at) as first_at,
    min(started_at) as started_at,
    max(ended_at) as ended_at,
    bool_or(is_observed) as is_observed,
    max(max(ended_at)) over () as newest_at
  from life
  group by session_id
)

select
  session_id,
  first_at,
  is_observed,
  newest_at
from session
where ended_at >= $since
  and started_at < $until
"""
"""Collects the sessions of the window, with the last moment of any session."""
_BEGUN = "select least($since, min(first_at)) as begun from temp.seen"
_BEFORE = (_CHAINS, _SEEN, _BEGUN)
_NEAR = """
  select *
  from internal.event_v1
  where occurred_at >= $begun
    and session_id in (select session_id from temp.seen)
"""
"""Selects the events of the window's sessions."""
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
from temp.seen
where is_observed
union
select
  r.session_id,
  false as is_read
from temp.retries as r
inner join temp.sessions as s
  on r.session_id = s.session_id
where r.outcome = 'unresolved'
  and r.waits
  and r.last_at >= s.ended_at - interval 1 second
"""
"""Collects the sessions that are read beyond the window: an agent may keep one for months.

Sessions that end in a chain are read only for their chains; sessions whose cost or end comes from
requests or a log are read for everything (`is_read`).
"""
_WHOLE_CHAIN = """
create temp table whole_chain as
select distinct operation
from internal.event_v1
where occurred_at >= $begun
  and not ({within})
  and session_id in (select session_id from temp.whole_session)
"""
"""Collects the chains of those sessions that lie outside the window."""
_BOUNDS = """
select
  min(operation) as lowest,
  max(operation) as highest
from temp.whole_chain
"""
_REST_OF_CHAINS = """
insert into temp.retries
select {columns}
from ({chain})
"""
_OF_WHOLE_CHAINS = """
  select *
  from internal.event_v1
  where operation between $lowest and $highest
    and operation in (select operation from temp.whole_chain)
"""
_READ = """
select
  min(started_at) as read_from,
  max(ended_at) as read_to
from temp.sessions
where errors > 0
  and {of_read}
"""
_REST_OF_ERRORS = """
insert into temp.errors
select {columns}
from {view}
where occurred_at between $read_from and $read_to
  and {of_read}
  and not coalesce({within}, false)
"""
"""Adds the other errors of those sessions."""
_AFTER = {"retries": (_WHOLE, _WHOLE_CHAIN, _BOUNDS, _REST_OF_CHAINS), "errors": (_READ, _REST_OF_ERRORS)}
"""Statements that follow the copy of a window's part; a `select` sets parameters of those after it.
"""


@contextmanager
def pinned(
    connection: Connection, since: datetime | None = None, until: datetime | None = None
) -> Iterator[Callable[[str], None]]:
    """Copy a window's rows of these views into tables, and answer from the copies in the block.

    Without room for copies the views are used. The block gets a function that drops the copy of a
    view; the view then answers itself, made of the copies that are left.
    """

    def drop(name: str) -> None:
        with suppress(duckdb.Error):
            execute(connection, f"drop table if exists temp.{name}")

    values: dict[str, Any] = {"since": since or datetime.min, "until": until or datetime.max}  # noqa: DTZ901 - naive UTC
    windowed = since is not None or until is not None
    copied = 0
    try:
        # Names of temporary tables come before those of views.
        with suppress(duckdb.Error):
            for statement in _BEFORE if windowed else ():
                _done(connection, statement, values)
            for name in PINNED:
                rows = _copied(connection, name, values, windowed=windowed)
                copied += rows
                if rows >= MANY_ROWS:
                    give_back()
        yield drop
    finally:
        for name in (*PINNED, "seen", "whole_session", "whole_chain"):
            drop(name)
        if copied >= MANY_ROWS:
            give_back()


def _copied(connection: Connection, name: str, values: dict[str, Any], *, windowed: bool) -> int:
    """Copy a view and return the number of rows; there is a whole copy or none.

    Raises:
        duckdb.Error: there is none.
    """
    view, within = _copied_from(name, windowed=windowed), _WITHIN.get(name, "true") if windowed else "true"
    parts = {"name": name, "columns": PINNED[name], "view": view, "within": within, "of_read": _OF_READ}
    copy = "create temp table {name} as select {columns} from {view} where {within}"
    rows = _done(connection, sql(copy, **parts), values)
    try:
        for statement in _AFTER.get(name, ()) if windowed else ():
            chain = with_rows(folded("chain"), event=_OF_WHOLE_CHAINS) if "{chain}" in statement else ""
            rows += _done(connection, sql(statement, **parts, chain=chain), values)
    except duckdb.Error:
        execute(connection, f"drop table temp.{name}")  # a partial copy would give wrong answers
        raise
    return rows


def _copied_from(name: str, *, windowed: bool) -> str:
    """Return the source of a copy: a view, an inner view, or a statement over other copies."""
    if name == "retries":
        return "internal.chain"
    if name == "sessions":
        return f"({with_rows(folded('session'), event=_NEAR)})" if windowed else "internal.session"
    if name == "endings":
        rows = {"broken_chain": "\n  from temp.retries where outcome = 'unresolved' and waits\n"}
        if windowed:
            rows["session"] = "\n  from temp.sessions inner join temp.seen using (session_id)\n"
            rows["event"] = _NEAR
            rows["tool_failure"] = "\n  from tool_failures where occurred_at >= $begun\n"
            rows["recovery"] = "\n  from context_recoveries where occurred_at >= $begun\n"
        else:
            rows["session"] = "\n  select *, max(ended_at) over () as newest_at from temp.sessions\n"
        return f"({with_rows(views()['endings'].body, **rows)})"
    # Temporary tables have a `main`, too.
    return f"{CATALOG}.main.{name}"


def _done(connection: Connection, statement: str, values: dict[str, Any]) -> int:
    """Run a statement with the values that it names, and return the number of rows that it copied.

    What a `select` gives is added to the values.
    """
    parameters = {key: value for key, value in values.items() if f"${key}" in statement}
    cursor = connection.execute(statement, parameters)
    ((value, *more),) = cursor.fetchall()
    if not statement.strip().startswith("select"):
        return int(value)
    values |= zip((column[0] for column in cursor.description), (value, *more), strict=True)
    return 0
