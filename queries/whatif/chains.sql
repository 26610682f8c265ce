-- title: Chains to replay
-- description: One row a retry chain of two calls or more, or cut by its limit, with its waits in order: what analyzer whatif retry replays.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column operation VARCHAR: the chain
-- column session_id VARCHAR: the agent's session
-- column caller VARCHAR: who made the calls
-- column reason VARCHAR: reason of the chain's last error
-- column outcome VARCHAR: recovered, exhausted, surfaced, escalated, aborted or unresolved
-- column attempts BIGINT: calls made, the first included
-- column waited_seconds DOUBLE: seconds waited in all
-- column waits VARCHAR: seconds waited before each further call, as a JSON array; null where the log has none
with wait as (
  select
    json_extract_string(payload, '$.operation') as operation,
    to_json(
      list(try_cast(json_extract_string(payload, '$.delay_seconds') as double) order by occurred_at, source_line)
    )::varchar as waits
  from events
  where type = 'retry.scheduled'
  group by 1
),

last_error as (
  select
    operation,
    arg_max(reason, (occurred_at, source_line)) as reason
  from errors
  where operation is not null
  group by operation
)

select
  r.operation,
  r.session_id,
  r.caller,
  coalesce(e.reason, r.reason, 'unknown') as reason,
  r.outcome,
  r.attempts,
  r.waited_seconds,
  w.waits
from retries as r
left join last_error as e
  on r.operation = e.operation
left join wait as w
  on r.operation = w.operation
where (r.attempts > 1 or r.outcome = 'exhausted')
  and ($since is null or r.started_at >= $since)
  and ($until is null or r.started_at < $until)
  and ($caller is null or r.caller = $caller)
order by r.started_at, r.operation
