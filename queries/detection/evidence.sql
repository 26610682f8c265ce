-- title: Errors behind a finding
-- description: The errors of one caller on some days, one row a message template, the one that most sessions show first.
-- param caller VARCHAR = null : only this caller
-- param template VARCHAR = null : only this fingerprint
-- param session VARCHAR = null : only this session
-- param reason VARCHAR = null : only this reason; of unknown errors those that count
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
  and ($session is null or coalesce(e.session_id, e.operation, e.source_path, '') = $session)
  and ($reason is null or coalesce(v.reason, case when $ruleset is null then e.reason else e.recorded_reason end, 'unknown') = $reason)
  and (
    $reason is distinct from 'unknown'
    or coalesce(case
      when v.reason is not null then v.detail
      when $ruleset is null then e.detail
      else e.recorded_detail
    end, '') not in ('aborted', 'no_detail')
  )
group by coalesce(e.fingerprint, '')
order by sessions desc, events desc, template
limit $limit
