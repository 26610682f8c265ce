-- What `sessions` has but for unknown errors, tokens and cost, which take several times as long as all else.
with event as not materialized (
  select *
  from internal.event_v1
),

observed as (
  -- Each log of a session reports its count so far; the last report of a log replaces the ones before it.
  select
    session_id,
    seen[1].part as part,
    bool_or(internal.is_watching(source_format)) as watched,
    max(seen[1].requests) as requests,
    max(seen[1].recorded) as recorded,
    min(seen[1].started_at) as started_at,
    max(seen[1].ended_at) as ended_at,
    max(seen[1].retry_visibility) as retry_visibility,
    max(list_sum(map_values(seen[1].tools))) as tool_calls,
    max(caller) as caller,
    max(work[1].agent) as agent,
    max(work[1].agent_version) as agent_version,
    max(work[1].project) as project,
    max(work[1].cwd) as cwd,
    max(work[1].branch) as branch,
    max(work[1].forked_from) as forked_from,
    max(provider) as provider,
    max(model) as model
  from event
  where type = 'session.observed'
  group by session_id, seen[1].part
),

counts as (
  -- An agent's own logs and its telemetry count the same calls.
  select
    session_id,
    max(requests) as requests,
    max(unrecorded) as unrecorded,
    max(tool_calls) as tool_calls
  from (
    select
      session_id,
      sum(requests) as requests,
      sum(requests - recorded) as unrecorded,
      sum(tool_calls) as tool_calls
    from observed
    group by
      session_id,
      watched
  )
  group by session_id
),

seen as (
  select
    session_id,
    min(started_at) as started_at,
    max(ended_at) as ended_at,
    min(retry_visibility) as retry_visibility,
    min(caller) as caller,
    min(agent) as agent,
    min(agent_version) as agent_version,
    min(project) as project,
    min(cwd) as cwd,
    min(branch) as branch,
    min(forked_from) as forked_from,
    min(provider) as provider,
    min(model) as model
  from observed
  group by session_id
),

counted as (
  select
    session_id,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at,
    count(*) filter (where type = 'error.classified') as errors,
    count(*) filter (where type = 'relay.triggered') as relays,
    count(*) filter (where type = 'tool.failed') as tool_failures,
    count(distinct used[1].request) filter (where type = 'usage.recorded' and used[1].whole_run is not true) as recorded
  from event as e
  anti join internal.told_twice as w
    on e.event_id = w.event_id
  where session_id is not null
  group by session_id
)

select
  c.session_id,
  least(c.first_at, s.started_at) as started_at,
  greatest(c.last_at, s.ended_at) as ended_at,
  -- Requests with tokens count where `usage` has them: a fork's log repeats those of another session.
  cast(case
    when n.unrecorded is null and n.requests is null then nullif(c.recorded, 0)
    when n.unrecorded is null then n.requests
    else greatest(c.recorded + n.unrecorded, c.recorded)
  end as bigint) as requests,
  c.errors,
  c.relays,
  s.retry_visibility,
  s.caller,
  s.agent,
  s.agent_version,
  s.project,
  s.cwd,
  s.branch,
  s.forked_from,
  s.provider,
  s.model,
  cast(n.tool_calls as bigint) as tool_calls,
  c.tool_failures
from counted as c
left join seen as s
  on c.session_id = s.session_id
left join counts as n
  on c.session_id = n.session_id
