"""The statements behind sums by day.

Frames that they read: `summing_day` (`day`: the days to sum), `summing_cut` (`caller`, `ruleset`, `first_at`: where a
caller's newest recorded ruleset begins, of callers with several), `summing_caller` (`caller`, `day`: those to look at).
"""

from __future__ import annotations

from analyzer.store.db.tables.schema import views

# Zones take their time, and most ask for the one that is stored.
_DAY = (
    "case when $timezone = 'UTC' then cast({moment} as date)"
    " else cast(timezone($timezone, timezone('UTC', {moment})) as date) end"
)
_OCCURRED = _DAY.format(moment="e.occurred_at")
_COUNTS = (
    "(type in ('error.classified', 'session.observed') or starts_with(type, 'retry.') or starts_with(type, 'relay.'))"
)
"""Of events: whether any sum rests on its type."""

_OF_DAYS = f"""e.occurred_at >= $since
  and e.occurred_at < $until
  and {_OCCURRED} in (select day from summing_day)"""  # noqa: S608 - constants of this file
"""Of rows `e`: whether their moment lies in the days to sum, within bounds that leave most of the others unread."""

# A part of the callers: every sum is of one caller's, so that those of a large day can be made part by part.
_OF_PART = "({caller} >= $from_caller and ($to_caller is null or {caller} < $to_caller))"

# Of errors: those that count, of the summed days, and of a caller's with several rulesets those of the newest.
_COUNTED_ERRORS = f"""
from errors_under($ruleset) as e
left join summing_cut as c
  on e.caller = c.caller
where e.counted
  and {_OF_DAYS}
  and (c.caller is null or e.has_facts or e.occurred_at >= c.first_at or e.recorded_ruleset = c.ruleset)
  and {_OF_PART.format(caller="e.caller")}
"""

# The same rows, in the same order, as the catalogue's `detection-groups`; a test holds the two together.
_GROUPS = f"""
select
  {_OCCURRED} as day,
  e.caller,
  e.session,
  e.template,
  e.reason,
  e.rule,
  e.recorded_reason as old_reason,
  e.recorded_as_unknown as was_unknown,
  e.judged,
  max(e.confidence) as confidence,
  count(*) as events
{_COUNTED_ERRORS}
  {{asked}}
group by all
order by all
"""
GROUPS = _GROUPS.format(asked="")
GROUPS_OF_CALLERS = _GROUPS.format(
    asked=f"and exists (select 1 from summing_caller as s where s.caller = e.caller and s.day = {_OCCURRED})"  # noqa: S608
)

# The same rows as `detection-volume`; empty texts stand for what no log says.
VOLUMES = f"""
with error as (
  select distinct
    {_OCCURRED} as day,
    e.caller,
    coalesce(e.provider, '') as provider,
    coalesce(e.model, '') as model,
    e.reason,
    e.session,
    e.template
  {_COUNTED_ERRORS}
)

select
  day,
  caller,
  provider,
  model,
  reason,
  count(distinct session) as sessions,
  count(*) as groups
from error
group by all
"""  # noqa: S608 - as above
# The same as `detection-work`.
WORK = f"""
select
  {_OCCURRED} as day,
  coalesce(e.caller, '(none)') as caller,
  count(distinct e.session_id) as sessions,
  count(distinct e.session_id) filter (where e.type = 'session.observed') as observed
from internal.event_v1 as e
where {_COUNTS}
  and {_OF_DAYS}
  and {_OF_PART.format(caller="coalesce(e.caller, '(none)')")}
group by all
"""  # noqa: S608 - as above

VERSIONS = f"""
select
  {_OCCURRED} as day,
  coalesce(e.caller, '(none)') as caller,
  coalesce(e.ruleset, '') as ruleset,
  min(e.occurred_at) as first_at,
  count(*) as errors
from internal.event_v1 as e
where e.type = 'error.classified'
  and e.facts_id is null
  and {_OF_DAYS}
group by all
"""  # noqa: S608 - as above

