-- title: Errors before and after a moment, by session and message
-- description: What tells the three drifts apart: each message that a session showed before or after a moment, with its reason under a ruleset and the one that was recorded.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param split TIMESTAMP = null : what is earlier is before, the rest after, UTC; null puts all into after
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column period VARCHAR: before or after
-- column session VARCHAR: the session; where there is none, what else the error came with
-- column template VARCHAR: fingerprint of the message
-- column reason VARCHAR: under the ruleset, or as recorded where it could not judge
-- column rule VARCHAR: the rule that matched
-- column old_reason VARCHAR: the recorded reason
select
  if($split is null or occurred_at >= $split, 'after', 'before') as period,
  session,
  template,
  reason,
  rule,
  recorded_reason as old_reason
from errors_under($ruleset)
where counted
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by all
order by all
