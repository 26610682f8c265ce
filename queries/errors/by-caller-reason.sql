-- title: Errors by caller and reason
-- description: How many errors of each reason a caller met, and in how many sessions.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: who made the calls
-- column reason VARCHAR: one of the eight
-- column errors BIGINT: classified errors
-- column sessions BIGINT: distinct sessions
select
  caller,
  reason,
  count(*) as errors,
  count(distinct session_id) as sessions
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
group by caller, reason
order by errors desc, caller, reason
