-- title: Sightings of unknown templates
-- description: Unknown errors, one row a template, day, caller and session; analyzer unknowns merges them into groups.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column template VARCHAR: the message without its values; without a message the status, code or type
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the calls
-- column session_id VARCHAR: the agent's session
-- column errors BIGINT: errors that count as unknown
-- column first_at TIMESTAMP: the earliest one, UTC
-- column last_at TIMESTAMP: the latest one, UTC
-- column message VARCHAR: a sample: the latest text, redacted and capped
-- column event_id VARCHAR: the event of the latest one
select
  coalesce(template, 'status ' || status, 'code ' || code, 'type ' || error_type, '(no text)') as template,
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
  caller,
  session_id,
  count(*) as errors,
  min(occurred_at) as first_at,
  max(occurred_at) as last_at,
  arg_max(message, (occurred_at, event_id)) as message,
  arg_max(event_id, (occurred_at, event_id)) as event_id
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
  and counts_as_unknown
group by all
order by day, caller, session_id, 1
