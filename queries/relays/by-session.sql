-- title: Hand-offs and compactions by session
-- description: How often each session handed off, and how much context that dropped.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param limit BIGINT = 50 : sessions at most
-- column session_id VARCHAR: the session; (no session) where the log names none
-- column caller VARCHAR: who handed off last
-- column relays BIGINT: hand-offs
-- column auto_relays BIGINT: hand-offs that a threshold caused
-- column manual_relays BIGINT: hand-offs that a person asked for
-- column requests BIGINT: model requests of the session, where its log counts them
-- column pre_tokens BIGINT: tokens before, added up
-- column dropped_tokens BIGINT: tokens before minus tokens after, added up where both are known
-- column first_at TIMESTAMP: the earliest one, UTC
-- column last_at TIMESTAMP: the latest one, UTC
with relay as (
  select *
  from relays
  where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
)

select
  coalesce(r.session_id, '(no session)') as session_id,
  arg_max(r.caller, r.occurred_at) as caller,
  count(*) as relays,
  count(*) filter (where r.trigger = 'auto') as auto_relays,
  count(*) filter (where r.trigger = 'manual') as manual_relays,
  any_value(s.requests) as requests,
  cast(sum(r.pre_tokens) as bigint) as pre_tokens,
  cast(sum(r.pre_tokens - r.post_tokens) as bigint) as dropped_tokens,
  min(r.occurred_at) as first_at,
  max(r.occurred_at) as last_at
from relay as r
left join sessions as s
  on r.session_id = s.session_id
group by r.session_id
order by relays desc, last_at desc, 1
limit $limit
