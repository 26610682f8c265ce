-- title: Errors by reason, caller and outcome
-- description: What became of the errors: the outcome of their retry chain, or their own where they had none.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column reason VARCHAR: one of the eight
-- column caller VARCHAR: who made the call
-- column outcome VARCHAR: recovered, exhausted, surfaced, escalated, aborted, or unresolved where the log does not say
-- column errors BIGINT: classified errors
-- column operations BIGINT: distinct retry chains among them
-- column sessions BIGINT: distinct sessions
select
  reason,
  caller,
  outcome,
  count(*) as errors,
  count(distinct operation) as operations,
  count(distinct session_id) as sessions
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by reason, caller, outcome
order by errors desc, reason, caller, outcome
