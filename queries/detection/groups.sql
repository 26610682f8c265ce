-- title: Errors by session and message
-- description: One row a day, caller, session, message and verdict, as a ruleset judges all of history: what every test of errors is judged from. Errors without facts take part from the first one of their caller's newest recorded ruleset on, and before it where they have the same one.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the calls
-- column session VARCHAR: the agent's session, else the retry chain, else the file
-- column template VARCHAR: fingerprint of the message
-- column reason VARCHAR: the verdict of the ruleset; the recorded one where it has none
-- column rule VARCHAR: the rule that gave it; null where none did
-- column old_reason VARCHAR: the reason that the producer wrote
-- column was_unknown BOOLEAN: whether it was recorded as an unknown error that counts
-- column judged BOOLEAN: whether the ruleset gave the verdict; false where what was recorded is kept
-- column confidence VARCHAR: weak where a bare status or exit code or weak words decided over any of them, else strong; null where no rule matched, or nobody said
-- column events BIGINT: errors
with error as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    *
  from comparable_errors($ruleset, $until)
  where $since is null
    or occurred_at >= $since
)

select
  day,
  caller,
  session,
  template,
  reason,
  rule,
  recorded_reason as old_reason,
  recorded_as_unknown as was_unknown,
  judged,
  max(confidence) as confidence,
  count(*) as events
from error
where counted
group by all
order by all
