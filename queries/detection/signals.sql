-- title: Failed tools and waits by day
-- description: How many sessions that used a tool saw it fail on a day, and how often, three times a session at most; and how many retry chains of a caller with a provider waited for so long, in powers of two of a second.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: whose chains; empty of tools, which callers share
-- column signal VARCHAR: tool or wait
-- column name VARCHAR: the tool, or the provider; empty where the log does not say
-- column level INTEGER: of waits, the power of two of their seconds, 0 for less than two; of tools 0
-- column sessions BIGINT: distinct sessions in which the tool failed, or that waited
-- column groups BIGINT: its failed calls, three of a session at most; or the chains
-- column exposure BIGINT: distinct sessions that used the tool; or the chains
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
    cast(json_extract(payload, '$.tools') as map(varchar, bigint)) as tools
  from events
  where type in ('tool.failed', 'session.observed', 'retry.settled')
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
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
order by day, caller, signal, name, level
