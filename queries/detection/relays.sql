-- title: Hand-offs by day, step and session
-- description: How often each session of a caller handed off to a fresh context in a step, or compacted its own; hand-offs that were skipped are none.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: who handed off
-- column step VARCHAR: the step that was at work; (no step) where the log names none, and empty for an agent's own compactions, which are no hand-offs
-- column session VARCHAR: the agent's session; empty where the log names none
-- column relays BIGINT: hand-offs, or compactions
with hand_off as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    *
  from relays
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
)

select
  day,
  caller,
  if(is_compaction(step_id, strategy), '', coalesce(step_id, '(no step)')) as step,
  coalesce(session_id, '') as session,
  count(*) as relays
from hand_off
where outcome <> 'skipped'
group by all
order by day, caller, step, session
