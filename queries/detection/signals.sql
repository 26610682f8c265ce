-- title: Counts of each day beside errors
-- description: Counts of each day beside errors: sessions that saw a tool fail, retry chains that waited for so long or ran out, sessions that were stopped, that did nothing, that ended without an answer, that were logged twice, and that met errors that a version or model can cause, and requests that another model answered.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: whose sessions or chains
-- column signal VARCHAR: tool, wait, exhausted, aborted, empty, unanswered, copy, version, model or swap
-- column name VARCHAR: the tool, of chains the provider, of copies the host, of versions and models the agent, a tab, and the version or model, of swaps the words of `answers`; empty where the log does not say, and of other signals
-- column level INTEGER: of waits, the power of two of their seconds, 0 for less than two; of other signals 0
-- column sessions BIGINT: distinct sessions in which that was so; of versions and models those with errors that are not the provider's
-- column groups BIGINT: how often, three times a session at most; of chains, their number
-- column exposure BIGINT: what it is compared with: distinct sessions that used the tool, or the chains, or the sessions under the version or model, or the requests asked of the model; 0 where that is not counted here
with event as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    type,
    occurred_at,
    session_id,
    host,
    caller,
    provider,
    operation,
    outcome,
    waited_seconds,
    seen[1].tool as tool,
    seen[1].tools as tools,
    work[1].agent as agent,
    work[1].agent_version as agent_version,
    model,
    seen[1].requests as requests,
    internal.aborted(type, payload) as aborted,
    type = 'session.observed' and coalesce(outcome = 'hollow', false) as is_hollow,
    seen[1].ended_at as ended_at,
    internal.is_in_vain(seen[1].tool_kind, reason, detail) as in_vain
  from internal.event_v1
  where type in ('tool.failed', 'session.observed', 'retry.settled', 'error.classified')
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

-- What a provider, an account, the network or a user did is no version's fault.
error as materialized (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    session_id as session,
    party
  from errors
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

-- A log that arrives again under other ids says the same of the same moment. An error whose time is a whole second says
-- nothing, since programs that start together fail together; neither does what is said more than three times.
moment as (
  select
    type,
    occurred_at
  from event
  where type = 'session.observed'
    or (type = 'error.classified' and microsecond(occurred_at) % 1000000 <> 0)
  group by all
  having count(*) > 1
),

said as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    type,
    occurred_at,
    session_id,
    host,
    caller,
    hash(payload, facts_id) as said
  from internal.event_v1
  semi join moment using (type, occurred_at)
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

copied as (
  select
    *,
    count(*) over (partition by day, caller, type, occurred_at, said) as times
  from said
),

failed as (
  select distinct
    day,
    session
  from error
  where party in ('request', 'environment', 'unknown')
),

-- An agent's session by the versions and models that it worked with.
release as (
  select
    e.day,
    e.caller,
    e.session_id,
    unnest([
      {'signal': 'version', 'name': e.agent || chr(9) || e.agent_version},
      {'signal': 'model', 'name': e.agent || chr(9) || e.model}
    ]) as one,
    cast(f.session is not null as bigint) as has_failed
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
    having max(agent) is not null
  ) as e
  left join failed as f
    on e.day = f.day
    and e.session_id = f.session
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
  union all
  select
    day,
    caller,
    session_id,
    tool,
    1 as failures
  from event
  where type = 'tool.failed'
),

settled as (
  select
    day,
    coalesce(caller, '(none)') as caller,
    coalesce(provider, '') as provider,
    coalesce(max(session_id), operation) as session_id,
    max(waited_seconds) as waited_seconds,
    cast(bool_or(outcome = 'exhausted') as bigint) as exhausted
  from event
  where type = 'retry.settled'
  group by
    day,
    caller,
    provider,
    operation
),

session as (
  select
    day,
    coalesce(caller, '(none)') as caller,
    session_id,
    unnest([
      {'signal': 'aborted', 'times': max(aborted)},
      {'signal': 'empty', 'times': cast(coalesce(max(requests) = 0, false) or bool_or(is_hollow) as bigint)},
      {'signal': 'unanswered', 'times': cast(
        max(occurred_at) filter (in_vain and type <> 'session.observed') >= max(ended_at) - interval 1 second as bigint
      )}
    ]) as one
  from event
  where type <> 'retry.settled'
    and session_id is not null
  group by
    day,
    caller,
    host,
    session_id
  having max(aborted) > 0 or max(requests) = 0 or bool_or(is_hollow) or max(ended_at) is not null
),

answer as materialized (
  select
    occurred_at,
    event_id,
    session_id,
    caller,
    asked_model,
    swap
  from answers_between($since, $until)
),

-- Each request asked of a model that another one answered for at some time, once for each of its swaps.
asked as (
  select
    cast(timezone($timezone, timezone('UTC', a.occurred_at)) as date) as day,
    a.caller,
    s.swap as name,
    coalesce(a.session_id, a.event_id) as session_id,
    cast(coalesce(a.swap = s.swap, false) as bigint) as times
  from answer as a
  inner join (
    select distinct
      asked_model,
      swap
    from answer
    where swap is not null
  ) as s
    on a.asked_model = s.asked_model
),

counted as (
  select
    day,
    coalesce(used.caller, '(none)') as caller,
    'tool' as signal,
    tool as name,
    0 as level,
    concat_ws(chr(9), used.caller, session_id) as session_id,
    sum(failures) as times,
    1 as exposure
  from used
  where session_id is not null
    and tool is not null
  group by
    day,
    used.caller,
    tool,
    session_id
  union all
  select
    day,
    caller,
    'wait',
    provider,
    cast(floor(log2(greatest(waited_seconds, 1))) as integer),
    session_id,
    1,
    1
  from settled
  where waited_seconds > 0
  union all
  select
    day,
    caller,
    'exhausted',
    provider,
    0,
    session_id,
    exhausted,
    1
  from settled
  union all
  select
    day,
    caller,
    one.signal,
    '',
    0,
    session_id,
    one.times,
    0
  from session
  where one.times > 0
  union all
  select distinct
    day,
    coalesce(caller, '(none)'),
    'copy',
    coalesce(host, ''),
    0,
    session_id,
    1,
    0
  from copied
  where times between 2 and 3
    and session_id is not null
  union all
  select
    day,
    caller,
    one.signal,
    one.name,
    0,
    session_id,
    has_failed,
    1
  from release
  where one.name is not null
  union all
  select
    day,
    caller,
    'swap',
    name,
    0,
    session_id,
    times,
    1
  from asked
)

select
  day,
  caller,
  signal,
  name,
  level,
  count(distinct session_id) filter (where times > 0) as sessions,
  cast(sum(least(times, 3)) as bigint) as groups,
  cast(sum(exposure) as bigint) as exposure
from counted
group by all
order by day, caller, signal, name, level
