-- title: Usage-limit exhaustions
-- description: Every time an agent ran into its usage limit, and when it is or was back.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column occurred_at TIMESTAMP: when it happened, UTC
-- column agent VARCHAR: the agent
-- column session_id VARCHAR: its session
-- column reason_text VARCHAR: what it said, redacted
-- column reset_at TIMESTAMP: when its limit ends, UTC
-- column restored_at TIMESTAMP: when it came back, UTC
select
  occurred_at,
  agent,
  session_id,
  reason_text,
  reset_at,
  restored_at
from exhaustions
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
order by occurred_at, agent
