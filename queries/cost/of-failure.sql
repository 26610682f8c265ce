-- title: What failures cost
-- description: Tokens and US dollars of requests that led nowhere, each request once: by what became of it, reason, caller and project.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column cause VARCHAR: failed_request (it failed, and its log states its tokens), sent_again (a call failed and its prompt was sent again), tool_loop (it ran a command that failed a third time or more with the same text), compaction (the first prompt after a context was thrown away), expired_cache (the first prompt after a failure and a wait longer than the prompt cache lives, written again) or unfinished (the last one of a session that stopped in the middle, or that says success and did nothing)
-- column basis VARCHAR: measured (the log states the tokens) or estimated (the tokens of the session's next prompt)
-- column reason VARCHAR: the reason of the error, the tool that failed, the strategy of the compaction, or how the session ended
-- column never_recovered BOOLEAN: whether no call of the chain of retries succeeded; null of other causes
-- column caller VARCHAR: who called
-- column project VARCHAR: the last name of the working directory
-- column sessions BIGINT: sessions with such requests
-- column requests BIGINT: requests, or failed calls of a chain
-- column tokens BIGINT: their tokens, with caches; for sent_again, compaction and expired_cache only the prompt
-- column cost_usd DOUBLE: their cost at list prices, or as logged; 0 of calls that the provider answered with an error, as it bills none; null without a price
-- column of_cost_usd DOUBLE: the cost of all requests in the window that logs state, as cost-by-model has it; the same in each row
-- column last_at TIMESTAMP: the latest one, UTC
with request as (
  select
    event_id,
    occurred_at,
    session_id,
    caller,
    project,
    coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0) as prompt_tokens,
    coalesce(output_tokens, 0) as reply_tokens,
    coalesce(cache_read_tokens, 0) as cache_read_tokens,
    coalesce(cache_write_tokens, 0) as cache_write_tokens,
    coalesce(cache_write_hour_tokens, 0) as cache_write_hour_tokens,
    cost_usd,
    prompt_cost_usd
  from usage
  where not whole_run
    and ($caller is null or caller = $caller)
),

error as (
  select
    e.occurred_at,
    e.session_id,
    e.caller,
    e.project,
    e.reason,
    -- Whoever answers with an error bills nothing; a connection that broke may have been billed.
    coalesce(e.status, 0) >= 400 or coalesce(e.detail in ('gateway', 'overloaded', 'server_error'), false) as is_refused,
    is_refused or e.party not in ('network', 'unknown') as is_answered,
    e.chain_outcome,
    r.event_id as request_id
  from (
    select
      e.*,
      c.outcome as chain_outcome
    from errors as e
    left join retries as c
      on e.operation = c.operation
      and c.attempts > 1
    where ($caller is null or e.caller = $caller)
      -- Of sessions whose logs state no tokens there is nothing to tell.
      and e.session_id in (select session_id from request)
  ) as e
  left join request as r
    on e.session_id = r.session_id
    and e.caller = r.caller
    and e.occurred_at = r.occurred_at
),

failed as (
  select
    request_id as event_id,
    min(reason) as reason,
    bool_and(is_refused) as is_free
  from error
  where request_id is not null
  group by request_id
),

failure as (
  select
    session_id,
    caller,
    occurred_at,
    tool,
    row_number() over (
      partition by session_id, caller, tool, command, exit_code, fingerprint
      order by occurred_at, event_id
    ) as number
  from tool_failures
  -- A test, a linter and a build fail by the nature of the work.
  where command is not null
    and kind not in ('tests', 'lint', 'build', 'refused', 'cancelled')
),

loop as (
  select
    r.event_id,
    min(f.tool) as reason
  from (
    from failure
    where number > 2
  ) as f
  asof inner join request as r
    on f.session_id = r.session_id
    and f.caller = r.caller
    and f.occurred_at >= r.occurred_at
  group by r.event_id
),

compaction as (
  select
    r.event_id,
    min(coalesce(c.strategy, 'compact')) as reason
  from (
    from relays
    where outcome = 'resumed'
  ) as c
  asof inner join request as r
    on c.session_id = r.session_id
    and c.caller = r.caller
    and c.occurred_at < r.occurred_at
  group by r.event_id
),

