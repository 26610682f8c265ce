-- title: Errors by caller
-- description: How many errors each caller met, how many of them are unknown, and its most frequent reason.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: who made the calls
-- column errors BIGINT: classified errors
-- column share DOUBLE: of all errors in the window, 0..1
-- column sessions BIGINT: distinct sessions
-- column unknown_errors BIGINT: errors that count as unknown
-- column unknown_share DOUBLE: of its errors that are neither aborts nor without any detail, 0..1; null without any
-- column top_reason VARCHAR: its most frequent reason
-- column last_at TIMESTAMP: the latest error, UTC
with reason_count as (
  select
    caller,
    reason,
    count(*) as errors
  from errors
  where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  group by caller, reason
),

top as (
  select
    caller,
    arg_max(reason, (errors, reason)) as top_reason
  from reason_count
  group by caller
)

select
  e.caller,
  count(*) as errors,
  count(*) / sum(count(*)) over () as share,
  count(distinct e.session_id) as sessions,
  count(*) filter (where e.counts_as_unknown) as unknown_errors,
  count(*) filter (where e.counts_as_unknown)
  / nullif(count(*) filter (where e.counts_as_unknown or e.reason <> 'unknown'), 0) as unknown_share,
  any_value(t.top_reason) as top_reason,
  max(e.occurred_at) as last_at
from errors as e
inner join top as t
  on e.caller = t.caller
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
group by e.caller
order by errors desc, e.caller
