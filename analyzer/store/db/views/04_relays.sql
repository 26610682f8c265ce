-- view relays: One row a hand-off to a fresh context, folded from its events; an agent's own compaction is one.
-- column relay VARCHAR: The hand-off.
-- column caller VARCHAR: Who handed off; (none) where the log does not say.
-- column session_id VARCHAR: The agent's session.
-- column step_id VARCHAR: The step that was at work.
-- column worker_id VARCHAR: The worker of a matrix step.
-- column occurred_at TIMESTAMP: When it began, UTC.
-- column trigger VARCHAR: auto or manual.
-- column token_usage_percent DOUBLE: How full the context was, 0 to 100.
-- column threshold_percent DOUBLE: From where on a relay was due, 0 to 100.
-- column pre_tokens BIGINT: Tokens in the context before.
-- column post_tokens BIGINT: Tokens in the context after; estimated from the next reply where the log does not say.
-- column checkpoint_tokens BIGINT: Tokens of the checkpoint document.
-- column duration_seconds DOUBLE: How long it took.
-- column outcome VARCHAR: resumed, halted, skipped, or unresolved where no end is in the log.
-- column relay_count BIGINT: Hand-offs of this step and worker in this session so far, this one included.
-- column strategy VARCHAR: How the context was made smaller.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
with event as not materialized (
  select *
  from internal.event_v1
),

part as (
  select
    type,
    occurred_at,
    session_id,
    coalesce(seq, source_line, 0) as place,
    coalesce(caller, '(none)') as caller,
    step_id,
    seen[1].worker_id as worker_id,
    relay,
    seen[1].trigger as trigger,
    seen[1].token_usage_percent as token_usage_percent,
    seen[1].threshold_percent as threshold_percent,
    seen[1].pre_tokens as pre_tokens,
    seen[1].post_tokens as post_tokens,
    seen[1].checkpoint_tokens as checkpoint_tokens,
    seen[1].duration_seconds as duration_seconds,
    seen[1].relay_count as relay_count,
    seen[1].strategy as strategy,
    type = 'relay.resumed' and not coalesce(seen[1].post_tokens_estimated, false) as ends,
    work[1] as work,
    provider,
    model
  from event as e
  anti join internal.told_twice as w
    on e.relay = w.event_id
  where type in ('relay.triggered', 'relay.checkpointed', 'relay.resumed', 'relay.halted', 'relay.skipped')
),

named as (
  -- Events that name no hand-off belong to the last one that was triggered in the same session, step and worker.
  select
    *,
    coalesce(
      relay,
      concat_ws(
        '/',
        caller,
        coalesce(session_id, ''),
        coalesce(step_id, ''),
        coalesce(worker_id, ''),
        count(*) filter (where type in ('relay.triggered', 'relay.skipped')) over (
          partition by caller, session_id, step_id, worker_id
          order by occurred_at, place
        )
      )
    ) as hand_off
  from part
),

folded as (
  select
    hand_off as relay,
    min(caller) as caller,
    min(session_id) as session_id,
    min(step_id) as step_id,
    min(worker_id) as worker_id,
    min(occurred_at) as occurred_at,
    min(place) as place,
    max(trigger) as trigger,
    max(token_usage_percent) as token_usage_percent,
    max(threshold_percent) as threshold_percent,
    max(pre_tokens) as pre_tokens,
    max(post_tokens) as post_tokens,
    max(checkpoint_tokens) as checkpoint_tokens,
    coalesce(
      max(duration_seconds),
      epoch(max(occurred_at) filter (where ends)) - epoch(min(occurred_at) filter (where type = 'relay.triggered'))
    ) as duration_seconds,
    case
      when bool_or(type = 'relay.halted') then 'halted'
      when bool_or(type = 'relay.skipped') then 'skipped'
      when bool_or(type = 'relay.resumed') then 'resumed'
      else 'unresolved'
    end as outcome,
    max(relay_count) as recorded_count,
    max(strategy) as strategy,
    max(work.agent) as agent,
    max(work.agent_version) as agent_version,
    max(work.project) as project,
    max(work.cwd) as cwd,
    max(work.branch) as branch,
    max(provider) as provider,
    max(model) as model
  from named
  group by hand_off
)

select
  relay,
  caller,
  session_id,
  step_id,
  worker_id,
  occurred_at,
  trigger,
  token_usage_percent,
  threshold_percent,
  pre_tokens,
  post_tokens,
  checkpoint_tokens,
  duration_seconds,
  outcome,
  coalesce(
    recorded_count,
    row_number() over (partition by caller, session_id, step_id, worker_id order by occurred_at, place)
  ) as relay_count,
  strategy,
  agent,
  agent_version,
  project,
  cwd,
  branch,
  provider,
  model
from folded
