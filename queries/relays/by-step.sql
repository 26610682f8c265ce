-- title: Hand-offs and compactions by step
-- description: How often each step hands off to a fresh context. A step that does so often is one to split.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: who handed off
-- column step_id VARCHAR: the step; (no step) where the log names none
-- column relays BIGINT: hand-offs, an agent's own compactions among them
-- column compactions BIGINT: of these, compactions: their log names no step, and another strategy than a checkpoint
-- column sessions BIGINT: distinct sessions
-- column relays_per_session DOUBLE: hand-offs a session that had any
-- column most_in_one_session BIGINT: the highest number of hand-offs of the step in one session
-- column halted BIGINT: hand-offs that were given up
-- column mean_pre_tokens DOUBLE: tokens in the context before, on average; null where no log says
-- column last_at TIMESTAMP: the latest one, UTC
with counted as (
  select
    *,
    count(*) over (partition by caller, step_id, session_id) as in_session
  from relays
  where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
)

select
  caller,
  coalesce(step_id, '(no step)') as step_id,
  count(*) as relays,
  count(*) filter (where is_compaction(step_id, strategy)) as compactions,
  count(distinct session_id) as sessions,
  count(*) / nullif(count(distinct session_id), 0) as relays_per_session,
  max(in_session) as most_in_one_session,
  count(*) filter (where outcome = 'halted') as halted,
  avg(pre_tokens) as mean_pre_tokens,
  max(occurred_at) as last_at
from counted
group by caller, step_id
order by relays desc, caller, step_id
