-- title: Failed tools, waits and versions by day
-- description: How many sessions that used a tool saw it fail on a day, and how often, three times a session at most; and how many retry chains of a caller with a provider waited for so long, in powers of two of a second; and how many sessions under each version and model of an agent met errors that a version can be the cause of.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: whose chains or sessions; empty of tools, which callers share
-- column signal VARCHAR: tool, wait, version or model
-- column name VARCHAR: the tool, or the provider; empty where the log does not say; of versions and models the agent, a tab, and the version or model
-- column level INTEGER: of waits, the power of two of their seconds, 0 for less than two; of others 0
-- column sessions BIGINT: distinct sessions in which the tool failed, that waited, or that met such errors
-- column groups BIGINT: its failed calls, three of a session at most; or the chains; or these sessions
-- column exposure BIGINT: distinct sessions that used the tool; or the chains; or the sessions under the version or model
with event as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    type,
    session_id,
    json_extract_string(payload, '$.caller') as caller,
    json_extract_string(payload, '$.provider') as provider,
    json_extract_string(payload, '$.operation') as operation,
    cast(json_extract(payload, '$.waited_seconds') as double) as waited_seconds,
    json_extract_string(payload, '$.tool') as tool,
    cast(json_extract(payload, '$.tools') as map(varchar, bigint)) as tools,
    json_extract_string(payload, '$.agent') as agent,
    json_extract_string(payload, '$.agent_version') as agent_version,
    json_extract_string(payload, '$.model') as model
  from events
  where type in ('tool.failed', 'session.observed', 'retry.settled', 'error.classified')
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

-- What a provider, an account, the network or a user did is no version's fault.
error as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    session_id as session,
    party
  from errors
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

failed as (
  select distinct
    day,
    session
  from error
  where party in ('request', 'environment', 'unknown')
),

release as (
  select
    e.day,
    e.caller,
    e.agent,
    e.agent_version,
    e.model,
    f.session is not null as has_failed
  from (
    select
      day,
      session_id,
      coalesce(max(caller), '(none)') as caller,
      max(agent) as agent,
      max(agent_version) as agent_version,
      max(model) as model
    from event
    where type in ('session.observed', 'error.classified')
      and session_id is not null
    group by
      day,
      session_id
  ) as e
  left join failed as f
    on e.day = f.day
    and e.session_id = f.session
  where e.agent is not null
),

used as (
  select
    day,
    caller,
    session_id,
    unnest(map_keys(tools)) as tool,
    0 as failures
  from event
  where type = 'session.observed'
    and session_id is not null
  union all
  select
    day,
    caller,
    session_id,
    tool,
    1 as failures
  from event
  where type = 'tool.failed'
    and session_id is not null
    and tool is not null
),

of_session as (
  select
    day,
    caller,
    tool,
    session_id,
    sum(failures) as failures
  from used
  group by all
),

waited as (
  select
    day,
    coalesce(caller, '(none)') as caller,
    coalesce(provider, '') as provider,
    operation,
    max(session_id) as session_id,
    max(waited_seconds) as waited_seconds
  from event
  where type = 'retry.settled'
    and waited_seconds > 0
  group by all
)

select
  day,
  '' as caller,
  'tool' as signal,
  tool as name,
  0 as level,
  count(*) filter (where failures > 0) as sessions,
  cast(sum(least(failures, 3)) as bigint) as groups,
  count(*) as exposure
from of_session
group by all
union all
select
  day,
  caller,
  'wait' as signal,
  provider as name,
  cast(floor(log2(greatest(waited_seconds, 1))) as integer) as level,
  count(distinct coalesce(session_id, operation)) as sessions,
  count(*) as groups,
  count(*) as exposure
from waited
group by all
union all
select
  day,
  caller,
  'version' as signal,
  agent || chr(9) || agent_version as name,
  0 as level,
  count(*) filter (where has_failed) as sessions,
  count(*) filter (where has_failed) as groups,
  count(*) as exposure
from release
where agent_version is not null
group by all
union all
select
  day,
  caller,
  'model' as signal,
  agent || chr(9) || model as name,
  0 as level,
  count(*) filter (where has_failed) as sessions,
  count(*) filter (where has_failed) as groups,
  count(*) as exposure
from release
where model is not null
group by all
order by day, caller, signal, name, level
