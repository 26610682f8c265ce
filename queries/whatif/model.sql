-- title: Requests at another model's prices
-- description: What the requests to one model cost at its list prices, and what the same tokens cost at the list prices of another model; those that cost most first.
-- param model VARCHAR = null : the model that was asked
-- param other VARCHAR = null : the model whose prices are tried
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column caller VARCHAR: who made the requests
-- column requests BIGINT: requests to the model
-- column unpriced BIGINT: of these the ones without a list price of either model; the sums leave them out
-- column tokens BIGINT: tokens of the others, with caches
-- column cost_usd DOUBLE: their cost at the model's list prices, in US dollars; null without any
-- column other_usd DOUBLE: their cost at the other model's list prices
with request as (
  select
    *,
    case
      when whole_run then 0
      else coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
    end as prompt_tokens
  from usage
  where internal.model_name(model) = internal.model_name($model)
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
),

-- Without searches, which no change of the model saves.
priced as (
  select
    r.event_id,
    p.name = internal.model_name($model) as is_own,
    (internal.prompt_usd(p, r) + internal.reply_usd(p, r)) * internal.price_factor(p, r.tier, r.region) as usd
  from request as r
  inner join internal.list_price as p
    on p.name in (internal.model_name($model), internal.model_name($other))
    and r.occurred_at >= p.valid_from
    and r.occurred_at < p.valid_to
    and (r.prompt_tokens > p.above_tokens or p.above_tokens = 0)
    and r.prompt_tokens <= p.upto_tokens
),

cost as (
  select
    event_id,
    max(usd) filter (where is_own) as own_usd,
    max(usd) filter (where not is_own) as other_usd
  from priced
  group by event_id
)

select
  r.caller,
  count(*) as requests,
  count(*) filter (where c.own_usd is null or c.other_usd is null) as unpriced,
  coalesce(
    sum(r.prompt_tokens + coalesce(r.output_tokens, 0)) filter (where c.own_usd is not null and c.other_usd is not null),
    0
  )::bigint as tokens,
  internal.sum_usd(case when c.other_usd is not null then c.own_usd end) as cost_usd,
  internal.sum_usd(case when c.own_usd is not null then c.other_usd end) as other_usd
from request as r
left join cost as c
  on r.event_id = c.event_id
group by r.caller
order by cost_usd desc nulls last, r.caller
