-- title: Other evidence of findings
-- description: The events that findings about hand-offs, tools, retries, sessions, copies, versions and silence rest on: those that `detection-signals`, `detection-relays`, `detection-chains` and `detection-work` counted.
-- param asked VARCHAR = null : what to look for, as a JSON array of objects with place, sign, caller, callers (several), name (a tool, provider, host, reason, step, or an agent with its version or model), least (seconds that a chain waited), since and until; null or absent keys select everything
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- param limit BIGINT = 15 : events at most, for each that was asked for
-- column place BIGINT: which of those that were asked for
-- column event_id VARCHAR: the event
-- column occurred_at TIMESTAMP: when, UTC
-- column session_id VARCHAR: the agent's session
-- column sign VARCHAR: what it is a sign of: hand_off, compaction, tool, wait, exhausted, tried, untried, aborted, empty, unanswered, copy, version, model, swap, at_work or before
-- column message VARCHAR: what the failed tool or the error said, of a chain its last error; redacted and capped
-- column confidence VARCHAR: how sure the verdict on that error is
-- column halted BIGINT: of all hand-offs or compactions, how many were halted
-- column first_at TIMESTAMP: the first of all that were counted, UTC; null of silence, which counts none
-- column last_at TIMESTAMP: likewise the last one
-- column all_sessions BIGINT: likewise distinct sessions
-- column all_events BIGINT: likewise events
with asked as materialized (
  select
    coalesce(one.place, 0) as place,
    one.sign,
    one.caller,
    one.callers,
    one.name,
    one.least,
    coalesce(one.since, timestamp '0001-01-02') as since,
    coalesce(one.until, timestamp '9999-01-01') as until
  from (
    select unnest(from_json(
      coalesce($asked, '[{}]'),
      '[{"place":"BIGINT","sign":"VARCHAR","caller":"VARCHAR","callers":["VARCHAR"],"name":"VARCHAR","least":"DOUBLE","since":"TIMESTAMP","until":"TIMESTAMP"}]'
    )) as one
  )
),

-- Whole days, as what a session came to is counted by day. Chains are looked at over weeks, all else over few days.
span as materialized (
  select
    min(since) - to_days(1) as chains_since,
    min(since) filter (where coalesce(sign, '') not in ('tried', 'untried')) - to_days(1) as since,
    max(until) + to_days(1) as until
  from asked
),

event as materialized (
  select
    event_id,
    occurred_at,
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    cast(date_part('hour', timezone($timezone, timezone('UTC', occurred_at))) as integer) as hour,
    type,
    session_id,
    host,
    hash(payload, facts_id) as said,
    coalesce(caller, '(none)') as caller,
    operation,
    provider,
    outcome,
    waited_seconds,
    relay,
    work[1].agent as agent,
    work[1].agent_version as agent_version,
    model,
    seen[1].requests as requests,
    internal.aborted(type, payload) as aborted,
    seen[1].ended_at as ended_at,
    type in ('error.classified', 'tool.failed')
    and internal.is_in_vain(seen[1].tool_kind, reason, detail) as in_vain
  from internal.event_v1
  where (
    (type = 'retry.settled' and occurred_at >= (select chains_since from span))
    or (
      (
        type in ('tool.failed', 'session.observed', 'error.classified')
        or starts_with(type, 'retry.')
        or starts_with(type, 'relay.')
      )
      and occurred_at >= (select since from span)
    )
  )
    and occurred_at < (select until from span)
),

error as materialized (
  select
    event_id,
    occurred_at,
    operation,
    reason,
    message,
    confidence,
    party_of(reason, detail, status) in ('request', 'environment', 'unknown') as is_of_its_side
  from errors_under($ruleset)
  -- No chain goes on for longer than so.
  where occurred_at >= (select chains_since - to_days(30) from span)
    and occurred_at < (select until from span)
    and (
      event_id in (select event_id from event)
      or operation in (select operation from event where type = 'retry.settled')
    )
),

relay as materialized (
  select
    relay,
    caller,
    session_id,
    occurred_at,
    outcome,
    if(is_compaction(step_id, strategy), 'compaction', 'hand_off') as sign,
    coalesce(step_id, '(no step)') as step
  from relays
  where outcome <> 'skipped'
    and occurred_at >= (select since from span)
    and occurred_at < (select until from span)
),

-- Of each hand-off the event that began it, and those of its end where it was given up.
hand_off as (
  select
    r.* exclude (session_id, occurred_at),
    e.event_id,
    e.occurred_at,
    e.type,
    e.session_id,
    e.occurred_at = r.occurred_at as begins
  from relay as r
  inner join event as e
    on e.relay = r.relay
  union all
  select
    r.* exclude (session_id, occurred_at),
    e.event_id,
    e.occurred_at,
    e.type,
    e.session_id,
    true as begins
  from relay as r
  inner join event as e
    on r.caller = e.caller
    and r.occurred_at = e.occurred_at
    and r.session_id is not distinct from e.session_id
  where e.relay is null
    and starts_with(e.type, 'relay.')
),

settled as materialized (
  select
    e.* exclude (outcome),
    e.outcome as said_outcome,
    r.caller as chain_caller,
    r.attempts,
    r.outcome,
    coalesce(l.reason, r.reason, 'unknown') as reason,
    l.message,
    l.confidence
  from event as e
  inner join retries as r
    on e.operation = r.operation
  left join (
    select
      operation,
      arg_max(reason, (occurred_at, event_id)) as reason,
      arg_max(message, (occurred_at, event_id)) as message,
      arg_max(confidence, (occurred_at, event_id)) as confidence
    from error
    where operation is not null
    group by operation
  ) as l
    on e.operation = l.operation
  where e.type = 'retry.settled'
  qualify row_number() over (partition by e.operation order by e.occurred_at desc, e.event_id desc) = 1
),

