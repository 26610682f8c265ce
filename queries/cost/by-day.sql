-- title: What requests cost by day
-- description: Tokens and US dollars of all requests of a day.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column sessions BIGINT: sessions with requests
-- column requests BIGINT: requests, or runs of which a log states the sum
-- column tokens BIGINT: their tokens, with caches
-- column cost_usd DOUBLE: their cost in US dollars; null where no model has a price
select
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
  count(distinct session_id) as sessions,
  count(*) as requests,
  sum(
    coalesce(input_tokens, 0)
    + coalesce(output_tokens, 0)
    + coalesce(cache_read_tokens, 0)
    + coalesce(cache_write_tokens, 0)
  )::bigint as tokens,
  internal.sum_usd(cost_usd) as cost_usd
from usage
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by 1
order by day
