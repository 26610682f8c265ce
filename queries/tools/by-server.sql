-- title: Tools by MCP server
-- description: Calls, failures and the time of failed calls by the MCP server whose tools they are, as the names of tools tell it: mcp__github__create_issue is of github.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column server VARCHAR: the MCP server, or the extension of an agent that names its tools so
-- column agent VARCHAR: the program that called; null where the log does not say
-- column tools BIGINT: its tools that were called
-- column calls BIGINT: calls; null where no log counts them
-- column failures BIGINT: calls that failed
-- column failure_share DOUBLE: failures / calls, 0..1; null where no log counts calls
-- column sessions BIGINT: distinct sessions that called it
-- column top_kind VARCHAR: its most frequent kind of failure
-- column failed_seconds DOUBLE: seconds that failed calls took, where logs date calls and results; null where none does
-- column last_at TIMESTAMP: the latest failure, UTC
with call as (
  select
    agent,
    tool,
    session_id,
    calls,
    0 as failures,
    null::varchar as kind,
    null::double as duration_seconds,
    null::timestamp as failed_at
  from tool_calls
  where ($since is null or ended_at >= $since)
    and ($until is null or started_at < $until)
    and ($caller is null or caller = $caller)
  union all
  select
    agent,
    tool,
    session_id,
    null,
    1,
    kind,
    duration_seconds,
    occurred_at
  from tool_failures
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
),

named as (
  select
    *,
    coalesce(
      -- mcp__server__tool, mcp_server_tool, @server/tool, and server__tool or server___tool.
      nullif(regexp_extract(tool, '^mcp__(.+?)__.', 1), ''),
      nullif(regexp_extract(tool, '^mcp_([^_]+)_.', 1), ''),
      nullif(regexp_extract(tool, '^@([^/]+)/.', 1), ''),
      nullif(regexp_extract(tool, '^([A-Za-z0-9][A-Za-z0-9-]*)___?[A-Za-z0-9]', 1), '')
    ) as server
  from call
)

select
  server,
  agent,
  count(distinct tool) as tools,
  sum(calls)::bigint as calls,
  sum(failures)::bigint as failures,
  case
    when sum(calls) is not null then sum(failures) / greatest(sum(calls), sum(failures))
  end as failure_share,
  count(distinct session_id) as sessions,
  mode(kind order by kind) as top_kind,
  round(sum(duration_seconds), 3) as failed_seconds,
  max(failed_at) as last_at
from named
where server is not null
group by
  server,
  agent
order by failures desc, calls desc nulls last, server, agent
