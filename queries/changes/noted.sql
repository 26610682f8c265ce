-- title: Changes written down
-- description: What somebody changed and wrote down with analyzer change, oldest first; what was withdrawn is left out.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column changed_at TIMESTAMP: when it was changed, UTC
-- column change VARCHAR: what was changed
-- column expected VARCHAR: the expected change of figures of analyzer compare, as a JSON object of shares: -0.3 is 30 % less; null without any
-- column noted_by VARCHAR: who wrote it down; null where nobody said
-- column id VARCHAR: its id
select
  occurred_at as changed_at,
  json_extract_string(payload, '$.text') as change,
  nullif(json_extract(payload, '$.expected')::varchar, '{}') as expected,
  nullif(json_extract_string(payload, '$.by'), '') as noted_by,
  event_id as id
from internal.event_v1
where type = 'change.noted'
  and source_path is null
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and event_id not in (
    select json_extract_string(payload, '$.change')
    from internal.event_v1
    where type = 'change.withdrawn'
      and source_path is null
  )
order by changed_at, id
