"""Build the statements that sum by day: catalogue queries over the rows of a stretch of days.

A catalogue query names the rows that it counts in its first parts (`with error as (…)`). The sums
run the same query with other rows there: those of the days to sum.

Frames that the statements read: `summing_cut` (`caller`, `ruleset`, `first_at`: when the newest
recorded ruleset of a caller with several begins) and `summing_caller` (`caller`, `day`: the pairs
to look at).
"""

from __future__ import annotations

from functools import cache

from analyzer.store.db.frames import rows_of, sql, with_rows
from analyzer.store.db.tables.schema import views
from analyzer.store.query.catalogue import find
from analyzer.store.sums.schemas import COUNTS

# Converting zones is slow, and most callers ask for UTC, which is stored.
_DAY = """case when $timezone = 'UTC' then cast({moment} as date)
    else cast(timezone($timezone, timezone('UTC', {moment})) as date) end"""
# Selects rows `e` of the days to sum; the bounds leave most of the other rows unread.
_OF_DAYS = """{moment} >= $since
    and {moment} < $until
    and {day} between $first and $last"""
# Selects some callers: a sum belongs to one caller, so a large day can be summed in parts.
_OF_PART = "({caller} >= $from_caller and ($to_caller is null or {caller} < $to_caller))"
# The text of a catalogue query for the day of an event, and for its window.
_ZONED = "cast(timezone($timezone, timezone('UTC', occurred_at)) as date)"
_WINDOW = """($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)"""


def _filled(template: str, moment: str = "e.occurred_at", caller: str = "e.caller", **parts: str) -> str:
    day = sql(_DAY, moment=moment)
    of_days = sql(_OF_DAYS, day=day, moment=moment)
    of_part = sql(_OF_PART, caller=f"coalesce({caller}, '(none)')")
    return sql(template, day=day, of_days=of_days, of_part=of_part, counts=COUNTS, **parts)


def _of_days(query: str, part: str) -> str:
    """Return the rows that a part of a catalogue query reads, of the days to sum.

    Raises:
        KeyError: the part has no window.
    """
    rows = rows_of(find(query).header.body, part).replace(_ZONED, _filled("{day}", "occurred_at"))
    first, window, rest = rows.partition(_WINDOW)
    if not window:
        raise KeyError(_WINDOW)
    return first + _filled("{of_days}\n    and {of_part}", "occurred_at", "caller") + rest


def _counted(query: str, **rows: str) -> str:
    """Return a catalogue query over these rows."""
    return with_rows(find(query).header.body, **rows)


# If errors of a caller without facts have several rulesets, only the newest one counts.
_ERRORS = _filled("""
  select
    {day} as day,
    e.*
  from errors_under($ruleset) as e
  left join summing_cut as c
    on e.caller = c.caller
  where {of_days}
    and {of_part}
    and (c.caller is null or e.has_facts or e.occurred_at >= c.first_at or e.recorded_ruleset = c.ruleset)
""")


@cache
def groups() -> str:
    """Select the rows of `detection-groups`, in its order."""
    return _counted("detection-groups", error=_ERRORS)


@cache
def groups_of_callers() -> str:
    """Select the rows of `detection-groups` of some callers on some days."""
    asked = "    and exists (select 1 from summing_caller as s where s.caller = e.caller and s.day = {day})\n"
    return _counted("detection-groups", error=_ERRORS + _filled(asked))


@cache
def volumes() -> str:
    """Select the rows of `detection-volume`."""
    return _counted("detection-volume", error=_ERRORS)


@cache
def work() -> str:
    """Select the rows of `detection-work`."""
    return _counted("detection-work", event=_of_days("detection-work", "event"))


@cache
def signals() -> str:
    """Select the rows of `detection-signals`."""
    errors = """
  select
    {day} as day,
    e.session,
    party_of(e.reason, e.detail, e.status) as party
  from errors_under($ruleset) as e
  where {of_days}
    and {of_part}
"""
    events = {part: _of_days("detection-signals", part) for part in ("event", "said")}
    return _counted("detection-signals", **events, error=_filled(errors))


@cache
def versions() -> str:
    """Select the rows that `detection-versions` sums up, by day."""
    rows = """
  select
    {day} as day,
    e.occurred_at,
    coalesce(e.caller, '(none)') as caller,
    e.ruleset
  from internal.event_v1 as e
  where e.type = 'error.classified'
    and e.facts_id is null
    and {of_days}
"""
    parts, _, _ = _counted("detection-versions", recorded=_filled(rows)).rpartition("\n\nselect\n")
    return f"{parts}\n\nfrom version"


@cache
def chains() -> str:
    """Select the rows of `detection-chains`.

    Ids of chains usually begin with their time, so their bounds leave most events unread.
    """
    settled = """
  select
    {day} as day,
    e.*
  from retries as e
  where e.operation between $lowest and $highest
    and {of_days}
"""
    errors = """
  select *
  from errors_under($ruleset)
  where operation between $lowest and $highest
    and operation in (select operation from chain)
"""
    return _counted("detection-chains", chain=_filled(settled, moment="e.ended_at"), error=errors)


@cache
def relays() -> str:
    """Select the rows of `detection-relays`, out of the relay events that these days need.

    These are the events of hand-offs that have any event on the days. Hand-offs without a name are
    counted within their session, so all events of such sessions are read.
    """
    hand_offs = """
  with touched as materialized (
    select
      relay,
      coalesce(session_id, '') as session
    from internal.event_v1
    where starts_with(type, 'relay.')
      and occurred_at >= $since
      and occurred_at < $until
  ),

  near as (
    from internal.event_v1
    where starts_with(type, 'relay.')
      and (
        relay in (select relay from touched where relay is not null)
        or coalesce(session_id, '') in (select session from touched where relay is null)
      )
  ),

  relay_of_day as ({view})

  select
    {day} as day,
    e.*
  from relay_of_day as e
  where {of_days}
    and {of_part}
"""
    view = with_rows(views()["relays"].body, event="\n    from near\n")
    return _counted("detection-relays", hand_off=_filled(hand_offs, view=view))


SETTLED_CHAINS = """
select
  min(operation) as lowest,
  max(operation) as highest
from internal.event_v1
where type = 'retry.settled'
  and occurred_at >= $since
  and occurred_at < $until
"""
"""Selects the first and the last id of the chains that were settled on some days."""
FIRST_DAY = _filled(
    "select {first} as first_day from internal.event_v1",
    first=sql(_DAY, moment="min(occurred_at)"),
)
WEIGHT = _filled("""
select
  {day} as day,
  count(*) as events
from internal.event_v1 as e
where {counts}
  and {of_days}
group by all
order by all
""")

# Selects the first caller of each part of `$events` events, in order.
PARTS = _filled("""
with caller as (
  select
    coalesce(e.caller, '(none)') as caller,
    count(*) as events
  from internal.event_v1 as e
  where {counts}
    and {of_days}
  group by all
),

running as (
  select
    caller,
    sum(events) over (order by caller) - events as before
  from caller
)

select min(caller) as caller
from running
group by before // $events
order by all
""")
