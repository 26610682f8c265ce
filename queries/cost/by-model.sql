-- title: What requests cost
-- description: Tokens and US dollars of all requests, by the agent that made them, its project and the model; those that cost most first.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column agent VARCHAR: the program that was at work; null where the log does not say
-- column project VARCHAR: the last name of the working directory; null where the log does not say
-- column model VARCHAR: the model; null where the log does not say
-- column sessions BIGINT: sessions with such requests
-- column requests BIGINT: requests, or runs of which a log states the sum
-- column input_tokens BIGINT: tokens of prompts that were read neither from nor into a cache
-- column output_tokens BIGINT: tokens of replies, with reasoning
-- column cache_read_tokens BIGINT: tokens of prompts that were read from a cache
-- column cache_write_tokens BIGINT: tokens of prompts that were written into a cache
-- column cost_usd DOUBLE: their cost in US dollars; null of a model that has no price
-- column cost_basis VARCHAR: logged where the agent states the cost, listed where it follows from list prices; null without a cost
-- column last_at TIMESTAMP: the latest of them, UTC
select
  agent,
  project,
  model,
  count(distinct session_id) as sessions,
  count(*) as requests,
  coalesce(sum(input_tokens), 0)::bigint as input_tokens,
  coalesce(sum(output_tokens), 0)::bigint as output_tokens,
  coalesce(sum(cache_read_tokens), 0)::bigint as cache_read_tokens,
  coalesce(sum(cache_write_tokens), 0)::bigint as cache_write_tokens,
  internal.sum_usd(cost_usd) as cost_usd,
  cost_basis,
  max(occurred_at) as last_at
from usage
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by agent, project, model, cost_basis
order by cost_usd desc nulls last, requests desc, agent, project, model, cost_basis
