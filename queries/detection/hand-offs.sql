-- title: Hand-offs behind a finding
-- description: The events that began a caller's hand-offs in a step on some days.
-- param caller VARCHAR = null : only this caller
-- param step VARCHAR = null : only this step
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param limit BIGINT = 15 : events at most
-- column event_id VARCHAR: the event
-- column occurred_at TIMESTAMP: when, UTC
-- column session_id VARCHAR: the agent's session
select
  event_id,
  occurred_at,
  session_id
from events
where type = 'relay.triggered'
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or coalesce(json_extract_string(payload, '$.caller'), '(none)') = $caller)
  and ($step is null or coalesce(json_extract_string(payload, '$.step_id'), '') = $step)
order by occurred_at, event_id
limit $limit
