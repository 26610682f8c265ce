-- title: Top unknown messages
-- description: Unknown errors grouped by their text; texts that differ only in values are one group.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param limit BIGINT = 20 : groups at most
-- column fingerprint VARCHAR: id of the message's template; (no text) without a message
-- column message VARCHAR: what all of the group say, redacted and cut, with <*> for what differs; without a message the status, code or type
-- column errors BIGINT: errors that count as unknown
-- column sessions BIGINT: distinct sessions
-- column callers BIGINT: distinct callers
-- column caller VARCHAR: the caller with the latest one
-- column first_at TIMESTAMP: the earliest one, UTC
-- column last_at TIMESTAMP: the latest one, UTC
-- column retried BIGINT: retry chains with one that have ended and in which the call was made again
-- column recovered BIGINT: chains of these that recovered
-- column suggested_reason VARCHAR: network_transient where retries helped in at least two sessions and no call recovered without one; it decides nothing
-- column suggested_probability DOUBLE: recovered / retried, 0..1; null without a suggested reason
with unknown as (
  select
    e.fingerprint,
    coalesce(e.template, 'status ' || e.status, 'code ' || e.code, 'type ' || e.error_type, '(no text)') as template,
    e.message,
    e.session_id,
    e.caller,
    e.occurred_at,
    case when r.outcome <> 'unresolved' and r.attempts > 1 then e.operation end as retried,
    case when r.outcome = 'recovered' and r.attempts > 1 then e.operation end as recovered,
    r.outcome = 'recovered' and r.attempts <= 1 as recovered_alone
  from errors as e
  left join retries as r
    on e.operation = r.operation
  where ($since is null or e.occurred_at >= $since)
    and ($until is null or e.occurred_at < $until)
    and ($caller is null or e.caller = $caller)
    and e.counts_as_unknown
),

grouped as (
  select
    coalesce(fingerprint, '(no text)') as fingerprint,
    case
      when min(message) = max(message) then max(message)
      else template
    end as message,
    count(*) as errors,
    count(distinct session_id) as sessions,
    count(distinct caller) as callers,
    arg_max(caller, occurred_at) as caller,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at,
    count(distinct retried) as retried,
    count(distinct recovered) as recovered,
    case
      when count(distinct session_id) filter (where recovered is not null) >= 2
        and count(*) filter (where recovered_alone) = 0 then 'network_transient'
    end as suggested_reason
  from unknown
  group by fingerprint, template
)

select
  *,
  case
    when suggested_reason is not null then recovered / retried
  end as suggested_probability
from grouped
order by errors desc, last_at desc, 1, 2
limit $limit
