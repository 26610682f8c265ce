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
)

select
  cast(timezone($timezone, timezone('UTC', e.occurred_at)) as date) as day,
  e.caller,
  coalesce(e.fingerprint, '') as template,
  count(distinct coalesce(e.session_id, e.operation, e.source_path, '')) as sessions,
  count(*) as events
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
  and case
    when $ruleset is null then e.counts_as_unknown
    else coalesce(v.reason, e.recorded_reason, 'unknown') = 'unknown'
      and coalesce(case when v.reason is null then e.recorded_detail else v.detail end, '')
      not in ('aborted', 'no_detail')
  end
group by day, e.caller, coalesce(e.fingerprint, '')
order by day, e.caller, template
