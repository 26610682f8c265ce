-- title: Failed tools by tool
-- description: How often calls of each tool fail, and mostly how. Calls of all sessions in the window, if their logs count them.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column tool VARCHAR: the tool; (unknown) where the log does not say
-- column failures BIGINT: calls that failed
-- column calls BIGINT: calls; null where no log counts them
-- column failure_share DOUBLE: failures / calls, 0..1; null where no log counts calls
-- column sessions BIGINT: distinct sessions with a failure
-- column top_kind VARCHAR: its most frequent kind of failure
-- column failed_seconds DOUBLE: seconds that failed calls took, where logs date calls and results; null where none does
-- column last_at TIMESTAMP: the latest failure, UTC
with failed as (
  select
    tool,
    count(*) as failures,
    count(distinct session_id) as sessions,
    mode(kind order by kind) as top_kind,
    round(sum(duration_seconds), 3) as failed_seconds,
    max(occurred_at) as last_at
  from tool_failures
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
  group by tool
),

called as (
  select
    tool,
    sum(calls)::bigint as calls
  from tool_calls
  where ($since is null or ended_at >= $since)
    and ($until is null or started_at < $until)
    and ($caller is null or caller = $caller)
  group by tool
)

select
  f.tool,
  f.failures,
  c.calls,
  case
    when c.calls is not null then f.failures / greatest(c.calls, f.failures)
  end as failure_share,
  f.sessions,
  f.top_kind,
  f.failed_seconds,
  f.last_at
from failed as f
left join called as c
  on f.tool = c.tool
order by f.failures desc, f.tool
