-- title: Recorded rulesets of errors without facts
-- description: When each caller's errors that cannot be judged again began to carry another ruleset.
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column caller VARCHAR: who made the calls
-- column ruleset VARCHAR: digest that the producer recorded; empty where it recorded none
-- column first_on DATE: day of its first error
-- column last_on DATE: day of its last one
-- column errors BIGINT: errors without facts
with recorded as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    occurred_at,
    caller,
    ruleset
  from errors
  where not has_facts
    and ($until is null or occurred_at < $until)
),

version as (
  select
    day,
    caller,
    coalesce(ruleset, '') as ruleset,
    min(occurred_at) as first_at,
    count(*) as errors
  from recorded
  group by all
)

select
  caller,
  ruleset,
  min(day) as first_on,
  max(day) as last_on,
  cast(sum(errors) as bigint) as errors
from version
group by caller, ruleset
order by caller, min(first_at), ruleset
