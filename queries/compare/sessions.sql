-- title: Sessions of two sides
-- description: One row a session of either side, by when it began and by one of its properties, with what is counted of it.
-- param before_since TIMESTAMP = null : first instant of the first side, inclusive, UTC
-- param before_until TIMESTAMP = null : last instant of the first side, exclusive, UTC
-- param after_since TIMESTAMP = null : first instant of the second side, inclusive, UTC
-- param after_until TIMESTAMP = null : last instant of the second side, exclusive, UTC
-- param dimension VARCHAR = null : agent, agent_version, model, provider, project, branch or caller; null: only time
-- param before VARCHAR = null : its value on the first side; null: any
-- param after VARCHAR = null : its value on the second side; null: any
-- param caller VARCHAR = null : only this caller
-- column side VARCHAR: before or after
-- column session_id VARCHAR: the agent's session
-- column requests BIGINT: model requests, where a log counts them
-- column errors BIGINT: classified errors, what somebody stopped left out
-- column unknown_errors BIGINT: errors that count as unknown
-- column counted_errors BIGINT: errors that take part in the unknown share
-- column reasons VARCHAR: distinct reasons of its errors with commas between, what somebody stopped left out
-- column chains BIGINT: retry chains that ended
-- column recovered_chains BIGINT: of these the ones that recovered
-- column waited_seconds DOUBLE: seconds that its chains waited
-- column relays BIGINT: hand-offs begun
-- column tool_calls BIGINT: calls of tools, where a log counts them
-- column tool_failures BIGINT: tools that failed
-- column tokens BIGINT: tokens of its requests, with caches, if a log states them
-- column cost_usd DOUBLE: what its requests cost in US dollars; null where none has a price
with session as (
  select
    *,
    case $dimension
      when 'agent' then agent
      when 'agent_version' then agent_version
      when 'model' then model
      when 'provider' then provider
      when 'project' then project
      when 'branch' then branch
      when 'caller' then caller
    end as value
  from sessions
  where ($caller is null or caller = $caller)
),

side as (
  select 'before' as side, *
  from session
  where ($before_since is null or started_at >= $before_since)
    and ($before_until is null or started_at < $before_until)
    and ($before is null or value = $before)
  union all
  select 'after' as side, *
  from session
  where ($after_since is null or started_at >= $after_since)
    and ($after_until is null or started_at < $after_until)
    and ($after is null or value = $after)
),

failed as (
  select
    session_id,
    count(*) filter (where detail is distinct from 'aborted') as errors,
    count(*) filter (where counts_as_unknown) as unknown_errors,
    count(*) filter (where is_counted(reason, detail)) as counted_errors,
    string_agg(distinct reason, ',' order by reason) filter (where detail is distinct from 'aborted') as reasons
  from errors
  group by session_id
),

chain as (
  select
    session_id,
    count(*) filter (where outcome in ('recovered', 'exhausted', 'surfaced', 'escalated')) as chains,
    count(*) filter (where outcome = 'recovered') as recovered_chains,
    sum(waited_seconds) as waited_seconds
  from retries
  group by session_id
)

select
  s.side,
  s.session_id,
  s.requests,
  coalesce(f.errors, 0) as errors,
  coalesce(f.unknown_errors, 0) as unknown_errors,
  coalesce(f.counted_errors, 0) as counted_errors,
  coalesce(f.reasons, '') as reasons,
  coalesce(c.chains, 0) as chains,
  coalesce(c.recovered_chains, 0) as recovered_chains,
  coalesce(c.waited_seconds, 0) as waited_seconds,
  s.relays,
  s.tool_calls,
  s.tool_failures,
  s.input_tokens + coalesce(s.output_tokens, 0) as tokens,
  s.cost_usd
from side as s
left join failed as f
  on s.session_id = f.session_id
left join chain as c
  on s.session_id = c.session_id
order by s.side desc, s.session_id
