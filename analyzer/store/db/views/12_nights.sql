-- view nights: One row a judged night, as it was written down; a night that was judged again has more rows than one.
-- column night VARCHAR: Names it; its events in the journal carry it.
-- column day DATE: The judged day.
-- column timezone VARCHAR: The zone in which it begins and ends.
-- column judged_at TIMESTAMP: When it was judged, UTC.
-- column ruleset VARCHAR: Digest of the ruleset that judged history.
-- column findings BIGINT: Findings that it reported, those that ended that night included.
-- column result VARCHAR: What it says beside its findings, as JSON.
with judged as (
  select
    event_id,
    occurred_at,
    ruleset,
    payload,
    decided[1] as said
  from internal.event_v1
  where type = 'night.judged'
    and source_path is null
),

-- All events of a night have its moment, by which they are found without a look into each.
reported as (
  select
    e.occurred_at,
    e.decided[1].night as night,
    count(distinct e.decided[1].place) as events
  from internal.event_v1 as e
  semi join judged as j
    on e.occurred_at = j.occurred_at
  where e.type = 'finding.reported'
    and e.source_path is null
  group by all
)

select
  coalesce(j.said.night, j.event_id) as night,
  j.said.window_since as day,
  j.said.window_timezone as timezone,
  j.occurred_at as judged_at,
  j.ruleset,
  coalesce(j.said.findings_count, j.said.findings_listed) as findings,
  j.payload as result
from judged as j
left join reported as r
  on j.said.night = r.night
  and j.occurred_at = r.occurred_at
-- Nights had all their findings in one event once; of one that was too long for a line too little was kept to read.
where (j.said.night is null and j.said.findings_listed is not null)
  or j.said.reported_count = coalesce(r.events, 0)
