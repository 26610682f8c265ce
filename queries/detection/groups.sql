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
-- column events BIGINT: errors
with version as (
  -- Verdicts of different rules are not comparable, and without facts they cannot be made so.
  select
    caller,
    coalesce(ruleset, '') as ruleset,
    min(occurred_at) as first_at
  from errors
  where not has_facts
    and ($until is null or occurred_at < $until)
  group by all
),

newest as (
  select
    caller,
    arg_max(ruleset, (first_at, ruleset)) as ruleset,
    max(first_at) as first_at
  from version
  group by caller
),

judged as (
  select
    cast(timezone($timezone, timezone('UTC', e.occurred_at)) as date) as day,
    e.caller,
    coalesce(e.session_id, e.operation, e.source_path, '') as session,
    coalesce(e.fingerprint, '') as template,
    case
      when $ruleset is null then e.reason
      else coalesce(v.reason, e.recorded_reason, 'unknown')
    end as reason,
    case
      when $ruleset is null then e.detail
      when v.reason is null then e.recorded_detail
      else v.detail
    end as detail,
    nullif(case
      when $ruleset is null or v.reason is null then e.rule
      else v.rule
    end, 'none') as rule,
    e.recorded_reason as old_reason,
    coalesce(e.recorded_reason, 'unknown') = 'unknown'
    and coalesce(e.recorded_detail, '') not in ('aborted', 'no_detail') as was_unknown,
    $ruleset is null or v.reason is not null as judged
  from errors as e
  left join verdicts as v
    on e.event_id = v.event_id
    and not v.recorded
    and v.ruleset = $ruleset
  left join newest as n
    on e.caller = n.caller
  where ($since is null or e.occurred_at >= $since)
    and ($until is null or e.occurred_at < $until)
    and (e.has_facts or e.occurred_at >= n.first_at or coalesce(e.ruleset, '') = n.ruleset)
)

select
  day,
  caller,
  session,
  template,
  reason,
  rule,
  old_reason,
  was_unknown,
  judged,
  count(*) as events
from judged
where reason <> 'unknown'
  or coalesce(detail, '') not in ('aborted', 'no_detail')
group by all
order by all
