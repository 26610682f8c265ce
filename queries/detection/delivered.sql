-- title: What was delivered of a night
-- description: One row a finding, its state, its severity and a target: what a night need not send again.
-- param span VARCHAR = null : only of what was judged so, a day or its hours
-- param timezone VARCHAR = null : only of days of this time zone
-- column finding_id VARCHAR: the same for the same incident, night after night
-- column state VARCHAR: new, worse or resolved
-- column severity VARCHAR: the severity that was sent
-- column target VARCHAR: a hash of the target; its address is a secret
-- column delivered_at TIMESTAMP: when it was sent first, UTC
select
  json_extract_string(payload, '$.finding_id') as finding_id,
  json_extract_string(payload, '$.state') as state,
  json_extract_string(payload, '$.severity') as severity,
  json_extract_string(payload, '$.target') as target,
  min(occurred_at) as delivered_at
from events
where type = 'finding.delivered'
  and source_path is null
  and ($span is null or json_extract_string(payload, '$.span') = $span)
  and ($timezone is null or json_extract_string(payload, '$.timezone') = $timezone)
group by all
order by all
