-- title: Versions of agents
-- description: Sessions by the version of the agent that was at work, and how many met errors that a version can be the cause of, or tools that failed.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column agent VARCHAR: the program that was at work
-- column agent_version VARCHAR: its version
-- column first_at TIMESTAMP: begin of its first session, UTC
-- column last_at TIMESTAMP: begin of its last one, UTC
-- column sessions BIGINT: sessions of the version that began in the window
-- column failed_sessions BIGINT: of these, the ones with an error of the request, of the environment or of unknown cause
-- column failed_share DOUBLE: failed_sessions / sessions, 0..1
-- column tool_calls BIGINT: calls of tools, where a log counts them
-- column tool_failures BIGINT: tools that failed
-- column tool_failure_share DOUBLE: tool_failures / tool_calls, 0..1; null where no log counts calls
with failed as (
  -- What a provider, an account, the network or a user did is no version's fault.
  select distinct session_id
  from errors
  where party in ('request', 'environment', 'unknown')
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
)

select
  s.agent,
  s.agent_version,
  min(s.started_at) as first_at,
  max(s.started_at) as last_at,
  count(*) as sessions,
  count(f.session_id) as failed_sessions,
  count(f.session_id) / count(*) as failed_share,
  sum(s.tool_calls)::bigint as tool_calls,
  sum(s.tool_failures)::bigint as tool_failures,
  sum(s.tool_failures) filter (where s.tool_calls > 0) / nullif(sum(s.tool_calls), 0) as tool_failure_share
from sessions as s
left join failed as f
  on s.session_id = f.session_id
where s.agent_version is not null
  and ($since is null or s.started_at >= $since)
  and ($until is null or s.started_at < $until)
  and ($caller is null or s.caller = $caller)
group by s.agent, s.agent_version
order by s.agent, first_at, s.agent_version
