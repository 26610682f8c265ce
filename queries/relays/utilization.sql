-- title: How full the context was at hand-off
-- description: How full the context was at each hand-off, what it held before and after.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column occurred_at TIMESTAMP: when it began, UTC
-- column caller VARCHAR: who handed off
-- column session_id VARCHAR: the session
-- column step_id VARCHAR: the step
-- column trigger VARCHAR: auto or manual
-- column token_usage_percent DOUBLE: how full the context was, 0..100; null where the log does not say
-- column threshold_percent DOUBLE: from where on a relay was due, 0..100
-- column pre_tokens BIGINT: tokens before
-- column post_tokens BIGINT: tokens after
-- column kept_share DOUBLE: tokens after / tokens before, 0..1; null where either is not known
-- column outcome VARCHAR: resumed, halted, skipped or unresolved
select
  occurred_at,
  caller,
  session_id,
  step_id,
  trigger,
  token_usage_percent,
  threshold_percent,
  pre_tokens,
  post_tokens,
  post_tokens / nullif(pre_tokens, 0) as kept_share,
  outcome
from relays
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
order by occurred_at, relay
