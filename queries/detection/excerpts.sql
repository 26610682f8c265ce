-- title: Lines of logs with errors
-- description: Some errors with their text and the line of the log that they come from.
-- param event_ids VARCHAR = null : ids of errors, as a JSON array; null for all
-- column event_id VARCHAR: id of the event
-- column occurred_at TIMESTAMP: when it happened, UTC
-- column session VARCHAR: the agent's session; null where the log names none
-- column message VARCHAR: the text of it, redacted and capped
-- column source_path VARCHAR: the file that it was read from
-- column source_line BIGINT: 1-based line in that file; null for events of the file as a whole
select
  e.event_id,
  e.occurred_at,
  e.session_id as session,
  json_extract_string(e.payload, '$.facts.message') as message,
  e.source_path,
  e.source_line
from events as e
where e.type = 'error.classified'
  and (
    $event_ids is null
    or e.event_id in (select unnest(from_json($event_ids, '["VARCHAR"]')))
  )
order by e.occurred_at, e.event_id
