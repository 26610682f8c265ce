-- title: Hand-offs behind findings
-- description: The events that began the hand-offs that each of some findings is about.
-- param asked VARCHAR = null : what to look for, as a JSON array of objects with place, caller, step, since and until; what is null or absent narrows nothing, and null alone asks for everything
-- param limit BIGINT = 15 : events at most, for each that was asked for
-- column place BIGINT: which of those that were asked for
-- column event_id VARCHAR: the event
-- column occurred_at TIMESTAMP: when, UTC
-- column session_id VARCHAR: the agent's session
-- column halted BIGINT: of all of them, how many were halted
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
)

select
  place,
  event_id,
  occurred_at,
  session_id,
  count(*) filter (where halts) over (partition by place) as halted
from found
qualify not halts
  and row_number() over (partition by place, halts order by occurred_at, event_id) <= $limit
order by place, occurred_at, event_id
