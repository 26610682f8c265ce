-- view findings: One row a finding that was opened, with its end where it has one.
-- column finding_id VARCHAR: The same for the same incident, night after night.
-- column finding VARCHAR: What kind of finding.
-- column severity VARCHAR: info, warning or critical.
-- column opened_at TIMESTAMP: When it was opened, UTC.
-- column resolved_at TIMESTAMP: When it was resolved, UTC; null while it is open.
-- column scope VARCHAR: What it is about, as JSON.
-- column explanation VARCHAR: One sentence.
select
  json_extract_string(payload, '$.finding_id') as finding_id,
  any_value(json_extract_string(payload, '$.finding')) as finding,
  arg_max(json_extract_string(payload, '$.severity'), occurred_at) as severity,
  min(occurred_at) filter (where type = 'finding.opened') as opened_at,
  case
    when arg_max(type, occurred_at) = 'finding.resolved' then max(occurred_at)
  end as resolved_at,
  any_value(json_extract_string(payload, '$.scope')) as scope,
  any_value(json_extract_string(payload, '$.explanation')) as explanation
from internal.event_v1
where type in ('finding.opened', 'finding.resolved')
group by json_extract_string(payload, '$.finding_id')
