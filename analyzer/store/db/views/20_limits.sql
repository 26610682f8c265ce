-- view limits: One row a change of how much of a usage limit is used, where logs state it.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it was stated, UTC.
-- column session_id VARCHAR: The agent's session.
-- column caller VARCHAR: Who made the request that was answered with it; (none) where the log does not say.
-- column agent VARCHAR: The program that was at work, as in codex; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column provider VARCHAR: Whose limit it is.
-- column model VARCHAR: The model in use.
-- column plan VARCHAR: The plan that the limit belongs to, as the provider names it; null where it is not stated.
-- column window_minutes BIGINT: Length of the limit's window: 300 for five hours, 10080 for a week.
-- column used_share DOUBLE: What is used of it, 0..1.
-- column reset_at TIMESTAMP: When the window ends, UTC; null where it is not stated.
select
  event_id,
  occurred_at,
  session_id,
  coalesce(caller, '(none)') as caller,
  work[1].agent as agent,
  work[1].agent_version as agent_version,
  work[1].project as project,
  provider,
  model,
  seen[1].plan as plan,
  seen[1].window_minutes as window_minutes,
  seen[1].used_share as used_share,
  reset_at
from internal.event_v1
where type = 'limit.observed'
  and seen[1].window_minutes > 0
  and seen[1].used_share between 0 and 1
