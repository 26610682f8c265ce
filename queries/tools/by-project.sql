-- title: Failed tools by agent and project
-- description: Where calls of tools fail. Calls of all sessions in the window, if their logs count them.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column agent VARCHAR: the program that was at work; null where the log does not say
-- column project VARCHAR: the last name of the working directory; null where the log does not say
-- column failures BIGINT: calls that failed
-- column calls BIGINT: calls; null where no log counts them
-- column failure_share DOUBLE: failures / calls, 0..1; null where no log counts calls
-- column sessions BIGINT: distinct sessions with a failure
-- column top_tool VARCHAR: the tool that fails most often
-- column last_at TIMESTAMP: the latest failure, UTC
with failed as (
  select
    agent,
    project,
    count(*) as failures,
    count(distinct session_id) as sessions,
    mode(tool order by tool) as top_tool,
    max(occurred_at) as last_at
  from tool_failures
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
  group by agent, project
),

called as (
  select
    agent,
    project,
    sum(calls)::bigint as calls
  from tool_calls
  where ($since is null or ended_at >= $since)
    and ($until is null or started_at < $until)
  group by agent, project
)

select
  f.agent,
  f.project,
  f.failures,
  c.calls,
  case
    when c.calls is not null then f.failures / greatest(c.calls, f.failures)
  end as failure_share,
  f.sessions,
  f.top_tool,
  f.last_at
from failed as f
left join called as c
  on f.agent is not distinct from c.agent
  and f.project is not distinct from c.project
order by f.failures desc, f.agent, f.project
