-- title: What failed most
-- description: Errors grouped by their text, sorted by sessions failed; texts that differ only in values are one group.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param fingerprint VARCHAR = null : only messages of this template
-- param limit BIGINT = 20 : groups at most
-- column message VARCHAR: what all of the group say, redacted and cut, with <*> for what differs; without a message the status, code or type
-- column reason VARCHAR: one of the eight
-- column detail VARCHAR: the finer cause; null where there is none
-- column party VARCHAR: who caused it: provider, account, network, request, environment, user or unknown
-- column errors BIGINT: classified errors
-- column sessions BIGINT: distinct sessions
-- column failed_sessions BIGINT: of these, the ones in which a call with it was given up or not retried
-- column callers BIGINT: distinct callers
-- column provider VARCHAR: the provider most often named; null where none is
-- column first_at TIMESTAMP: the earliest one, UTC
-- column last_at TIMESTAMP: the latest one, UTC
-- column fingerprint VARCHAR: id of the message's template; (no text) without a message
with error as (
  select
    *,
    -- A fingerprint stands for its template, and is compared sooner.
    case
      when fingerprint is null
      then coalesce(template, 'status ' || status, 'code ' || code, 'type ' || error_type, '(no text)')
    end as bare
  from errors
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
    and ($fingerprint is null or fingerprint = $fingerprint)
)

select
  case
    when min(message) = max(message) then max(message)
    else coalesce(bare, min(template))
  end as message,
  reason,
  detail,
  party,
  count(*) as errors,
  count(distinct session_id) as sessions,
  count(distinct session_id) filter (where outcome in ('exhausted', 'surfaced', 'escalated')) as failed_sessions,
  count(distinct caller) as callers,
  mode(provider) as provider,
  min(occurred_at) as first_at,
  max(occurred_at) as last_at,
  coalesce(fingerprint, '(no text)') as fingerprint
from error
group by fingerprint, bare, reason, detail, party
order by failed_sessions desc, sessions desc, errors desc, last_at desc, reason, detail, party, fingerprint, bare
limit $limit
