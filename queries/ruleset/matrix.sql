-- title: Recorded reason against another ruleset's
-- description: How often each recorded reason met each reason of a ruleset's verdicts, errors without facts left out.
-- param ruleset VARCHAR = null : digest of the ruleset; the active one where null
-- column recorded_reason VARCHAR: the reason that the producer wrote; (none) where it wrote none
-- column reason VARCHAR: the ruleset's verdict
-- column errors BIGINT: errors
-- column fingerprints BIGINT: distinct message templates
-- column callers BIGINT: distinct callers
select
  coalesce(e.recorded_reason, '(none)') as recorded_reason,
  v.reason,
  count(*) as errors,
  count(distinct e.fingerprint) as fingerprints,
  count(distinct e.caller) as callers
from errors as e
inner join verdicts as v
  on e.event_id = v.event_id
  and not v.recorded
where v.ruleset = $ruleset
  or ($ruleset is null and v.active)
group by e.recorded_reason, v.reason
order by errors desc, 1, v.reason
