-- title: Decisions about findings
-- description: One row a finding that somebody acknowledged, snoozed, closed or took up again: the latest decision.
-- column finding_id VARCHAR: the same for the same incident, night after night
-- column act VARCHAR: acknowledged, snoozed, closed or reopened
-- column handled_at TIMESTAMP: when it was decided, UTC
-- column snoozed_until TIMESTAMP: when a snoozed one speaks again, UTC; null for the others
-- column note VARCHAR: what was said of it
-- column handled_by VARCHAR: who decided; empty where nobody said
select
  json_extract_string(payload, '$.finding_id') as finding_id,
  arg_max(json_extract_string(payload, '$.act'), (occurred_at, event_id)) as act,
  max(occurred_at) as handled_at,
  try_cast(
    nullif(arg_max(coalesce(json_extract_string(payload, '$.snoozed_until'), ''), (occurred_at, event_id)), '') as timestamp
  ) as snoozed_until,
  arg_max(coalesce(json_extract_string(payload, '$.note'), ''), (occurred_at, event_id)) as note,
  arg_max(coalesce(json_extract_string(payload, '$.by'), ''), (occurred_at, event_id)) as handled_by
from events
where type = 'finding.handled'
  and source_path is null
group by finding_id
order by finding_id
