-- title: Hand-offs behind findings
-- description: The events that began the hand-offs that each of some findings is about.
-- param asked VARCHAR = null : what to look for, as a JSON array of objects with place, caller, step, since and until; what is null or absent narrows nothing, and null alone asks for everything
-- param limit BIGINT = 15 : events at most, for each that was asked for
-- column place BIGINT: which of those that were asked for
-- column event_id VARCHAR: the event
-- column occurred_at TIMESTAMP: when, UTC
-- column session_id VARCHAR: the agent's session
-- column halted BIGINT: of all of them, how many were halted
-- column first_at TIMESTAMP: when the first of all of them began, UTC
-- column last_at TIMESTAMP: when the last of all of them began, UTC
-- column all_sessions BIGINT: distinct sessions of all of them
-- column all_events BIGINT: how many began
with asked as materialized (
  select
    coalesce(one.place, 0) as place,
    one.caller,
    one.step,
    coalesce(one.since, timestamp '0001-01-01') as since,
    coalesce(one.until, timestamp '9999-01-01') as until
  from (
    select unnest(from_json(
      coalesce($asked, '[{}]'),
      '[{"place":"BIGINT","caller":"VARCHAR","step":"VARCHAR","since":"TIMESTAMP","until":"TIMESTAMP"}]'
    )) as one
  )
),

hand_off as materialized (
  select
    event_id,
    occurred_at,
    session_id,
    coalesce(json_extract_string(payload, '$.caller'), '(none)') as caller,
    coalesce(json_extract_string(payload, '$.step_id'), '') as step,
    type = 'relay.halted' as halts
  from events
  where type in ('relay.triggered', 'relay.halted')
    and occurred_at >= (select min(since) from asked)
    and occurred_at < (select max(until) from asked)
),

found as (
  select
    a.place,
    h.*
  from asked as a
  inner join hand_off as h
    on a.caller = h.caller
    and a.step = h.step
    and h.occurred_at >= a.since
    and h.occurred_at < a.until
  union all
  select
    a.place,
    h.*
  from (from asked where caller is null or step is null) as a
  inner join hand_off as h
    on h.occurred_at >= a.since
    and h.occurred_at < a.until
    and (a.caller is null or h.caller = a.caller)
    and (a.step is null or h.step = a.step)
),

whole as (
  select
    place,
    count(*) filter (where halts) as halted,
    min(occurred_at) filter (where not halts) as first_at,
    max(occurred_at) filter (where not halts) as last_at,
    count(distinct session_id) filter (where not halts) as all_sessions,
    count(*) filter (where not halts) as all_events
  from found
  group by place
)

select
  f.place,
  f.event_id,
  f.occurred_at,
  f.session_id,
  w.* exclude (place)
from found as f
inner join whole as w
  on f.place = w.place
where not f.halts
qualify row_number() over (partition by f.place order by f.occurred_at, f.event_id) <= $limit
order by f.place, f.occurred_at, f.event_id
