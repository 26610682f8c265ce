-- title: What is no error, by day
-- description: Of each day, what is counted that no error tells: sessions that saw a tool fail, retry chains that waited for so long or ran out, sessions that were stopped, that asked nothing, that ended without an answer, that stand in the logs twice, and that met errors that a version or model can be the cause of.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: whose sessions or chains; empty of tools, which callers share
-- column signal VARCHAR: tool, wait, exhausted, aborted, empty, unanswered, copy, version or model
-- column name VARCHAR: the tool, of chains the provider, of copies the host, of versions and models the agent, a tab, and the version or model; empty where the log does not say, and of other signals
-- column level INTEGER: of waits, the power of two of their seconds, 0 for less than two; of other signals 0
-- column sessions BIGINT: distinct sessions in which that was so; of versions and models those that met errors of their own side
-- column groups BIGINT: how often, three times a session at most; of chains, their number
-- column exposure BIGINT: what it is held against: distinct sessions that used the tool, or the chains, or the sessions under the version or model; 0 where that is not counted here
with event as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    type,
    occurred_at,
    session_id,
    host,
    hash(payload) as said,
    json_extract_string(payload, '$.caller') as caller,
    json_extract_string(payload, '$.provider') as provider,
    json_extract_string(payload, '$.operation') as operation,
    json_extract_string(payload, '$.outcome') as outcome,
    cast(json_extract(payload, '$.waited_seconds') as double) as waited_seconds,
    json_extract_string(payload, '$.tool') as tool,
    cast(json_extract(payload, '$.tools') as map(varchar, bigint)) as tools,
    json_extract_string(payload, '$.agent') as agent,
    json_extract_string(payload, '$.agent_version') as agent_version,
    json_extract_string(payload, '$.model') as model,
    try_cast(json_extract_string(payload, '$.requests') as bigint) as requests,
    try_cast(json_extract_string(payload, '$.aborted') as bigint) as aborted,
    timezone('UTC', try_cast(json_extract_string(payload, '$.ended_at') as timestamptz)) as ended_at,
    coalesce(json_extract_string(payload, '$.kind'), '') not in ('refused', 'cancelled')
    and coalesce(json_extract_string(payload, '$.reason'), '') <> 'tool_not_found'
    and coalesce(json_extract_string(payload, '$.detail'), '') <> 'aborted' as in_vain
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

settled as (
  select
    day,
    coalesce(caller, '(none)') as caller,
    coalesce(provider, '') as provider,
    operation,
    max(session_id) as session_id,
    max(waited_seconds) as waited_seconds,
    bool_or(outcome = 'exhausted') as exhausted
  from event
  where type = 'retry.settled'
  group by all
),

-- A log that arrives again under other ids says the same of the same moment. An error whose time is a whole second says
-- nothing, since programs that start together fail together; neither does what more than three sessions say.
twin as (
  select
    day,
    caller,
    type,
    occurred_at,
    said
  from event
  where type in ('session.observed', 'error.classified')
    and (type = 'session.observed' or microsecond(occurred_at) % 1000000 <> 0)
  group by all
  having count(distinct session_id) between 2 and 3
),

session as (
  select
    e.day,
    coalesce(e.caller, '(none)') as caller,
    coalesce(e.host, '') as host,
    e.session_id,
    bool_or(t.day is not null) as copied,
    max(e.requests) = 0 as asked_nothing,
    max(e.aborted) as aborted,
    max(e.occurred_at) filter (e.in_vain and e.type <> 'session.observed') >= max(e.ended_at) - interval 1 second as unanswered
  from event as e
  left join twin as t
    on e.day = t.day
    and e.caller is not distinct from t.caller
    and e.type = t.type
    and e.occurred_at = t.occurred_at
    and e.said = t.said
  where e.type <> 'retry.settled'
    and e.session_id is not null
  group by all
),

told as (
  select
    day,
    caller,
    unnest([
      {'signal': 'aborted', 'name': '', 'groups': least(coalesce(aborted, 0), 3)},
      {'signal': 'empty', 'name': '', 'groups': cast(asked_nothing as bigint)},
      {'signal': 'unanswered', 'name': '', 'groups': cast(unanswered as bigint)},
      {'signal': 'copy', 'name': host, 'groups': cast(copied as bigint)}
    ]) as one
  from session
  where aborted > 0
    or asked_nothing
    or unanswered
    or copied
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
from settled
where waited_seconds > 0
group by all
union all
select
  day,
  caller,
  'exhausted' as signal,
  provider as name,
  0 as level,
  count(distinct coalesce(session_id, operation)) filter (where exhausted) as sessions,
  count(*) filter (where exhausted) as groups,
  count(*) as exposure
from settled
group by all
union all
select
  day,
  caller,
  one.signal as signal,
  one.name as name,
  0 as level,
  count(*) as sessions,
  cast(sum(one.groups) as bigint) as groups,
  0 as exposure
from told
where one.groups > 0
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