session as (
  select
    *,
    max(requests) over whole as all_requests,
    max(occurred_at) filter (in_vain) over whole as failed_at,
    max(ended_at) over whole as session_ended_at
  from event
  where type in ('tool.failed', 'session.observed', 'error.classified')
    and session_id is not null
  window whole as (partition by day, caller, host, session_id)
),

release as (
  select
    day,
    session_id,
    max(agent) as agent,
    max(agent_version) as agent_version,
    max(model) as model
  from event
  where type in ('session.observed', 'error.classified')
    and session_id is not null
  group by
    day,
    session_id
),

failed as (
  select
    e.*,
    r.agent || ' ' || r.agent_version as named_version,
    r.agent || ' ' || r.model as named_model
  from event as e
  inner join error as f
    on e.event_id = f.event_id
  inner join release as r
    on e.day = r.day
    and e.session_id = r.session_id
  where f.is_of_its_side
),

copied as (
  select *
  from event
  where type = 'session.observed'
    or (type = 'error.classified' and microsecond(occurred_at) % 1000000 <> 0)
  qualify count(*) over (partition by day, caller, type, occurred_at, said) between 2 and 3
),

-- The first event of each session of a day, of those that logs report with errors or without.
at_work as (
  select
    *,
    bool_or(is_observed) over (partition by day, hour, caller) as has_observed
  from (
    select
      *,
      bool_or(type = 'session.observed') over (partition by day, caller, session_id) as is_observed
    from event
    where session_id is not null
    qualify row_number() over (partition by day, caller, session_id order by occurred_at, event_id) = 1
  )
),

shown as (
  select
    sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    step as name,
    null::double as amount,
    null::varchar as message,
    null::varchar as confidence,
    begins as counts,
    outcome = 'halted' as halts
  from hand_off
  where begins
    or type = 'relay.halted'
  qualify not begins
    or row_number() over (partition by relay, begins order by type = 'relay.triggered' desc, event_id) = 1
  union all by name
  select
    'tool' as sign,
    f.event_id,
    f.occurred_at,
    f.session_id,
    f.caller,
    f.tool as name,
    f.message
  from tool_failures as f
  where f.event_id in (select event_id from event)
    and f.session_id is not null
  union all by name
  select
    unnest(['wait', if(said_outcome = 'exhausted', 'exhausted', null)]) as sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    provider as name,
    waited_seconds as amount,
    message,
    confidence
  from settled
  union all by name
  select
    if(attempts > 1, 'tried', 'untried') as sign,
    event_id,
    occurred_at,
    session_id,
    chain_caller as caller,
    reason as name,
    message,
    confidence
  from settled
  where outcome <> 'aborted'
    and (attempts > 1 or outcome <> 'recovered')
  union all by name
  select
    unnest([
      if(aborted > 0, 'aborted', null),
      if((requests = 0 and all_requests = 0) or (type = 'session.observed' and outcome = 'hollow'), 'empty', null),
      if(in_vain and occurred_at = failed_at and failed_at >= session_ended_at - to_seconds(1), 'unanswered', null)
    ]) as sign,
    event_id,
    occurred_at,
    session_id,
    caller
  from session
  union all by name
  select
    unnest(['version', 'model']) as sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    unnest([named_version, named_model]) as name
  from failed
  union all by name
  select
    'swap' as sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    swap as name
  from answers_between((select since from span), (select until from span))
  where is_swapped
  union all by name
  select
    'copy' as sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    host as name
  from copied
  union all by name
  select
    'at_work' as sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    false as counts
  from at_work
  where has_observed
  union all by name
  select
    'before' as sign,
    event_id,
    occurred_at,
    session_id,
    caller,
    false as counts
  from event
  where session_id is not null
),

own as materialized (
  select
    a.place,
    s.*
  from asked as a
  inner join shown as s
    on (a.sign is null or a.sign = s.sign)
    and (a.caller is null or a.caller = s.caller)
    and (a.callers is null or list_contains(a.callers, s.caller))
    and (a.name is null or a.name = s.name)
    and (a.least is null or s.amount >= a.least)
    and s.occurred_at >= a.since
    and s.occurred_at < a.until
  where s.sign is not null
  -- Of what came before only the last.
  qualify s.sign <> 'before'
    or row_number() over (
      partition by a.place, s.sign, if(a.callers is null, null, s.caller)
      order by s.occurred_at desc, s.event_id desc
    ) = 1
),

whole as (
  select
    place,
    count(*) filter (where halts and counts) as halted,
    min(occurred_at) filter (where coalesce(counts, true)) as first_at,
    max(occurred_at) filter (where coalesce(counts, true)) as last_at,
    nullif(count(distinct session_id) filter (where coalesce(counts, true)), 0) as all_sessions,
    nullif(count(*) filter (where coalesce(counts, true)), 0) as all_events
  from own
  group by place
)

select
  o.place,
  o.event_id,
  o.occurred_at,
  o.session_id,
  o.sign,
  coalesce(o.message, e.message) as message,
  coalesce(o.confidence, e.confidence) as confidence,
  w.* exclude (place)
from own as o
inner join whole as w
  on o.place = w.place
left join error as e
  on o.event_id = e.event_id
qualify row_number() over (partition by o.place order by o.occurred_at, o.event_id, o.sign) <= $limit
order by o.place, o.occurred_at, o.event_id, o.sign
