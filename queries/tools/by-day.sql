-- title: Failed tools by day
-- description: Calls of tools that failed on a day, and the calls of the sessions that ended on it, where their logs count them.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column failures BIGINT: calls that failed
-- column sessions BIGINT: distinct sessions with a failure
-- column calls BIGINT: calls of tools in the sessions that ended on the day
with failed as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    count(*) as failures,
    count(distinct session_id) as sessions
  from tool_failures
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
  group by 1
),

called as (
  select
    cast(timezone($timezone, timezone('UTC', ended_at)) as date) as day,
    sum(calls)::bigint as calls
  from tool_calls
  where ($since is null or ended_at >= $since)
    and ($until is null or ended_at < $until)
    and ($caller is null or caller = $caller)
  group by 1
)

select
  coalesce(f.day, c.day) as day,
  coalesce(f.failures, 0) as failures,
  coalesce(f.sessions, 0) as sessions,
  coalesce(c.calls, 0) as calls
from failed as f
full join called as c
  on f.day = c.day
order by day