-- Caches of prompts live for five minutes, or for an hour where tokens were written for so long (Anthropic, 2026-11).
-- What was kept is written again in the place of being read; a failure in between is why somebody waited.
expired as (
  select
    r.event_id,
    arg_max(e.reason, (e.occurred_at, e.reason)) as reason
  from (
    select
      *,
      lag(occurred_at) over earlier as before_at,
      lag(cache_read_tokens + cache_write_tokens) over earlier as kept_tokens,
      case
        when max(cache_write_hour_tokens) over (earlier rows between unbounded preceding and 1 preceding) > 0 then 3600
        else 300
      end as kept_seconds
    from request
    window earlier as (partition by session_id, caller order by occurred_at, event_id)
  ) as r
  inner join error as e
    on r.session_id = e.session_id
    and r.caller = e.caller
    and e.occurred_at > r.before_at
    and e.occurred_at <= r.occurred_at
  where r.occurred_at > r.before_at + to_seconds(r.kept_seconds)
    and r.kept_tokens > 0
    and r.cache_read_tokens < 0.5 * r.kept_tokens
    and r.cache_write_tokens >= 0.5 * r.kept_tokens
    and e.request_id is distinct from r.event_id
  group by r.event_id
),

unfinished as (
  select
    arg_max(r.event_id, (r.occurred_at, r.event_id)) as event_id,
    e.ending as reason
  from endings as e
  inner join request as r
    on e.session_id = r.session_id
  where e.ending <> 'grown_compaction'
  group by
    e.session_id,
    e.ending
),

-- A request has one cause: the first one that holds.
caused as (
  select
    *,
    row_number() over (partition by event_id order by place) as turn
  from (
    select 1 as place, 'failed_request' as cause, event_id, reason, is_free from failed
    union all
    select 2 as place, 'tool_loop' as cause, event_id, reason, false from loop
    union all
    select 3 as place, 'unfinished' as cause, event_id, reason, false from unfinished
    union all
    select 4 as place, 'compaction' as cause, event_id, reason, false from compaction
    union all
    select 5 as place, 'expired_cache' as cause, event_id, reason, false from expired
  )
),

-- A failed call without tokens of its own: those of the prompt that came next, which is that of the next attempt.
again as (
  select
    e.occurred_at,
    e.session_id,
    e.caller,
    e.project,
    e.reason,
    e.chain_outcome,
    r.prompt_tokens as tokens,
    case
      when e.is_answered then 0.0
      else r.prompt_cost_usd
    end as cost_usd
  from (
    from error
    where request_id is null
      and chain_outcome is not null
  ) as e
  asof inner join request as r
    on e.session_id = r.session_id
    and e.caller = r.caller
    and e.occurred_at <= r.occurred_at
  -- A prompt that is counted already measures no other call.
  where r.event_id not in (select event_id from caused)
),

wasted as (
  select
    c.cause,
    'measured' as basis,
    c.reason,
    null::boolean as never_recovered,
    r.caller,
    r.project,
    r.session_id,
    r.occurred_at,
    case
      when c.cause in ('compaction', 'expired_cache') then r.prompt_tokens
      else r.prompt_tokens + r.reply_tokens
    end as tokens,
    case
      when c.is_free then 0.0
      when c.cause in ('compaction', 'expired_cache') then r.prompt_cost_usd
      else r.cost_usd
    end as cost_usd
  from caused as c
  inner join request as r
    on c.event_id = r.event_id
  where c.turn = 1
  union all
  select
    'sent_again' as cause,
    'estimated' as basis,
    reason,
    chain_outcome <> 'recovered' as never_recovered,
    caller,
    project,
    session_id,
    occurred_at,
    tokens,
    cost_usd
  from again
),

whole as (
  select internal.sum_usd(cost_usd) as cost_usd
  from usage
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
)

select
  x.cause,
  x.basis,
  x.reason,
  x.never_recovered,
  x.caller,
  x.project,
  count(distinct x.session_id) as sessions,
  count(*) as requests,
  sum(x.tokens)::bigint as tokens,
  internal.sum_usd(x.cost_usd) as cost_usd,
  any_value(w.cost_usd) as of_cost_usd,
  max(x.occurred_at) as last_at
from wasted as x
cross join whole as w
where ($since is null or x.occurred_at >= $since)
  and ($until is null or x.occurred_at < $until)
group by
  x.cause,
  x.basis,
  x.reason,
  x.never_recovered,
  x.caller,
  x.project
order by
  cost_usd desc nulls last,
  tokens desc nulls last,
  x.cause,
  x.reason,
  x.never_recovered,
  x.caller,
  x.project
