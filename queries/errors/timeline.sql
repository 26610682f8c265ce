-- title: Errors by day and reason
-- description: How many errors of each reason a day brought.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column reason VARCHAR: one of the eight
-- column errors BIGINT: classified errors
-- column sessions BIGINT: distinct sessions
select
  -- Zones take their time, and most ask for the one that is stored.
  case
    when $timezone = 'UTC' then cast(occurred_at as date)
    else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
  end as day,
  reason,
  count(*) as errors,
  count(distinct session_id) as sessions
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by day, reason
order by day, reason
