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
-- column message VARCHAR: the latest text of it, redacted and capped
with judged as (
  select
    e.occurred_at,
    e.event_id,
    coalesce(e.session_id, e.operation, e.source_path, '') as session,
    coalesce(e.fingerprint, '') as fingerprint,
    e.message,
    e.recorded_reason,
    case
      when $ruleset is null then e.reason
      else coalesce(v.reason, e.recorded_reason, 'unknown')
    end as reason,
    case
      when $ruleset is null or v.reason is null then e.rule
      else v.rule
    end as rule,
    coalesce(
      case
        when $ruleset is null then e.detail
        when v.reason is null then e.recorded_detail
        else v.detail
      end,
      ''
    ) as detail
  from errors as e
  left join verdicts as v
    on e.event_id = v.event_id
    and not v.recorded
    and v.ruleset = $ruleset
  where ($since is null or e.occurred_at >= $since)
    and ($until is null or e.occurred_at < $until)
    and ($caller is null or e.caller = $caller)
)

select
  if($split is null or occurred_at >= $split, 'after', 'before') as period,
  session,
  fingerprint as template,
  reason,
  nullif(rule, 'none') as rule,
  recorded_reason as old_reason,
  arg_max(message, (occurred_at, event_id)) as message
from judged
where reason <> 'unknown'
  or detail not in ('aborted', 'no_detail')
group by all
order by all
