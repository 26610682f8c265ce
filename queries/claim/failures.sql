-- title: Failures to claim from a provider
-- description: Failures whose party is the provider, with what its support asks for and nothing else: no session, project or path.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param provider VARCHAR = null : only this provider, in any case
-- column occurred_at TIMESTAMP: when it happened, UTC
-- column request_id VARCHAR: id by which the provider finds the request; null where the log does not say
-- column provider VARCHAR: who serves the model
-- column provider_basis VARCHAR: logged, or inferred of an error of Claude Code whose log names none: by the form of its model's name
-- column model VARCHAR: the model
-- column region VARCHAR: the region that inference was kept in; null where the log does not say
-- column attempt BIGINT: 1-based number of the call that failed
-- column status INTEGER: HTTP status
-- column evidence VARCHAR: what makes it the provider's: its detail, or its reason
-- column message VARCHAR: what the error said, with <*> for numbers, ids, quotes, paths and addresses; null of a text that only one session met, which may repeat what was asked
-- column outcome VARCHAR: what became of its retry chain
-- column waited_seconds DOUBLE: seconds that its chain waited for retries, at the chain's last failure
-- column tokens BIGINT: tokens of the failed request that its log states; null where it states none
-- column cost_usd DOUBLE: their list price, or as logged; null without tokens, and of requests that the provider answered with an error status, as none bills them
with request as (
  select
    session_id,
    caller,
    occurred_at,
    max(region) as region,
    sum(coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
      + coalesce(output_tokens, 0))::bigint as tokens,
    internal.sum_usd(cost_usd) as cost_usd
  from usage
  where not whole_run
  group by
    session_id,
    caller,
    occurred_at
),

served as (
  select
    e.* exclude (provider),
    e.provider is null as is_inferred,
    internal.provider_of(e.provider, e.agent, coalesce(e.model, s.model)) as provider
  from errors as e
  left join sessions as s
    on e.session_id = s.session_id
),

failure as (
  select
    *,
    regexp_replace(template, '"[^"]*"?|`[^`]*`?', '<*>', 'g') as unquoted,
    min(session_id) over (partition by unquoted) < max(session_id) over (partition by unquoted) as is_shared,
    row_number() over (partition by operation order by occurred_at desc, event_id desc) as from_last,
    row_number() over (partition by session_id, caller, occurred_at order by event_id) as turn
  from served
  where party = 'provider'
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($provider is null or lower(provider) = lower($provider))
)

select
  f.occurred_at,
  f.request_id,
  f.provider,
  if(f.is_inferred, 'inferred', 'logged') as provider_basis,
  f.model,
  r.region,
  f.attempt,
  f.status,
  coalesce(f.detail, f.reason) as evidence,
  if(f.is_shared, left(f.unquoted, 200), null) as message,
  f.outcome,
  if(f.operation is not null and f.from_last = 1, c.waited_seconds, null) as waited_seconds,
  if(f.turn = 1, r.tokens, null) as tokens,
  if(f.turn = 1 and coalesce(f.status, 0) < 400, r.cost_usd, null) as cost_usd
from failure as f
left join retries as c
  on f.operation = c.operation
left join request as r
  on f.session_id = r.session_id
  and f.caller = r.caller
  and f.occurred_at = r.occurred_at
order by f.occurred_at, f.event_id
