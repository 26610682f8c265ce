-- title: Outages to claim from a provider
-- description: Stretches with failures of a provider that follow each other within a quarter of an hour: at least three, from two sessions or more.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param provider VARCHAR = null : only this provider, in any case
-- column began_at TIMESTAMP: its first failure, UTC
-- column ended_at TIMESTAMP: its last failure, UTC
-- column provider VARCHAR: who serves the model
-- column models VARCHAR: the models
-- column failures BIGINT: failures whose party is the provider
-- column sessions BIGINT: distinct sessions
-- column hours DOUBLE: from the first failure to the last
with served as (
  select
    e.* exclude (provider),
    internal.provider_of(e.provider, e.agent, coalesce(e.model, s.model)) as provider
  from errors as e
  left join sessions as s
    on e.session_id = s.session_id
),

failure as (
  select
    *,
    coalesce(occurred_at > lag(occurred_at) over (partition by provider order by occurred_at) + interval 15 minute, true)
    as begins
  from served
  where party = 'provider'
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($provider is null or lower(provider) = lower($provider))
),

stretch as (
  select
    *,
    sum(begins::integer) over (partition by provider order by occurred_at rows unbounded preceding) as number
  from failure
)

select
  min(occurred_at) as began_at,
  max(occurred_at) as ended_at,
  provider,
  string_agg(distinct model, ', ' order by model) as models,
  count(*) as failures,
  count(distinct session_id) as sessions,
  round(epoch(max(occurred_at) - min(occurred_at)) / 3600, 3) as hours
from stretch
group by
  provider,
  number
having count(*) >= 3 and count(distinct session_id) >= 2
order by began_at, provider
