-- title: Retry chains by day, caller and reason
-- description: Chains by the day on which they ended: with a retry, recovered, and errors that were not retried. The reason comes from the chain's last error, by one ruleset for all of history.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the calls
-- column reason VARCHAR: reason of the chain's last error
-- column chains BIGINT: chains of two calls or more; those that a person ended are none
-- column recovered BIGINT: of these, the ones that recovered
-- column untried BIGINT: chains that were given up after one call
with chain as materialized (
  select
    cast(timezone($timezone, timezone('UTC', ended_at)) as date) as day,
    *
  from retries
  where ended_at is not null
    and ($since is null or ended_at >= $since)
    and ($until is null or ended_at < $until)
),

error as (
  select *
  from errors_under($ruleset)
  where operation in (select operation from chain)
),

last_error as (
  select
    operation,
    arg_max(reason, (occurred_at, event_id)) as reason
  from error
  group by operation
)

select
  c.day,
  c.caller,
  coalesce(e.reason, c.reason, 'unknown') as reason,
  count(*) filter (where c.attempts > 1) as chains,
  count(*) filter (where c.attempts > 1 and c.outcome = 'recovered') as recovered,
  count(*) filter (where c.attempts = 1 and c.outcome <> 'recovered') as untried
from chain as c
left join last_error as e
  on c.operation = e.operation
where c.outcome <> 'aborted'
group by all
order by day, caller, reason
