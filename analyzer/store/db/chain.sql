-- What `retries` has, and beside it what tells that a chain broke off while another call was due.
with event as not materialized (
  select *
  from internal.event_v1
),

part as (
  select
    operation,
    type = 'retry.settled' as settles,
    occurred_at,
    -- Its moment, then its line, 63 bits of each: numbers are compared sooner than pairs.
    epoch_us(occurred_at)::hugeint * 9223372036854775808 + coalesce(source_line, 9223372036854775807) as turn,
    session_id,
    caller,
    reason,
    outcome,
    attempt,
    attempts,
    delay_seconds,
    waited_seconds,
    type = 'retry.scheduled' as waits,
    work[1] as work,
    provider,
    model
  from event as e
  -- A chain is named by its first failure.
  anti join internal.told_twice as w
    on e.operation = w.event_id
  where type in ('error.classified', 'retry.scheduled', 'retry.settled')
    and operation is not null
)

select
  operation,
  coalesce(
    arg_max(caller, turn) filter (where settles and caller is not null),
    arg_max(caller, turn) filter (where not settles and caller is not null),
    'unknown'
  ) as caller,
  min(session_id) as session_id,
  coalesce(
    arg_max(reason, turn) filter (where settles and reason is not null),
    arg_max(reason, turn) filter (where not settles and reason is not null)
  ) as reason,
  coalesce(
    arg_max(outcome, turn) filter (where settles and outcome is not null),
    'unresolved'
  ) as outcome,
  coalesce(
    max(attempts) filter (where settles),
    max(attempt),
    1
  ) as attempts,
  coalesce(
    max(waited_seconds) filter (where settles),
    -- Milliseconds: sums of fractions end differently with the order of their terms.
    round(sum(delay_seconds) filter (where waits), 3),
    0
  ) as waited_seconds,
  min(occurred_at) as started_at,
  max(occurred_at) filter (where settles) as ended_at,
  max(occurred_at) as last_at,
  bool_or(waits) as waits,
  max(work.agent) as agent,
  max(work.agent_version) as agent_version,
  max(work.project) as project,
  max(work.cwd) as cwd,
  max(work.branch) as branch,
  max(provider) as provider,
  max(model) as model
from part
group by operation
