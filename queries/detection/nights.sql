-- title: Nights that were judged
-- description: What each nightly check said beside its findings, as it was written down; a night that was judged again has more rows than one.
-- param day DATE = null : only this day
-- param before DATE = null : only days before this one
-- param timezone VARCHAR = null : only days of this time zone
-- column night VARCHAR: names it, for detection-reported
-- column day DATE: the judged day
-- column timezone VARCHAR: the zone in which it begins and ends
-- column judged_at TIMESTAMP: when it was judged, UTC
-- column ruleset VARCHAR: digest of the ruleset that judged history
-- column findings BIGINT: findings that were reported, those that ended that night included
-- column result VARCHAR: the rest of the result, as JSON
select
  night,
  day,
  timezone,
  judged_at,
  ruleset,
  findings,
  result
from nights
where ($day is null or day = $day)
  and ($before is null or day < $before)
  and ($timezone is null or timezone = $timezone)
order by day, judged_at, night
