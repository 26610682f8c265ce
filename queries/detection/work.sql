-- title: Sessions at work by day and caller
-- description: How many sessions of a caller the logs show on a day, with errors or without: what numbers of errors are held against.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: whose sessions
-- column sessions BIGINT: distinct sessions that any event names
-- column observed BIGINT: those of them that logs report whether they have errors or not
with event as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    type,
    session_id,
    json_extract_string(payload, '$.caller') as caller
  from events
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
)

select
  day,
  coalesce(caller, '(none)') as caller,
  count(distinct session_id) as sessions,
  count(distinct session_id) filter (where type = 'session.observed') as observed
from event
where type in ('error.classified', 'session.observed')
  or starts_with(type, 'retry.')
  or starts_with(type, 'relay.')
group by all
order by day, caller
