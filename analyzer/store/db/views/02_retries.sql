-- view retries: One row a retry chain, its outcome folded from its events.
-- column operation VARCHAR: The chain; errors carry it too.
-- column caller VARCHAR: Who made the calls.
-- column session_id VARCHAR: The agent's session.
-- column reason VARCHAR: What the chain ended as, or its last error while it has not ended.
-- column outcome VARCHAR: recovered, exhausted, surfaced, escalated, aborted, or unresolved where no end is in the log.
-- column attempts BIGINT: Calls made, the first included.
-- column waited_seconds DOUBLE: Seconds waited between the calls; for an aborted chain the last wait may have been cut short.
-- column started_at TIMESTAMP: Its first event, UTC.
-- column ended_at TIMESTAMP: When it was settled, UTC; null while unresolved.
with part as (
  select
    json_extract_string(payload, '$.operation') as operation,
    type,
    occurred_at,
    source_line,
    session_id,
    json_extract_string(payload, '$.caller') as caller,
    json_extract_string(payload, '$.reason') as reason,
    json_extract_string(payload, '$.outcome') as outcome,
    internal.whole(payload, '$.attempt') as attempt,
    internal.whole(payload, '$.attempts') as attempts,
    internal.amount(payload, '$.delay_seconds') as delay_seconds,
    internal.amount(payload, '$.waited_seconds') as waited_seconds
  from internal.event_v1
  where type in ('error.classified', 'retry.scheduled', 'retry.settled')
)
select
  operation,
  coalesce(
    arg_max(caller, (type = 'retry.settled', occurred_at, source_line)) filter (where caller is not null),
    'unknown'
  ) as caller,
  any_value(session_id) as session_id,
  coalesce(
    arg_max(reason, (occurred_at, source_line)) filter (where type = 'retry.settled'),
    arg_max(reason, (occurred_at, source_line)) filter (where type <> 'retry.settled')
  ) as reason,
  coalesce(
    arg_max(outcome, (occurred_at, source_line)) filter (where type = 'retry.settled'),
    'unresolved'
  ) as outcome,
  coalesce(
    max(attempts) filter (where type = 'retry.settled'),
    max(attempt),
    1
  ) as attempts,
  coalesce(
    max(waited_seconds) filter (where type = 'retry.settled'),
    -- Milliseconds: sums of fractions end differently with the order of their terms.
    round(sum(delay_seconds) filter (where type = 'retry.scheduled'), 3),
    0
  ) as waited_seconds,
  min(occurred_at) as started_at,
  max(occurred_at) filter (where type = 'retry.settled') as ended_at
from part
where operation is not null
group by operation
