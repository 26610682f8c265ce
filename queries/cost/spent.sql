-- title: What is spent
-- description: The cost of all requests of a window as one row, and of its last hour.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column requests BIGINT: requests, or runs of which a log states the sum
-- column unpriced BIGINT: of these, the ones without a cost: they are not in the sums
-- column cost_usd DOUBLE: the cost of the others in US dollars; 0 without any
-- column last_hour_usd DOUBLE: of it, the cost of the hour before the last instant; of the whole store's last hour without one
-- column last_at TIMESTAMP: the latest request, UTC; null without any
with request as (
  select
    occurred_at,
    cost_usd,
    coalesce($until, max(occurred_at) over ()) - interval 1 hour as hour_at
  from usage
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
)

select
  count(*) as requests,
  count(*) filter (where cost_usd is null) as unpriced,
  coalesce(internal.sum_usd(cost_usd), 0) as cost_usd,
  coalesce(internal.sum_usd(case when occurred_at >= hour_at then cost_usd end), 0) as last_hour_usd,
  max(occurred_at) as last_at
from request
order by requests
