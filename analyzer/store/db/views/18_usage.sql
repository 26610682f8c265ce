-- view usage: One row a request to a model, with its tokens, where a log or a program records them.
-- column event_id VARCHAR: Unique id of the event.
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
-- column reasoning_tokens BIGINT: Tokens of the reply that were reasoning.
-- column cost_usd DOUBLE: The cost in US dollars; null where nobody states it.
-- column cost_basis VARCHAR: logged where the agent states the cost; null without one.
select
  event_id,
  occurred_at,
  session_id,
  coalesce(caller, '(none)') as caller,
  work[1].agent as agent,
  work[1].agent_version as agent_version,
  work[1].project as project,
  provider,
  model,
  input_tokens,
  output_tokens,
  used[1].cache_read_tokens as cache_read_tokens,
  used[1].cache_write_tokens as cache_write_tokens,
  used[1].reasoning_tokens as reasoning_tokens,
  used[1].cost_usd as cost_usd,
  case
    when used[1].cost_usd is not null then 'logged'
  end as cost_basis
from internal.event_v1
where type = 'usage.recorded'
qualify row_number() over (
  partition by coalesce(used[1].request, event_id)
  order by output_tokens desc nulls last, occurred_at, event_id
) = 1
