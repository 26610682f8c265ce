-- view exhaustions: One row each time an agent ran into its usage limit.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session.
-- column agent VARCHAR: The agent that was exhausted.
-- column reason_text VARCHAR: What it said, redacted.
-- column reset_at TIMESTAMP: When its limit ends, UTC; null where it did not say.
-- column exit_code INTEGER: Exit code of the run.
-- column restored_at TIMESTAMP: When it came back, UTC; null while it has not.
-- column caller VARCHAR: Who ran into it; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
select
  e.event_id,
  e.occurred_at,
  e.session_id,
  e.work[1].agent as agent,
  e.seen[1].reason_text as reason_text,
  e.reset_at,
  e.seen[1].exit_code as exit_code,
  (
    select min(b.occurred_at)
    from internal.event_v1 as b
    where b.type = 'agent.restored'
      and b.work[1].agent = e.work[1].agent
      and b.occurred_at >= e.occurred_at
  ) as restored_at,
  e.caller,
  e.work[1].agent_version as agent_version,
  e.work[1].project as project,
  e.work[1].cwd as cwd,
  e.work[1].branch as branch,
  e.provider,
  e.model
from internal.event_v1 as e
where e.type = 'agent.exhausted'
