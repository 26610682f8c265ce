-- view usage: One row a request to a model, with its tokens, where a log or a program records them.
-- column event_id VARCHAR: Id of the event that tells it.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session.
-- column caller VARCHAR: Who made the request; (none) where the log does not say.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
-- column input_tokens BIGINT: Tokens of the prompt that were read neither from nor into a cache.
-- column output_tokens BIGINT: Tokens of the reply, those of reasoning included.
-- column cache_read_tokens BIGINT: Tokens of the prompt that were read from a cache.
-- column cache_write_tokens BIGINT: Tokens of the prompt that were written into a cache.
-- column cache_write_hour_tokens BIGINT: Those of cache_write_tokens that are kept for an hour, at a higher price.
-- column reasoning_tokens BIGINT: Tokens of the reply that were reasoning.
-- column tier VARCHAR: The speed or tier of the request that has another price, as fast, batch or priority; null where the log does not say, or says standard.
-- column region VARCHAR: The region that inference was kept in at another price, as us; null elsewhere.
-- column web_searches BIGINT: Searches of the web by the provider, which cost extra.
-- column cost_usd DOUBLE: The cost in US dollars; null of a model that has no price.
-- column cost_basis VARCHAR: logged where the agent states the cost, listed where it follows from the list prices of analyzer prices; null without a cost.
-- column whole_run BOOLEAN: Whether the row stands for all requests of a run, as its result sums them up.
-- column prompt_cost_usd DOUBLE: The part of cost_usd that the prompt costs: all but the reply; null without a list price.
-- column request_id VARCHAR: Id by which the provider finds the request; null where the log does not say.
-- column asked_model VARCHAR: The model that was asked, where the log states that apart from the model.
-- column served_model VARCHAR: The model that answered, likewise.
-- column is_swapped BOOLEAN: Whether another model answered than was asked for; null unless the log states both.
-- column service_tier VARCHAR: The tier of service, as the log names it.
-- column effort VARCHAR: The effort of reasoning that was asked for, as in high.
with request as (
  select
    *,
    -- The tokens of a whole run are no prompt, so that no price of long prompts is theirs.
    case
      when one.whole_run then 0
      when one.longest_prompt is not null then one.longest_prompt
      else coalesce(one.input_tokens, 0) + coalesce(one.cache_read_tokens, 0) + coalesce(one.cache_write_tokens, 0)
    end as prompt_tokens
  from internal.requests(null, null)
),

named as (
  select
    model,
    internal.model_name(model) as name
  from (select distinct model from request)
),

priced as (
  select
    r.*,
    p.name is not null or internal.is_free(r.model) as is_listed,
    internal.price_factor(p, one.tier, one.region) as factor,
    internal.prompt_usd(p, one) * factor as prompt_usd,
    internal.reply_usd(p, one) * factor as reply_usd,
    coalesce(one.web_searches, 0) * p.web_search as search_usd
  from request as r
  left join named as n
    on r.model = n.model
  left join internal.list_price as p
    on n.name = p.name
    and r.occurred_at >= p.valid_from
    and r.occurred_at < p.valid_to
    and (r.prompt_tokens > p.above_tokens or p.above_tokens = 0)
    and r.prompt_tokens <= p.upto_tokens
    and internal.is_billed(r.provider)
    and not internal.is_free(r.model)
)

select
  event_id,
  occurred_at,
  session_id,
  caller,
  agent,
  agent_version,
  project,
  provider,
  model,
  one.input_tokens as input_tokens,
  one.output_tokens as output_tokens,
  one.cache_read_tokens as cache_read_tokens,
  one.cache_write_tokens as cache_write_tokens,
  one.cache_write_hour_tokens as cache_write_hour_tokens,
  one.reasoning_tokens as reasoning_tokens,
  one.tier as tier,
  one.region as region,
  one.web_searches as web_searches,
  coalesce(one.cost_usd, prompt_usd + reply_usd + search_usd, case when internal.is_free(model) then 0 end) as cost_usd,
  case
    when one.cost_usd is not null then 'logged'
    when is_listed then 'listed'
  end as cost_basis,
  coalesce(one.whole_run, false) as whole_run,
  -- Of a cost that is logged, the share that the prompt has of the list price.
  case
    when one.cost_usd is null then prompt_usd
    when prompt_usd + reply_usd > 0 then one.cost_usd * prompt_usd / (prompt_usd + reply_usd)
  end as prompt_cost_usd,
  answered.request_id as request_id,
  answered.asked_model as asked_model,
  answered.served_model as served_model,
  internal.is_swap(answered.asked_model, answered.served_model) as is_swapped,
  answered.service_tier as service_tier,
  answered.effort as effort
from priced
