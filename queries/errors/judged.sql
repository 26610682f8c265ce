-- title: Errors and their verdicts
-- description: One row an error: what was recorded, and what the active ruleset says.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column event_id VARCHAR: the error's event
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the call that failed
-- column session_id VARCHAR: the agent's session; (none) where the log names none
-- column template VARCHAR: the message without its values; without a message the status, code or type
-- column recorded_reason VARCHAR: the reason that the producer wrote; unknown where it wrote none
-- column recorded_detail VARCHAR: the finer cause that the producer wrote
-- column reason VARCHAR: the verdict of the active ruleset
-- column detail VARCHAR: its finer cause
select
  event_id,
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
  caller,
  coalesce(session_id, '(none)') as session_id,
  coalesce(template, 'status ' || status, 'code ' || code, 'type ' || error_type, '(no text)') as template,
  coalesce(recorded_reason, 'unknown') as recorded_reason,
  recorded_detail,
  reason,
  detail
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
order by event_id
