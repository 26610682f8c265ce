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
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
with part as (
  select
    operation,
    type = 'retry.settled' as settles,
    occurred_at,
    coalesce(source_line, 9223372036854775807) as place,
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
  from internal.event_v1 as e
  -- A chain is named by its first failure.
  anti join internal.told_twice as w
    on e.operation = w.event_id
  where type in ('error.classified', 'retry.scheduled', 'retry.settled')
    and operation is not null
)
select
  operation,
  coalesce(
    arg_max(caller, (settles, occurred_at, place)) filter (where caller is not null),
    'unknown'
  ) as caller,
  min(session_id) as session_id,
  coalesce(
    arg_max(reason, (occurred_at, place)) filter (where settles and reason is not null),
    arg_max(reason, (occurred_at, place)) filter (where not settles and reason is not null)
  ) as reason,
  coalesce(
    arg_max(outcome, (occurred_at, place)) filter (where settles and outcome is not null),
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
  max(work.agent) as agent,
  max(work.agent_version) as agent_version,
  max(work.project) as project,
  max(work.cwd) as cwd,
  max(work.branch) as branch,
  max(provider) as provider,
  max(model) as model
from part
group by operation
