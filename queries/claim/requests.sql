-- title: Requests by provider
-- description: Failures of a provider beside all of its requests, in sessions whose log states the usage of single requests: others do not count answers.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column provider VARCHAR: who serves the model; of Claude Code inferred where its log names none
-- column requests BIGINT: requests of such sessions, answered or failed; 0 without such a session
-- column failures BIGINT: of these, the ones that failed by the provider's fault
with request as (
  select
    session_id,
    occurred_at,
    agent,
    provider,
    model,
    null as party
  from usage as u
  where not whole_run
    -- The usage of a request that failed is of the moment of its error.
    and not exists (
      select 1
      from errors as x
      where x.session_id = u.session_id
        and x.caller = u.caller
        and x.occurred_at = u.occurred_at
    )
  union all
  select
    session_id,
    occurred_at,
    agent,
    provider,
    model,
    party
  from errors
  where party not in ('user', 'environment')
),

served as (
  select
    e.* exclude (provider),
    internal.provider_of(e.provider, e.agent, coalesce(e.model, s.model)) as provider
  from request as e
  left join sessions as s
    on e.session_id = s.session_id
)

select
  provider,
  count(*) filter (where is_counted) as requests,
  count(*) filter (where is_counted and party = 'provider') as failures
from (
  select
    *,
    session_id in (select u.session_id from usage as u where not u.whole_run) as is_counted
  from served
)
where provider is not null
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
group by provider
order by provider
