-- title: Sessions at work by hour and caller
-- description: How many sessions of a caller the logs show on a day, with errors or without, by the hour of their first event of the day, so that the hours of a day add up: the basis for numbers of errors.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column hour INTEGER: hour of the day, 0 to 23, of the first event of a session on it
-- column caller VARCHAR: whose sessions
-- column sessions BIGINT: distinct sessions that any event names
-- column observed BIGINT: of these, the ones that logs report with or without errors
with event as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    occurred_at,
    type,
    session_id,
    caller
  from internal.event_v1
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

session as (
  select
    day,
    min(cast(date_part('hour', case
      when $timezone = 'UTC' then occurred_at
      else timezone($timezone, timezone('UTC', occurred_at))
    end) as integer)) as hour,
    coalesce(caller, '(none)') as caller,
    session_id,
    bool_or(type = 'session.observed') as observed
  from event
  where type in ('error.classified', 'session.observed')
    or starts_with(type, 'retry.')
    or starts_with(type, 'relay.')
  group by all
)

select
  day,
  hour,
  caller,
  count(session_id) as sessions,
  count(session_id) filter (where observed) as observed
from session
group by all
order by day, hour, caller
