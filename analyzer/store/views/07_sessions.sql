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
    json_extract_string(payload, '$.part') as part,
    max(try_cast(json_extract_string(payload, '$.requests') as bigint)) as requests,
    min(timezone('UTC', try_cast(json_extract_string(payload, '$.started_at') as timestamptz))) as started_at,
    max(timezone('UTC', try_cast(json_extract_string(payload, '$.ended_at') as timestamptz))) as ended_at,
    max(json_extract_string(payload, '$.retry_visibility')) as retry_visibility
  from event_v1
  where type = 'session.observed'
  group by session_id, part
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
    count(*) filter (
      where type = 'error.classified'
        and json_extract_string(payload, '$.reason') = 'unknown'
        and coalesce(json_extract_string(payload, '$.detail'), '') not in ('aborted', 'no_detail')
    ) as unknown_errors,
    count(*) filter (where type = 'relay.triggered') as relays
  from event_v1
  where session_id is not null
  group by session_id
)

select
  c.session_id,
  least(c.first_at, s.started_at) as started_at,
  greatest(c.last_at, s.ended_at) as ended_at,
  cast(s.requests as bigint) as requests,
  c.errors,
  c.unknown_errors,
  c.relays,
  s.retry_visibility
from counted as c
left join seen as s
  on c.session_id = s.session_id
