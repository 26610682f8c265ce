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
select
  operation,
  caller,
  session_id,
  reason,
  outcome,
  attempts,
  waited_seconds,
  started_at,
  ended_at,
  agent,
  agent_version,
  project,
  cwd,
  branch,
  provider,
  model
from internal.chain
