-- title: Retry pay-off by reason and caller
-- description: How often retrying pays: of the chains that ended on their own, the share that recovered, with its 95 % interval (Wilson 1927). The reason is the one the errors had.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column reason VARCHAR: reason of the chain's last error
-- column caller VARCHAR: who made the calls
-- column chains BIGINT: retry chains
-- column ended BIGINT: of these, the ones that ended on their own: neither aborted nor without an end in the log
-- column recovered BIGINT: of these, the ones that ended well
-- column recovery_share DOUBLE: recovered / ended, 0..1; null without any
-- column low_share DOUBLE: lower end of the interval of recovery_share
-- column high_share DOUBLE: upper end of it
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

pair as (
  select
    coalesce(e.reason, r.reason, 'unknown') as reason,
    r.caller,
    count(*) as chains,
    count(*) filter (where r.outcome not in ('aborted', 'unresolved')) as ended,
    count(*) filter (where r.outcome = 'recovered') as recovered,
    cast(sum(r.attempts) as bigint) as attempts,
    round(sum(r.waited_seconds), 3) as waited_seconds,
    coalesce(round(sum(r.waited_seconds) filter (where r.outcome <> 'recovered'), 3), 0) as wasted_seconds
  from retries as r
  left join last_error as e
    on r.operation = e.operation
  where ($since is null or r.started_at >= $since)
    and ($until is null or r.started_at < $until)
    and ($caller is null or r.caller = $caller)
  group by 1, r.caller
),

-- With z = 1.96: middle (recovered + z²/2) / (ended + z²), half width z sqrt(recovered (ended - recovered) / ended + z²/4) / (ended + z²).
bounds as (
  select
    *,
    (recovered + 1.9208) / (ended + 3.8416) as middle,
    1.96 * sqrt(recovered * (ended - recovered) / nullif(ended, 0) + 0.9604) / (ended + 3.8416) as half_width
  from pair
)

select
  reason,
  caller,
  chains,
  ended,
  recovered,
  recovered / nullif(ended, 0) as recovery_share,
  greatest(0, middle - half_width) as low_share,
  least(1, middle + half_width) as high_share,
  attempts,
  waited_seconds,
  wasted_seconds
from bounds
order by chains desc, reason, caller
