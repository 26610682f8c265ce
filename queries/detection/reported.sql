-- title: Findings as nights reported them
-- description: One row a night and finding, parts of others included, with the figures of that night.
-- param night VARCHAR = null : only this night
-- param judged_at TIMESTAMP = null : only nights that were judged at this instant, UTC; found fastest
-- column night VARCHAR: the night, as in detection-nights
-- column place BIGINT: 0-based place among what that night reported, the gravest first
-- column part_of BIGINT: place of the finding that it is a part of; null if it is its own
-- column finding_id VARCHAR: the same for the same incident, night after night
-- column finding VARCHAR: what kind
-- column state VARCHAR: new, ongoing, open or resolved
-- column severity VARCHAR: info, warning or critical
-- column sessions_failed BIGINT: sessions that it cost on its last day; null where that was not counted
-- column sessions_seen BIGINT: sessions of its callers that day; null if logs show only sessions with errors
-- column waited_seconds DOUBLE: seconds spent waiting for retries that day
-- column explanation VARCHAR: one sentence
-- column content VARCHAR: the whole finding, as JSON
select
  n.night,
  cast(json_extract_string(e.payload, '$.place') as bigint) as place,
  try_cast(json_extract_string(e.payload, '$.part_of') as bigint) as part_of,
  json_extract_string(e.payload, '$.finding_id') as finding_id,
  json_extract_string(e.payload, '$.finding') as finding,
  json_extract_string(e.payload, '$.state') as state,
  json_extract_string(e.payload, '$.severity') as severity,
  try_cast(json_extract_string(e.payload, '$.cost.sessions_failed') as bigint) as sessions_failed,
  try_cast(json_extract_string(e.payload, '$.cost.sessions_seen') as bigint) as sessions_seen,
  try_cast(json_extract_string(e.payload, '$.cost.waited_seconds') as double) as waited_seconds,
  json_extract_string(e.payload, '$.explanation') as explanation,
  e.payload as content
from events as e
inner join nights as n
  on e.occurred_at = n.judged_at
  and json_extract_string(e.payload, '$.night') = n.night
where e.type = 'finding.reported'
  and e.source_path is null
  and ($night is null or n.night = $night)
  and ($judged_at is null or e.occurred_at = $judged_at)
order by n.judged_at, n.night, place
