-- title: Rulesets that were applied
-- description: When another ruleset became the active one, and which one it replaced.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column applied_on DATE: day in the time zone
-- column applied_at TIMESTAMP: when it became the active one, UTC
-- column ruleset VARCHAR: its digest
-- column previous VARCHAR: digest of the one before; null where reports had shown the recorded reasons
select
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as applied_on,
  occurred_at as applied_at,
  json_extract_string(payload, '$.ruleset') as ruleset,
  json_extract_string(payload, '$.previous') as previous
from events
where type = 'ruleset.applied'
  and source_path is null
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
order by applied_at, event_id
