-- title: Recorded rulesets of errors without facts
-- description: When each caller's errors that cannot be judged again began to carry another ruleset.
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column caller VARCHAR: who made the calls
-- column ruleset VARCHAR: digest that the producer recorded; empty where it recorded none
-- column first_on DATE: day of its first error
-- column last_on DATE: day of its last one
-- column errors BIGINT: errors without facts
select
  caller,
  coalesce(ruleset, '') as ruleset,
  cast(timezone($timezone, timezone('UTC', min(occurred_at))) as date) as first_on,
  cast(timezone($timezone, timezone('UTC', max(occurred_at))) as date) as last_on,
  count(*) as errors
from errors
where not has_facts
  and ($until is null or occurred_at < $until)
group by caller, coalesce(ruleset, '')
order by caller, min(occurred_at), ruleset
