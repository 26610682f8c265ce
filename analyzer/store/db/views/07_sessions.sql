-- view sessions: One row a session that any event names.
-- column session_id VARCHAR: The agent's session.
-- column started_at TIMESTAMP: Its first sign of life in the logs, UTC.
-- column ended_at TIMESTAMP: Its last one, UTC.
-- column requests BIGINT: Model requests, where a log counts them.
-- column errors BIGINT: Classified errors.
-- column unknown_errors BIGINT: Errors that count as unknown.
-- column relays BIGINT: Hand-offs begun.
-- column retry_visibility VARCHAR: What its logs show of retries: full, terminal or none; null where no log says.
-- column caller VARCHAR: Whose session it is; null where no log says.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column forked_from VARCHAR: The session that it is a fork of, which counts what both have; null where no log says.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
-- column tool_calls BIGINT: Calls of tools, where a log counts them.
-- column tool_failures BIGINT: Tools that failed.
-- column input_tokens BIGINT: Tokens of its prompts, those of caches included, as the view usage has them.
-- column output_tokens BIGINT: Tokens of its replies.
-- column cost_usd DOUBLE: What its requests cost in US dollars, as far as they have a price; null where none has.
with spent as (
  select
    session_id,
    sum(coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)) as input_tokens,
    sum(output_tokens) as output_tokens,
    internal.sum_usd(cost_usd) as cost_usd
  from usage
  group by session_id
),

unknown as (
  select
    session_id,
    count(*) as unknown_errors
  from errors
  where counts_as_unknown
  group by session_id
)

select
  s.session_id,
  s.started_at,
  s.ended_at,
  s.requests,
  s.errors,
  coalesce(u.unknown_errors, 0) as unknown_errors,
  s.relays,
  s.retry_visibility,
  s.caller,
  s.agent,
  s.agent_version,
  s.project,
  s.cwd,
  s.branch,
  s.forked_from,
  s.provider,
  s.model,
  s.tool_calls,
  s.tool_failures,
  cast(p.input_tokens as bigint) as input_tokens,
  cast(p.output_tokens as bigint) as output_tokens,
  p.cost_usd
from internal.session as s
left join spent as p
  on s.session_id = p.session_id
left join unknown as u
  on s.session_id = u.session_id
