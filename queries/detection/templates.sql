-- title: Unknown templates by day and caller
-- description: How many sessions of a caller showed each unknown message on a day, as a ruleset judges all of history.
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
where ($since is null or e.occurred_at >= $since)
  and ($until is null or e.occurred_at < $until)
  and case
    when $ruleset is null then e.counts_as_unknown
    else coalesce(v.reason, e.recorded_reason, 'unknown') = 'unknown'
      and coalesce(case when v.reason is null then e.recorded_detail else v.detail end, '')
      not in ('aborted', 'no_detail')
  end
group by day, e.caller, coalesce(e.fingerprint, '')
order by day, e.caller, template
