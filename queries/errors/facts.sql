-- title: Facts of errors
-- description: What the classifier saw of errors.
-- param event_ids VARCHAR = null : ids of events, a JSON list or with commas between them; all where null
-- column event_id VARCHAR: the error's event
-- column message VARCHAR: what the error said, redacted and capped
-- column facts VARCHAR: the facts as JSON; null where it was logged without any
select
  e.event_id,
  e.message,
  cast(json_extract(v.payload, '$.facts') as varchar) as facts
from errors as e
inner join events as v
  on e.event_id = v.event_id
where $event_ids is null
  or e.event_id in (
    select unnest(coalesce(try(from_json($event_ids, '["VARCHAR"]')), string_split($event_ids, ',')))
  )
order by e.event_id
