-- title: Nights that were judged
-- description: What each nightly check found, as it was written down; a night that was judged again has more rows than one.
-- param day DATE = null : only this day
-- param timezone VARCHAR = null : only days of this time zone
-- column day DATE: the judged day
-- column timezone VARCHAR: the zone in which it begins and ends
-- column judged_at TIMESTAMP: when it was judged, UTC
-- column ruleset VARCHAR: digest of the ruleset that judged history
-- column findings BIGINT: findings that were reported, those that ended that night included
-- column night VARCHAR: the whole result, as JSON
select
  try_cast(json_extract_string(payload, '$.window.since') as date) as day,
  json_extract_string(payload, '$.window.timezone') as timezone,
  occurred_at as judged_at,
  json_extract_string(payload, '$.ruleset') as ruleset,
  cast(json_array_length(payload, '$.findings') as bigint) as findings,
  payload as night
from events
where type = 'night.judged'
  and source_path is null
  and ($day is null or try_cast(json_extract_string(payload, '$.window.since') as date) = $day)
  and ($timezone is null or json_extract_string(payload, '$.window.timezone') = $timezone)
order by day, judged_at
