-- title: Ruleset drift by day
-- description: What share of the recorded reasons each ruleset disagrees with, by day. A ruleset that was never applied has no row.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column ruleset VARCHAR: digest of the ruleset that judged again
-- column active BOOLEAN: whether it is the active one
-- column errors BIGINT: errors that it judged
-- column disagreeing BIGINT: of these, errors whose recorded reason is another
-- column disagreeing_share DOUBLE: disagreeing / errors, 0..1
-- column recorded_unknown_share DOUBLE: recorded unknown / recorded that count (no aborts, some detail), 0..1
-- column unknown_share DOUBLE: unknown to the ruleset / errors that count by it, 0..1
select
  cast(timezone($timezone, timezone('UTC', e.occurred_at)) as date) as day,
  v.ruleset,
  any_value(v.active) as active,
  count(*) as errors,
  count(*) filter (where v.reason is distinct from e.recorded_reason) as disagreeing,
  count(*) filter (where v.reason is distinct from e.recorded_reason) / count(*) as disagreeing_share,
  count(*) filter (where is_unknown(e.recorded_reason, e.recorded_detail))
  / nullif(count(*) filter (where is_counted(e.recorded_reason, e.recorded_detail)), 0) as recorded_unknown_share,
  count(*) filter (where is_unknown(v.reason, v.detail))
  / nullif(count(*) filter (where is_counted(v.reason, v.detail)), 0) as unknown_share
from errors as e
inner join verdicts as v
  on e.event_id = v.event_id
  and not v.recorded
where ($since is null or e.occurred_at >= $since)
  and ($until is null or e.occurred_at < $until)
  and ($caller is null or e.caller = $caller)
group by day, v.ruleset
order by day, v.ruleset
