"""The statements behind sums by day: catalogue queries over the rows of some days, and those that find the days.

A catalogue query names the rows that it counts in its first parts (`with error as (…)`). The sums run the same query
with other rows there: those of the days to sum, which is all that stands here of a count.

Frames that they read: `summing_day` (`day`: the days to sum), `summing_cut` (`caller`, `ruleset`, `first_at`: where a
caller's newest recorded ruleset begins, of callers with several), `summing_caller` (`caller`, `day`: those to look at).
"""

from __future__ import annotations

from functools import cache

from analyzer.store.db.frames import sql, with_rows
from analyzer.store.db.tables.schema import views
from analyzer.store.query.catalogue import find
from analyzer.store.sums.tables import COUNTS

# Zones take their time, and most ask for the one that is stored.
_DAY = """case when $timezone = 'UTC' then cast({moment} as date)
    else cast(timezone($timezone, timezone('UTC', {moment})) as date) end"""
# Of rows `e`: whether their moment lies in the days to sum, within bounds that leave most of the others unread.
_OF_DAYS = """e.occurred_at >= $since
    and e.occurred_at < $until
    and {day} in (select day from summing_day)"""
# A part of the callers: every sum is of one caller's, so that those of a large day can be made part by part.
_OF_PART = "({caller} >= $from_caller and ($to_caller is null or {caller} < $to_caller))"
_CALLER = "coalesce(e.caller, '(none)')"


def _filled(template: str, moment: str = "e.occurred_at", **parts: str) -> str:
    day = sql(_DAY, moment=moment)
    of_days, of_part = sql(_OF_DAYS, day=day), sql(_OF_PART, caller=_CALLER)
    return sql(template, day=day, of_days=of_days, of_part=of_part, caller=_CALLER, counts=COUNTS, **parts)


def _counted(query: str, **rows: str) -> str:
    """A catalogue query over these rows."""
    return with_rows(find(query).header.body, **rows)


# Of a caller's errors without facts and with several rulesets those of the newest count.
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
    """The rows of `detection-groups`, in its order."""
    return _counted("detection-groups", error=_ERRORS)


@cache
def groups_of_callers() -> str:
    """Those of some callers on some days."""
    asked = "    and exists (select 1 from summing_caller as s where s.caller = e.caller and s.day = {day})\n"
    return _counted("detection-groups", error=_ERRORS + _filled(asked))


@cache
def volumes() -> str:
    """The rows of `detection-volume`."""
    return _counted("detection-volume", error=_ERRORS)


@cache
def work() -> str:
    """The rows of `detection-work`."""
    rows = """
  select
    {day} as day,
    e.occurred_at,
    e.type,
    e.session_id,
    e.caller
  from internal.event_v1 as e
  where {of_days}
    and {of_part}
"""
    return _counted("detection-work", event=_filled(rows))


@cache
def signals() -> str:
    """The rows of `detection-signals`."""
    rows = """
  select
    {day} as day,
    e.type,
    e.occurred_at,
    e.session_id,
    e.host,
    e.caller,
    e.provider,
    e.operation,
    e.outcome,
    e.waited_seconds,
    e.seen[1].tool as tool,
    e.seen[1].tools as tools,
    e.work[1].agent as agent,
    e.work[1].agent_version as agent_version,
    e.model,
    e.seen[1].requests as requests,
    case
      when e.type = 'session.observed' and contains(e.payload, '"aborted":')
      then internal.whole(json_extract_string(e.payload, '$.aborted'))
    end as aborted,
    e.seen[1].ended_at as ended_at,
    coalesce(e.seen[1].tool_kind, '') not in ('refused', 'cancelled')
    and coalesce(e.reason, '') <> 'tool_not_found'
    and coalesce(e.detail, '') <> 'aborted' as in_vain
  from internal.event_v1 as e
  where e.type in ('tool.failed', 'session.observed', 'retry.settled', 'error.classified')
    and {of_days}
    and {of_part}
"""
    errors = """
  select
    {day} as day,
    e.session,
    party_of(e.reason, e.detail, e.status) as party
  from errors_under($ruleset) as e
  where {of_days}
    and {of_part}
"""
    said = """
  select
    {day} as day,
    e.type,
    e.occurred_at,
    e.session_id,
    e.host,
    e.caller,
    hash(e.payload, e.facts_id) as said
  from internal.event_v1 as e
  semi join moment as m
    on e.type = m.type
    and e.occurred_at = m.occurred_at
  where {of_days}
    and {of_part}
"""
    return _counted("detection-signals", event=_filled(rows), error=_filled(errors), said=_filled(said))


@cache
def versions() -> str:
    """What the rows of `detection-versions` are made of, by day."""
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
    parts, _, _ = _counted("detection-versions", error=_filled(rows)).rpartition("\n\nselect\n")
    return f"{parts}\n\nfrom version"


@cache
def chains() -> str:
    """The rows of `detection-chains`. Ids of chains begin with their time as a rule: their bounds leave most unread."""
    settled = """
  select
    {day} as day,
    e.*
  from retries as e
  where e.operation between $first and $last
    and e.ended_at >= $since
    and e.ended_at < $until
    and {day} in (select day from summing_day)
"""
    errors = """
  select *
  from errors_under($ruleset)
  where operation between $first and $last
    and operation in (select operation from chain)
"""
    return _counted("detection-chains", chain=_filled(settled, moment="e.ended_at"), error=errors)


@cache
def relays() -> str:
    """The rows of `detection-relays`, as the view would say were these all the relay events there are.

    They are those of hand-offs that the days have any event of, and, as hand-offs without a name are counted within
    their session, all of the sessions of such.
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
"""The first and the last of the chains that were settled on some days."""
TOUCHED_CHAINS = _filled("""
select
  min(operation) as lowest,
  max(operation) as highest
from internal.event_v1
where {counts}
  and occurred_at >= $since
  and occurred_at < $until
""")
"""The same of those that any event of some days belongs to: it says more of chains that were settled on others."""
CHAIN_DAYS = _filled("""
with touched as (
  select distinct operation
  from internal.event_v1 as e
  where {counts}
    and {of_days}
)
select distinct {day} as day
from internal.event_v1 as e
semi join (from touched where operation is not null) as t
  on e.operation = t.operation
where e.type = 'retry.settled'
  and e.operation between $first and $last
""")
# A hand-off counts on the day of its first event. Those that have no name are told apart within their session.
RELAY_DAYS = _filled("""
with relay as (
  select
    occurred_at,
    session_id,
    relay
  from internal.event_v1
  where starts_with(type, 'relay.')
),

touched as (
  from relay as e
  where {day} in (select day from summing_day)
)

select distinct {day} as day
from relay as e
semi join (from touched where relay is not null) as t
  on e.relay = t.relay
union
select distinct {day} as day
from relay as e
semi join touched as t
  on e.session_id is not distinct from t.session_id
where e.relay is null
""")
ALL_JUDGED = """
select
  (select count(*) from internal.facts_v1)
  = (select count(*) from internal.verdict_v1 where ruleset = $ruleset) as all_judged
"""
SPAN = _filled(
    """
select
  {first} as first_day,
  {last} as last_day
from internal.event_v1
""",
    first=sql(_DAY, moment="min(occurred_at)"),
    last=sql(_DAY, moment="max(occurred_at)"),
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

# The first callers of parts that have so many events each, in order.
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
