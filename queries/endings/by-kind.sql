-- title: Sessions that stopped without an end
-- description: Sessions that stopped in the middle of something, those that say success and did nothing, and those whose context a hand-off made larger, with the tokens and cost that their logs state.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column ending VARCHAR: endless_retries (ten calls or more, and no end), in_retry, after_error (no answer came), after_tool (a tool failed, and no answer came), hollow (it says success and did nothing: no answer and no call of a tool, or sub-agents that all failed) or grown_compaction
-- column sessions BIGINT: sessions that ended so
-- column share DOUBLE: of all sessions that ended in the window, 0..1
-- column top_detail VARCHAR: the most frequent reason of the last error, kind of the last failed tool, or why they are hollow; null of compactions
-- column tokens BIGINT: tokens of these sessions, with caches; null if no log counts them
-- column cost_usd DOUBLE: their cost in US dollars; null where nobody states it
-- column last_at TIMESTAMP: the latest end, UTC
with used as (
  select
    session_id,
    sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0))::bigint as tokens,
    internal.sum_usd(cost_usd) as cost_usd
  from usage
  group by session_id
),

whole as (
  select count(*) as sessions
  from sessions
  where ($since is null or ended_at >= $since)
    and ($until is null or ended_at < $until)
    and ($caller is null or caller = $caller)
)

select
  e.ending,
  count(*) as sessions,
  count(*) / greatest(any_value(w.sessions), count(*)) as share,
  mode(e.detail order by e.detail) as top_detail,
  sum(u.tokens)::bigint as tokens,
  internal.sum_usd(u.cost_usd) as cost_usd,
  max(e.ended_at) as last_at
from endings as e
cross join whole as w
left join used as u
  on e.session_id = u.session_id
where ($since is null or e.ended_at >= $since)
  and ($until is null or e.ended_at < $until)
  and ($caller is null or e.caller = $caller)
group by e.ending
order by sessions desc, e.ending
