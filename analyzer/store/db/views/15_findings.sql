-- view findings: One row a finding that was opened, with its end where it has one.
-- column finding_id VARCHAR: The same for the same incident, night after night.
-- column finding VARCHAR: What kind: spike, drift, template, shared_template, weak_template, wording_changed, volume, unknown_rate, outage, model_outage, host_outage, project_outage, fleet_outage, burst, relays, compactions, recovery_fell, retry_in_vain, retry_would_pay, tool_failures, waits_grow, version_worse, model_worse, retries_exhausted, sessions_aborted, sessions_empty, sessions_unanswered, model_swapped, shipped_twice or silence.
-- column caller VARCHAR: Whom it is about; null for the fleet as a whole.
-- column reason VARCHAR: The reason that it is about, where it singles one out.
-- column template VARCHAR: Fingerprint of the message, where it singles one out.
-- column severity VARCHAR: info, warning or critical, as it was when it was opened.
-- column state VARCHAR: open or resolved.
-- column opened_on DATE: The first day on which it was detected.
-- column onset DATE: The day from which on it probably was so.
-- column resolved_on DATE: The day that ended it; null while it is open.
-- column resolution VARCHAR: Why it is over: quiet, explained, accepted or rejudged; null while it is open.
-- column opened_at TIMESTAMP: When it was first reported, UTC.
-- column resolved_at TIMESTAMP: When its end was reported, UTC; null while it is open.
-- column observed DOUBLE: What was seen on the night that opened it: a share 0..1, or a count.
-- column expected DOUBLE: What the days before had led to expect.
-- column p_value DOUBLE: Probability of as much or more, had nothing changed.
-- column sessions BIGINT: Sessions that showed it that night.
-- column scope VARCHAR: What it is about, as JSON.
-- column explanation VARCHAR: One sentence.
with decision as (
  select
    type,
    occurred_at,
    decided[1] as said,
    row_number() over (
      partition by decided[1].finding_id
      order by type, occurred_at, event_id
    ) as from_opening,
    row_number() over (
      partition by decided[1].finding_id
      order by occurred_at desc, event_id desc
    ) as from_latest,
    min(occurred_at) over (partition by decided[1].finding_id) as opened_at
  from internal.event_v1
  where type in ('finding.opened', 'finding.resolved')
    and source_path is null
    -- Of a night that was not written down to its end nothing counts: it is judged again.
    and (decided[1].night is null or decided[1].night in (select n.night from nights as n))
)

-- The parentheses keep `o` and `l` from being read as the name of a store's file.
select
  (o.said).finding_id as finding_id,
  (o.said).finding as finding,
  (o.said).scope_caller as caller,
  (o.said).scope_reason as reason,
  (o.said).scope_template as template,
  (o.said).severity as severity,
  case
    when l.type = 'finding.opened' then 'open'
    else 'resolved'
  end as state,
  (o.said).window_since as opened_on,
  (o.said).onset as onset,
  case
    when l.type = 'finding.resolved' then (l.said).resolved_on
  end as resolved_on,
  case
    when l.type = 'finding.resolved' then (l.said).resolution
  end as resolution,
  o.opened_at,
  case
    when l.type = 'finding.resolved' then l.occurred_at
  end as resolved_at,
  (o.said).observed as observed,
  (o.said).expected as expected,
  (o.said).p_value as p_value,
  (o.said).sessions as sessions,
  (o.said).scope as scope,
  (o.said).explanation as explanation
from decision as o
inner join decision as l
  on (o.said).finding_id is not distinct from (l.said).finding_id
where o.from_opening = 1
  and l.from_latest = 1
