-- title: Findings as last reported
-- description: One row a finding that was no part of another in some night, as last reported.
-- column finding_id VARCHAR: the same for the same incident, night after night
-- column reported_on DATE: the last day whose night reported it
-- column state VARCHAR: new, ongoing, open or resolved, as of that night
-- column content VARCHAR: the whole finding, as JSON
-- column ruleset VARCHAR: digest of the ruleset whose verdicts that night counted
with reported as (
  select
    json_extract_string(e.payload, '$.finding_id') as finding_id,
    n.day,
    n.judged_at,
    n.ruleset,
    e.event_id,
    json_extract_string(e.payload, '$.state') as state,
    e.payload
  from events as e
  inner join nights as n
    on e.occurred_at = n.judged_at
    and json_extract_string(e.payload, '$.night') = n.night
  where e.type = 'finding.reported'
    and e.source_path is null
    and json_extract_string(e.payload, '$.part_of') is null
)

select
  finding_id,
  arg_max(day, (day, judged_at, event_id)) as reported_on,
  arg_max(state, (day, judged_at, event_id)) as state,
  arg_max(payload, (day, judged_at, event_id)) as content,
  arg_max(ruleset, (day, judged_at, event_id)) as ruleset
from reported
group by finding_id
order by finding_id
