-- title: Unknown templates by day and caller
-- description: How many sessions of a caller showed each unknown message on a day, as a ruleset judges all of history. Errors without facts take part from the first one of their caller's newest recorded ruleset on, and before it where they have the same one.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the calls
-- column template VARCHAR: fingerprint of the message
-- column sessions BIGINT: distinct sessions that showed it
-- column events BIGINT: errors with it
select
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
  caller,
  template,
  count(distinct session) as sessions,
  count(*) as events
from comparable_errors($ruleset, $until)
where counted
  and reason = 'unknown'
  and ($since is null or occurred_at >= $since)
group by all
order by day, caller, template
