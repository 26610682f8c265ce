-- view findings: One row a finding that was opened, with its end where it has one.
-- column finding_id VARCHAR: The same for the same incident, night after night.
-- column finding VARCHAR: What kind: spike, drift, template, burst, reasons, relays, recovery_fell, retry_in_vain or retry_would_pay.
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
    json_extract_string(payload, '$.finding_id') as finding_id,
    type = 'finding.opened' as opens,
    occurred_at,
    event_id,
    payload
  from internal.event_v1
  where type in ('finding.opened', 'finding.resolved')
    and source_path is null
    -- Of a night that was not written down to its end nothing counts: it is judged again.
    and (
      json_extract_string(payload, '$.night') is null
      or json_extract_string(payload, '$.night') in (select night from nights)
    )
),

folded as (
  select
    finding_id,
    arg_min(payload, (not opens, occurred_at, event_id)) as opening,
    arg_max(payload, (occurred_at, event_id)) as latest,
    arg_max(opens, (occurred_at, event_id)) as is_open,
    min(occurred_at) as opened_at,
    max(occurred_at) as latest_at
  from decision
  group by finding_id
)

select
  finding_id,
  json_extract_string(opening, '$.finding') as finding,
  json_extract_string(opening, '$.scope.caller') as caller,
  json_extract_string(opening, '$.scope.reason') as reason,
  json_extract_string(opening, '$.scope.template') as template,
  json_extract_string(opening, '$.severity') as severity,
  if(is_open, 'open', 'resolved') as state,
  try_cast(json_extract_string(opening, '$.window.since') as date) as opened_on,
  try_cast(json_extract_string(opening, '$.onset') as date) as onset,
  case
    when not is_open then try_cast(json_extract_string(latest, '$.resolved_on') as date)
  end as resolved_on,
  case
    when not is_open then json_extract_string(latest, '$.resolution')
  end as resolution,
  opened_at,
  case
    when not is_open then latest_at
  end as resolved_at,
  internal.amount(opening, '$.observed') as observed,
  internal.amount(opening, '$.expected') as expected,
  internal.amount(opening, '$.p_value') as p_value,
  internal.whole(opening, '$.sessions') as sessions,
  json_extract_string(opening, '$.scope') as scope,
  json_extract_string(opening, '$.explanation') as explanation
from folded
