-- title: Stated resets against real ones
-- description: When a usage limit was stated to end, and when the same agent and provider first answered again; one row a stated end.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param provider VARCHAR = null : only this provider, in any case
-- column hit_at TIMESTAMP: when the limit was met first, UTC
-- column stated_at TIMESTAMP: when it was to end, UTC
-- column refused_at TIMESTAMP: the last refusal after the stated end and before the next answer, UTC; null where there was none
-- column answered_at TIMESTAMP: the first answer after the limit was met, UTC; null where there was none
-- column provider VARCHAR: who serves the model
-- column hours_late DOUBLE: from the stated end to the answer, only where a refusal in between shows that it was late; null elsewhere
with served as (
  select
    e.* exclude (provider),
    internal.provider_of(e.provider, e.agent, coalesce(e.model, s.model)) as provider
  from exhaustions as e
  left join sessions as s
    on e.session_id = s.session_id
),

limited as (
  select
    agent,
    provider,
    reset_at,
    min(occurred_at) as hit_at
  from served
  where reset_at is not null
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($provider is null or lower(provider) = lower($provider))
  group by
    agent,
    provider,
    reset_at
),

answered as (
  select
    l.agent,
    l.provider,
    l.reset_at,
    min(u.occurred_at) as answered_at
  from limited as l
  inner join usage as u
    on l.agent = u.agent
    and (l.provider is not distinct from u.provider or (u.provider is null and l.agent = 'claude-code'))
    and u.occurred_at > l.hit_at
  group by
    l.agent,
    l.provider,
    l.reset_at
),

refused as (
  select
    l.agent,
    l.provider,
    l.reset_at,
    a.answered_at,
    max(x.occurred_at) as refused_at
  from limited as l
  left join answered as a
    on l.agent = a.agent
    and l.provider is not distinct from a.provider
    and l.reset_at = a.reset_at
  left join served as x
    on l.agent = x.agent
    and l.provider is not distinct from x.provider
    and x.occurred_at > l.reset_at
    and (a.answered_at is null or x.occurred_at < a.answered_at)
  group by
    l.agent,
    l.provider,
    l.reset_at,
    a.answered_at
)

select
  l.hit_at,
  l.reset_at as stated_at,
  r.refused_at,
  r.answered_at,
  l.provider,
  if(r.refused_at is not null, round(epoch(r.answered_at - l.reset_at) / 3600, 3), null) as hours_late
from limited as l
inner join refused as r
  on l.agent is not distinct from r.agent
  and l.provider is not distinct from r.provider
  and l.reset_at = r.reset_at
order by l.hit_at, l.provider, l.reset_at
