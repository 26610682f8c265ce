-- title: Errors by who caused them
-- description: Whose failures they were: the provider's, the account's, the network's, the request's own, the machine's, or a user's who stopped them.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param provider VARCHAR = null : only this provider
-- column party VARCHAR: provider, account, network, request, environment, user or unknown
-- column errors BIGINT: classified errors
-- column share DOUBLE: of all errors in the window, 0..1
-- column sessions BIGINT: distinct sessions
-- column callers BIGINT: distinct callers
-- column providers BIGINT: distinct providers that are named
-- column reason VARCHAR: the most frequent reason among them
-- column last_at TIMESTAMP: the latest one, UTC
with error as (
  select
    *,
    count(*) over (partition by party, reason) as alike
  from errors
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
    and ($provider is null or provider = $provider)
)

select
  party,
  count(*) as errors,
  count(*) / sum(count(*)) over () as share,
  count(distinct session_id) as sessions,
  count(distinct caller) as callers,
  count(distinct provider) as providers,
  arg_max(reason, (alike, reason)) as reason,
  max(occurred_at) as last_at
from error
group by party
order by errors desc, party
