-- title: What happened after unknown errors
-- description: Retry chains with an unknown error that have ended, one row a template and chain: tried again or not, recovered or not.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column template VARCHAR: the message without its values; without a message the status, code or type
-- column session_id VARCHAR: the agent's session
-- column operation VARCHAR: the chain
-- column retried BOOLEAN: whether the call was made again
-- column recovered BOOLEAN: whether the chain ended well
select distinct
  coalesce(e.template, 'status ' || e.status, 'code ' || e.code, 'type ' || e.error_type, '(no text)') as template,
  e.session_id,
  e.operation,
  r.attempts > 1 as retried,
  r.outcome = 'recovered' as recovered
from errors as e
inner join retries as r
  on e.operation = r.operation
where ($since is null or e.occurred_at >= $since)
  and ($until is null or e.occurred_at < $until)
  and ($caller is null or e.caller = $caller)
  and e.counts_as_unknown
  and r.outcome <> 'unresolved'
order by 1, 2, 3
