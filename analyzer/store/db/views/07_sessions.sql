-- view sessions: One row a session that any event names.
-- column session_id VARCHAR: The agent's session.
-- column started_at TIMESTAMP: Its first sign of life in the logs, UTC.
-- column ended_at TIMESTAMP: Its last one, UTC.
-- column requests BIGINT: Model requests, where a log counts them.
-- column errors BIGINT: Classified errors.
-- column unknown_errors BIGINT: Errors that count as unknown.
-- column relays BIGINT: Hand-offs begun.
-- column retry_visibility VARCHAR: What its logs show of retries: full, terminal or none; null where no log says.
with observed as (
  -- Each log of a session reports its count so far; the last report of a log replaces the ones before it.
  select
    session_id,
    seen[1].part as part,
    max(seen[1].requests) as requests,
    min(seen[1].started_at) as started_at,
    max(seen[1].ended_at) as ended_at,
    max(seen[1].retry_visibility) as retry_visibility
  from internal.event_v1
  where type = 'session.observed'
  group by session_id, seen[1].part
),

seen as (
  select
    session_id,
    sum(requests) as requests,
    min(started_at) as started_at,
    max(ended_at) as ended_at,
    min(retry_visibility) as retry_visibility
  from observed
  group by session_id
),

counted as (
  select
    session_id,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at,
    count(*) filter (where type = 'error.classified') as errors,
    count(*) filter (where type = 'relay.triggered') as relays
  from internal.event_v1
  where session_id is not null
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
  cast(s.requests as bigint) as requests,
  c.errors,
  coalesce(u.unknown_errors, 0) as unknown_errors,
  c.relays,
  s.retry_visibility
from counted as c
left join seen as s
  on c.session_id = s.session_id
left join unknown as u
  on c.session_id = u.session_id
