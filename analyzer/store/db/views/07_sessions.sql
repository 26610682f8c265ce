-- view sessions: One row a session that any event names.
-- column session_id VARCHAR: The agent's session.
-- column started_at TIMESTAMP: Its first sign of life in the logs, UTC.
-- column ended_at TIMESTAMP: Its last one, UTC.
-- column requests BIGINT: Model requests, where a log counts them.
-- column errors BIGINT: Classified errors.
-- column unknown_errors BIGINT: Errors that count as unknown.
-- column relays BIGINT: Hand-offs begun.
-- column retry_visibility VARCHAR: What its logs show of retries: full, terminal or none; null where no log says.
-- column caller VARCHAR: Whose session it is; null where no log says.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
-- column tool_calls BIGINT: Calls of tools, where a log counts them.
-- column tool_failures BIGINT: Tools that failed.
-- column input_tokens BIGINT: Tokens of its prompts, those of caches included, as the view usage has them.
-- column output_tokens BIGINT: Tokens of its replies.
-- column cost_usd DOUBLE: What its requests cost in US dollars, as far as they have a price; null where none has.
with observed as (
  -- Each log of a session reports its count so far; the last report of a log replaces the ones before it.
  select
    session_id,
    seen[1].part as part,
    bool_or(source_format in ('otlp', 'gemini_telemetry')) as watched,
    max(seen[1].requests) as requests,
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
    max(provider) as provider,
    max(model) as model
  from internal.event_v1
  where type = 'session.observed'
  group by session_id, seen[1].part
),

counts as (
  -- An agent's own logs and its telemetry count the same calls.
  select
    session_id,
    max(requests) as requests,
    max(tool_calls) as tool_calls
  from (
    select
      session_id,
      sum(requests) as requests,
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
    count(*) filter (where type = 'tool.failed') as tool_failures
  from internal.event_v1 as e
  anti join internal.told_twice as w
    on e.event_id = w.event_id
  where session_id is not null
  group by session_id
),

spent as (
  select
    session_id,
    sum(coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)) as input_tokens,
    sum(output_tokens) as output_tokens,
    round(sum(cost_usd), 6) as cost_usd
  from usage
  group by session_id
),

unknown as (
  select
    session_id,
    count(*) as unknown_errors
  from errors
  where counts_as_unknown
  group by session_id
)

select
  c.session_id,
  least(c.first_at, s.started_at) as started_at,
  greatest(c.last_at, s.ended_at) as ended_at,
  cast(n.requests as bigint) as requests,
  c.errors,
  coalesce(u.unknown_errors, 0) as unknown_errors,
  c.relays,
  s.retry_visibility,
  s.caller,
  s.agent,
  s.agent_version,
  s.project,
  s.cwd,
  s.branch,
  s.provider,
  s.model,
  cast(n.tool_calls as bigint) as tool_calls,
  c.tool_failures,
  cast(p.input_tokens as bigint) as input_tokens,
  cast(p.output_tokens as bigint) as output_tokens,
  p.cost_usd
from counted as c
left join spent as p
  on c.session_id = p.session_id
left join seen as s
  on c.session_id = s.session_id
left join counts as n
  on c.session_id = n.session_id
left join unknown as u
  on c.session_id = u.session_id
