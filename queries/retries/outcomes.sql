-- title: Retry outcomes by reason
-- description: What retrying bought: chains by their end, calls made and seconds waited. The reason is the one the errors had.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column reason VARCHAR: reason of the chain's last error
-- column chains BIGINT: retry chains
-- column recovered BIGINT: chains that ended well
-- column exhausted BIGINT: chains that ran out of attempts
-- column surfaced BIGINT: chains given up and shown to a person
-- column escalated BIGINT: chains handed to someone else
-- column aborted BIGINT: chains that a person ended
-- column unresolved BIGINT: chains without an end in the log
-- column recovery_share DOUBLE: recovered / (recovered + exhausted + surfaced + escalated), 0..1; null without any
-- column attempts BIGINT: calls made, the first ones included
-- column waited_seconds DOUBLE: seconds waited in all
-- column wasted_seconds DOUBLE: seconds waited in chains that did not recover
with last_error as (
  select
    operation,
    arg_max(reason, (occurred_at, source_line)) as reason
  from errors
  where operation is not null
  group by operation
),

chain as (
  select
    coalesce(e.reason, r.reason, 'unknown') as reason,
    r.outcome,
    r.attempts,
    r.waited_seconds
  from retries as r
  left join last_error as e
    on r.operation = e.operation
  where ($since is null or r.started_at >= $since)
    and ($until is null or r.started_at < $until)
    and ($caller is null or r.caller = $caller)
)

select
  reason,
  count(*) as chains,
  count(*) filter (where outcome = 'recovered') as recovered,
  count(*) filter (where outcome = 'exhausted') as exhausted,
  count(*) filter (where outcome = 'surfaced') as surfaced,
  count(*) filter (where outcome = 'escalated') as escalated,
  count(*) filter (where outcome = 'aborted') as aborted,
  count(*) filter (where outcome = 'unresolved') as unresolved,
  count(*) filter (where outcome = 'recovered')
  / nullif(count(*) filter (where outcome not in ('aborted', 'unresolved')), 0) as recovery_share,
  cast(sum(attempts) as bigint) as attempts,
  round(sum(waited_seconds), 3) as waited_seconds,
  coalesce(round(sum(waited_seconds) filter (where outcome <> 'recovered'), 3), 0) as wasted_seconds
from chain
group by reason
order by chains desc, reason
