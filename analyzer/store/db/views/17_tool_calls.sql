-- view tool_calls: One row a session and a tool, with its calls as the logs of the session count them; logs that count none have no row.
-- column session_id VARCHAR: The agent's session.
-- column tool VARCHAR: The tool.
-- column calls BIGINT: Calls of it.
-- column started_at TIMESTAMP: The session's first sign of life in these logs, UTC.
-- column ended_at TIMESTAMP: Its last one, UTC.
-- column caller VARCHAR: Whose session it is; (none) where the log does not say.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column project VARCHAR: The last name of the working directory.
-- column model VARCHAR: The model.
with observed as (
  -- The last report of a log replaces the ones before it.
  select
    session_id,
    bool_or(internal.is_watching(source_format)) as watched,
    arg_max(seen[1].tools, (seen[1].ended_at, list_sum(map_values(seen[1].tools)))) as tools,
    min(seen[1].started_at) as started_at,
    max(seen[1].ended_at) as ended_at,
    max(caller) as caller,
    max(work[1].agent) as agent,
    max(work[1].project) as project,
    max(model) as model
  from internal.event_v1
  where type = 'session.observed'
    and seen[1].tools is not null
  group by session_id, seen[1].part
),

called as (
  select
    * exclude (tools),
    unnest(map_entries(tools)) as entry
  from observed
)

-- An agent's own logs and its telemetry count the same calls.
select
  session_id,
  entry.key as tool,
  greatest(
    sum(entry.value) filter (where watched),
    sum(entry.value) filter (where not watched)
  )::bigint as calls,
  min(started_at) as started_at,
  max(ended_at) as ended_at,
  coalesce(max(caller), '(none)') as caller,
  max(agent) as agent,
  max(project) as project,
  max(model) as model
from called
group by session_id, entry.key
