"""Copy some sessions into a store in memory, which answers in milliseconds whatever the whole store holds.

Views fold and sum up all events before a question chooses among their rows. The copy has what the
rows of these sessions follow from: their events, and of other sessions the events of the same
chains, requests and moments within their time, as a fork repeats those of another session.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from analyzer.store.db.connection import connect
from analyzer.store.db.engine import Connection, execute
from analyzer.store.db.frames import copy_rows, quoted, sql
from analyzer.store.db.location import MEMORY
from analyzer.store.db.tables.schema import leave_out_told_twice, remember, setting

_SCOPE = """
select
  min(occurred_at),
  max(occurred_at),
  list(distinct used[1].request),
  list(distinct operation),
  list(distinct occurred_at::varchar)
from internal.event_v1
where session_id in ({sessions})
"""
_EVENTS = """
select *
from internal.event_v1
where occurred_at between $first and $last
  and (
    session_id in ({sessions})
    or used[1].request in ({requests})
    or operation in ({operations})
    or occurred_at in ({moments})
  )
"""
_ROWS = "select * from internal.{table} where {rows}"
_TABLES = ("event_v1", "facts_v1", "verdict_v1", "source_v1")
_lock = threading.Lock()


@contextmanager
def part(connection: Connection, sessions: Iterable[str]) -> Iterator[Connection]:
    """Give the block a store in memory in which these sessions have the rows that they have here.

    Of other sessions it has some rows, which are not theirs in full.
    """
    names = _list_of(sessions)
    ((first, last, *related),) = execute(connection, sql(_SCOPE, sessions=names))
    lists = dict(zip(("requests", "operations", "moments"), map(_list_of, related), strict=True))
    with _lock:
        copy = _memory()
        try:
            events = sql(_EVENTS, sessions=names, **lists)
            copy_rows(connection, events, copy, "event_v1", {"first": first, "last": last})
            ids = _column(copy, "select distinct facts_id from internal.event_v1")
            paths = _column(copy, "select distinct source_path from internal.event_v1")
            for table, rows in (
                ("facts_v1", f"facts_id in (select unnest([{ids}]))"),
                ("verdict_v1", f"facts_id in (select unnest([{ids}]))"),
                ("source_v1", f"path in (select unnest([{paths}]))"),
            ):
                copy_rows(connection, sql(_ROWS, table=table, rows=rows), copy, table)
            leave_out_told_twice(copy)
            remember(copy, active_ruleset=setting(connection, "active_ruleset"))
            yield copy
        finally:
            for table in _TABLES:
                execute(copy, f"truncate internal.{table}")


@cache
def _memory() -> Connection:
    """Return the store in memory of this process: to make its views takes longer than most questions."""
    return connect(MEMORY, read_only=False)


def _column(connection: Connection, statement: str) -> str:
    return _list_of(value for (value,) in execute(connection, statement))


def _list_of(texts: Iterable[str | None] | None) -> str:
    """Return literals for `in`, which no row equals if there is no text."""
    return ", ".join(quoted(text) for text in texts or () if text is not None) or "null"
