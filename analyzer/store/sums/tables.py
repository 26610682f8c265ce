"""The tables of sums by day: their frames, how they are made, and when a day of them is forgotten."""

from __future__ import annotations

from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING

import duckdb

from analyzer.store.db.frames import frame_of, sql

if TYPE_CHECKING:
    import polars as pl

_NAMES = {"session": "String", "template": "String"}
SCHEMAS: dict[str, dict[str, str]] = {
    "counts": dict.fromkeys(
        (
            *("sessions", "groups", "events", "unknown_sessions", "unknown_groups", "unknown_events"),
            *("unknown_sessions_replayed", "unknown_groups_replayed", "unknown_events_replayed", "not_replayed"),
            *("verdicts", "unknown_verdicts", "unknown_verdicts_replayed"),
        ),
        "Int64",
    ),
    "templates": {"template": "String", "sessions": "Int64", "events": "Int64"},
    "known_templates": {
        **dict.fromkeys(("template", "reason"), "String"),
        **dict.fromkeys(("sessions", "weak_sessions", "events"), "Int64"),
    },
    "rules": {"rule": "String", "reason": "String", "sessions": "Int64"},
    "repeats": {"events": "Int64", "groups": "Int64"},
    "loud": {**_NAMES, "events": "Int64"},
    "relays": {"step": "String", **dict.fromkeys(("relays", "sessions", "most", "at_work"), "Int64")},
    "volumes": {
        "hour": "Int32",
        **dict.fromkeys(("provider", "model", "project", "host", "reason"), "Categorical"),
        **dict.fromkeys(("sessions", "groups"), "Int64"),
    },
    "work": {"hour": "Int32", **dict.fromkeys(("sessions", "observed"), "Int64")},
    "chains": {"reason": "String", **dict.fromkeys(("chains", "recovered", "untried"), "Int64")},
    "signals": {
        **dict.fromkeys(("signal", "name"), "String"),
        "level": "Int32",
        **dict.fromkeys(("sessions", "groups", "exposure"), "Int64"),
    },
    "versions": {"ruleset": "String", "first_at": "Datetime", "errors": "Int64"},
}
"""The columns of each frame behind `day` and `caller`. Of volumes, which have nearly as many rows as there are errors,
names are numbers of names, the caller's too.
"""
_VERSIONS = {"counts": 2, "relays": 2, "volumes": 3, "work": 2, "signals": 4}
"""The versions of their tables that are not the first."""
GROUPS = {
    "day": "Date",
    **dict.fromkeys(("caller", "session", "template", "reason", "rule", "old_reason"), "String"),
    **dict.fromkeys(("was_unknown", "judged"), "Boolean"),
    "confidence": "String",
    "events": "Int64",
}
"""The columns of `detection-groups`."""
CUT = {"caller": "String", "ruleset": "String", "first_at": "Datetime"}
"""Where the newest recorded ruleset of a caller begins, of callers whose errors without facts have several."""

COUNTS = (
    "(type in ('error.classified', 'session.observed', 'tool.failed')"
    " or starts_with(type, 'retry.') or starts_with(type, 'relay.'))"
)
"""Of events: whether any sum rests on its type."""
# A quarter of an hour lies in two days at most. What an event tells may be told by another log a few seconds before
# it or behind it, on another day (`internal.told_twice`).
_FORGET_STAGED = """
delete from internal.sum_day_v1 as d
using (
  with moment as (
    select unnest([min(occurred_at) - interval 5 second, max(occurred_at) + interval 5 second]) as occurred_at
    from (
      select cast(moment as timestamp) as occurred_at
      from staged_event
      anti join repeated using (place)
      where {counts}
    )
    group by time_bucket(interval '15 minutes', occurred_at)
  )

  select distinct
    z.timezone,
    cast(timezone(z.timezone, timezone('UTC', m.occurred_at)) as date) as day
  from (select distinct timezone from internal.sum_day_v1) as z, moment as m
) as t
where d.timezone = t.timezone
  and d.day = t.day
"""
# Events that stay and tell, with some of those that go, of a chain or a hand-off that counts on a later day.
_FORGET_LINKED = """
delete from internal.sum_day_v1 as d
using (
  with event as (
    select
      occurred_at,
      session_id,
      operation,
      relay,
      starts_with(type, 'relay.') as hands_off
    from internal.event_v1
    where {counts}
  ),

  gone as materialized (
    from event
    where occurred_at < $before
  ),

  linked as (
    select
      e.occurred_at,
      false as all_before
    from event as e
    semi join (from gone where operation is not null) as g
      on e.operation = g.operation
    union all
    select
      e.occurred_at,
      false as all_before
    from event as e
    semi join (from gone where hands_off) as g
      on e.session_id is not distinct from g.session_id
    where e.hands_off
    union all
    select
      e.occurred_at,
      false as all_before
    from event as e
    semi join (from gone where relay is not null) as g
      on e.relay = g.relay
    union all
    select
      $before,
      true as all_before
  )

  select distinct
    z.timezone,
    cast(timezone(z.timezone, timezone('UTC', m.occurred_at)) as date) as day,
    m.all_before
  from (select distinct timezone from internal.sum_day_v1) as z, linked as m
) as t
where d.timezone = t.timezone
  and (d.day = t.day or (t.all_before and d.day < t.day))
"""


def empty(name: str) -> pl.DataFrame:
    """The frame of this name without any rows."""
    return frame_of({"day": "Date", "caller": names_of(name), **SCHEMAS[name]})


def names_of(name: str) -> str:
    """The type that the names of a frame have."""
    return "Categorical" if "Categorical" in SCHEMAS[name].values() else "String"


def sorted_sums(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of this name, sorted by all of them in their order."""
    columns = ["day", "caller", *SCHEMAS[name]]
    return frame.select(columns).sort(columns)


def table_of(name: str) -> str:
    """The table of a frame."""
    return f"sum_{name.removesuffix('s')}_v{_VERSIONS.get(name, 1)}"


def complete(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether all tables are there: another version of this program may have made a store."""
    wanted = ["sum_day_v1", "sum_cut_v1", *map(table_of, SCHEMAS)]
    found = connection.execute("select count(*) from duckdb_tables() where list_contains($1, table_name)", [wanted])
    return bool(found.fetchall()[0][0] == len(wanted))


def create_sums(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables, where a store has none; days that were kept without one of them are forgotten."""
    if complete(connection):
        return
    for statement in filter(str.strip, sums_text().split(";\n")):
        connection.execute(statement)
    connection.execute("delete from internal.sum_day_v1").fetchall()


def sums_text() -> str:
    """The statements that make the tables, each ending a line with `;`."""
    return resources.files("analyzer.store.sums").joinpath("tables.sql").read_text("utf-8")


def forget_staged(connection: duckdb.DuckDBPyConnection) -> None:
    """Forget the days of staged events that are no repeats. Call it in the transaction that inserts them."""
    connection.execute(sql(_FORGET_STAGED, counts=COUNTS)).fetchall()


def forget_before(connection: duckdb.DuckDBPyConnection, before: datetime) -> None:
    """Forget the days before a moment (naive UTC), and those that events before it say more of.

    Call it in the transaction that deletes these, ahead of that.
    """
    connection.execute(sql(_FORGET_LINKED, counts=COUNTS), {"before": before}).fetchall()
