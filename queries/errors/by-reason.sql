-- title: Errors by reason
-- description: How often each reason was given, and in how many sessions and by how many callers.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column reason VARCHAR: one of the eight
-- column errors BIGINT: classified errors
-- column share DOUBLE: of all errors in the window, 0..1
-- column sessions BIGINT: distinct sessions
-- column callers BIGINT: distinct callers
-- column uncounted_errors BIGINT: of these, aborts and errors without any detail, which the unknown share leaves out
-- column retryable_errors BIGINT: errors for which a retry makes sense
-- column last_at TIMESTAMP: the latest one, UTC
select
  reason,
  count(*) as errors,
  count(*) / sum(count(*)) over () as share,
  count(distinct session_id) as sessions,
  count(distinct caller) as callers,
  count(*) filter (where reason = 'unknown' and not counts_as_unknown) as uncounted_errors,
  count(*) filter (where retryable) as retryable_errors,
  max(occurred_at) as last_at
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by reason
order by errors desc, reason