# The same as `detection-chains`. Ids of chains begin with their time as a rule: most others lie outside of the bounds.
SETTLED_CHAINS = """
select
  min(operation) as lowest,
  max(operation) as highest
from internal.event_v1
where type = 'retry.settled'
  and occurred_at >= $since
  and occurred_at < $until
"""
CHAINS = f"""
with chain as materialized (
  select
    operation,
    caller,
    reason,
    attempts,
    outcome,
    {_DAY.format(moment="ended_at")} as day
  from retries
  where operation between $first and $last
    and ended_at >= $since
    and ended_at < $until
    and outcome <> 'aborted'
),

last_error as (
  select
    e.operation,
    arg_max(e.reason, (e.occurred_at, e.event_id)) as reason
  from errors_under($ruleset) as e
  where e.operation between $first and $last
    and e.operation in (select operation from chain)
  group by e.operation
)

select
  c.day,
  c.caller,
  coalesce(e.reason, c.reason, 'unknown') as reason,
  count(*) filter (where c.attempts > 1) as chains,
  count(*) filter (where c.attempts > 1 and c.outcome = 'recovered') as recovered,
  count(*) filter (where c.attempts = 1 and c.outcome <> 'recovered') as untried
from chain as c
left join last_error as e
  on c.operation = e.operation
where c.day in (select day from summing_day)
group by all
"""  # noqa: S608 - as above

# What happened on a day says more of chains that were settled on others. Their bounds: see above.
TOUCHED_CHAINS = f"""
select
  min(operation) as lowest,
  max(operation) as highest
from internal.event_v1
where {_COUNTS}
  and occurred_at >= $since
  and occurred_at < $until
"""  # noqa: S608 - as above
CHAIN_DAYS = f"""
with touched as (
  select distinct operation
  from internal.event_v1 as e
  where {_COUNTS}
    and {_OF_DAYS}
)
select distinct {_OCCURRED} as day
from internal.event_v1 as e
semi join (from touched where operation is not null) as t
  on e.operation = t.operation
where e.type = 'retry.settled'
  and e.operation between $first and $last
"""  # noqa: S608 - as above

# What the view would say were these all the relay events there are: those of hand-offs that the days have any event of,
# and, as hand-offs without a name are counted within their session, all of the sessions of such.
RELAYS = f"""
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

hand_off as ({views()["relays"].body.replace("internal.event_v1", "near")})

select
  {_OCCURRED} as day,
  e.caller,
  coalesce(e.step_id, '') as step,
  coalesce(e.session_id, '') as session,
  count(*) as relays
from hand_off as e
where e.outcome <> 'skipped'
  and {_OF_DAYS}
  and {_OF_PART.format(caller="e.caller")}
group by all
"""  # noqa: S608 - as above
# A hand-off counts on the day of its first event. Those that have no name are told apart within their session.
RELAY_DAYS = f"""
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
  where {_OCCURRED} in (select day from summing_day)
)

select distinct {_OCCURRED} as day
from relay as e
semi join (from touched where relay is not null) as t
  on e.relay = t.relay
union
select distinct {_OCCURRED} as day
from relay as e
semi join touched as t
  on e.session_id is not distinct from t.session_id
where e.relay is null
"""  # noqa: S608 - as above

ALL_JUDGED = """
select
  (select count(*) from internal.facts_v1)
  = (select count(*) from internal.verdict_v1 where ruleset = $ruleset) as all_judged
"""
SPAN = f"""
select
  {_DAY.format(moment="min(occurred_at)")} as first_day,
  {_DAY.format(moment="max(occurred_at)")} as last_day
from internal.event_v1
"""  # noqa: S608 - as above
WEIGHT = f"""
select
  {_OCCURRED} as day,
  count(*) as events
from internal.event_v1 as e
where {_COUNTS}
  and {_OF_DAYS}
group by all
order by all
"""  # noqa: S608 - as above

# The first callers of parts that have so many events each, in order.
PARTS = f"""
with caller as (
  select
    coalesce(e.caller, '(none)') as caller,
    count(*) as events
  from internal.event_v1 as e
  where {_COUNTS}
    and {_OF_DAYS}
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
"""  # noqa: S608 - as above

# A quarter of an hour lies in two days at most. What an event tells may be told by another log a few seconds before
# it or behind it, on another day (`internal.told_twice`).
FORGET_STAGED = f"""
delete from internal.sum_day_v1 as d
using (
  with moment as (
    select unnest([min(occurred_at) - interval 5 second, max(occurred_at) + interval 5 second]) as occurred_at
    from (
      select cast(moment as timestamp) as occurred_at
      from staged_event
      anti join repeated using (place)
      where {_COUNTS}
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
"""  # noqa: S608 - as above
# Events that stay and tell, with some of those that go, of a chain or a hand-off that counts on a later day.
FORGET_LINKED = f"""
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
    where {_COUNTS}
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
"""  # noqa: S608 - as above
