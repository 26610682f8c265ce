-- title: Top unknown messages
-- description: Unknown errors grouped by their text; texts that differ in values alone are one group.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param limit BIGINT = 20 : groups at most
-- column fingerprint VARCHAR: id of the message's template; (no text) without a message
-- column message VARCHAR: what all of the group say, redacted and capped; <*> stands for what differs; without a message the status, code or type
-- column errors BIGINT: errors that count as unknown
-- column sessions BIGINT: distinct sessions
-- column callers BIGINT: distinct callers
-- column caller VARCHAR: the caller with the latest one
-- column first_at TIMESTAMP: the earliest one, UTC
-- column last_at TIMESTAMP: the latest one, UTC
-- column suggested_reason VARCHAR: what the second opinion proposes for the latest text that it has one for; it decides nothing
-- column suggested_probability DOUBLE: probability that this is right, 0..1
select
  coalesce(fingerprint, '(no text)') as fingerprint,
  case
    when min(message) = max(message) then max(message)
    else coalesce(template, 'status ' || status, 'code ' || code, 'type ' || error_type, '(no text)')
  end as message,
  count(*) as errors,
  count(distinct session_id) as sessions,
  count(distinct caller) as callers,
  arg_max(caller, occurred_at) as caller,
  min(occurred_at) as first_at,
  max(occurred_at) as last_at,
  arg_max(suggested_reason, occurred_at) as suggested_reason,
  arg_max(suggested_probability, occurred_at) as suggested_probability
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
  and counts_as_unknown
group by
  fingerprint,
  coalesce(template, 'status ' || status, 'code ' || code, 'type ' || error_type, '(no text)')
order by errors desc, last_at desc, 1, 2
limit $limit
