-- title: Sessions at work by day and caller
-- description: How many sessions of a caller the logs show on a day, with errors or without: what numbers of errors are held against.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: whose sessions
-- column sessions BIGINT: distinct sessions that any event names
-- column observed BIGINT: those of them that logs report whether they have errors or not
select
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
  coalesce(json_extract_string(payload, '$.caller'), '(none)') as caller,
  count(distinct session_id) as sessions,
  count(distinct session_id) filter (where type = 'session.observed') as observed
from events
where (
  type in ('error.classified', 'session.observed')
  or starts_with(type, 'retry.')
  or starts_with(type, 'relay.')
)
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
group by all
order by day, caller
