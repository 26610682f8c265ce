-- title: Unknown errors behind a finding
-- description: The unknown errors of one caller on some days, one row a message template, the one that most sessions show first.
-- param caller VARCHAR = null : only this caller
-- param template VARCHAR = null : only this fingerprint
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- param limit BIGINT = 5 : templates at most
-- column template VARCHAR: fingerprint of the message
-- column message VARCHAR: the latest text of it, redacted and capped
-- column sessions BIGINT: distinct sessions
-- column events BIGINT: errors
-- column event_ids VARCHAR: the first of its events, three at most, a space between them
select
  coalesce(e.fingerprint, '') as template,
  arg_max(e.message, (e.occurred_at, e.event_id)) as message,
  count(distinct coalesce(e.session_id, e.operation, e.source_path, '')) as sessions,
  count(*) as events,
  array_to_string(arg_min(e.event_id, (e.occurred_at, e.event_id), 3), ' ') as event_ids
from errors as e
left join verdicts as v
  on e.event_id = v.event_id
  and not v.recorded
  and v.ruleset = $ruleset
where ($since is null or e.occurred_at >= $since)
  and ($until is null or e.occurred_at < $until)
  and ($caller is null or e.caller = $caller)
  and ($template is null or e.fingerprint = $template)
  and case
    when $ruleset is null then e.counts_as_unknown
    else coalesce(v.reason, e.recorded_reason, 'unknown') = 'unknown'
      and coalesce(case when v.reason is null then e.recorded_detail else v.detail end, '')
      not in ('aborted', 'no_detail')
  end
group by coalesce(e.fingerprint, '')
order by sessions desc, events desc, template
limit $limit
