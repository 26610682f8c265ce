-- view endings: One row a session that did not end as it should, by what its logs show last; a session that may still be at work has none.
-- column session_id VARCHAR: The agent's session.
-- column ended_at TIMESTAMP: Its last sign of life, UTC.
-- column ending VARCHAR: endless_retries (ten calls or more, and no end), in_retry (another call was due), after_error (no answer came), after_tool (a tool failed, and no answer came), hollow (it says success and did nothing), or grown_compaction (a hand-off made the context larger).
-- column detail VARCHAR: The reason of the last error, the kind of the last failed tool, or of hollow ones no_answer or dead_subagents; null of compactions.
-- column attempts BIGINT: Calls of the retry chain that has no end; null without one.
-- column grown_compactions BIGINT: Hand-offs and recoveries after which the context was larger, as the log states it.
-- column caller VARCHAR: Whose session it is; null where no log says.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column model VARCHAR: The model.
-- An agent writes what it does about a failure within a second, and no model answers as fast: what comes later is life.
-- Where no log says when a session ended, its last event may be all that was logged of it: only chains tell then.
with event as not materialized (
  select *
  from internal.event_v1
),

session as not materialized (
  select
    *,
    max(ended_at) over () as newest_at
  from internal.session
),

broken_chain as not materialized (
  select *
  from internal.chain
  where outcome = 'unresolved'
    and waits
),

tool_failure as not materialized (
  select *
  from tool_failures
),

recovery as not materialized (
  select *
  from context_recoveries
),

observed as (
  select
    session_id,
    max(seen[1].ended_at) as ended_at
  from event
  where type = 'session.observed'
  group by session_id
),

life as (
  select
    s.*,
    -- Logs that give all records the time of their file tell no order.
    o.ended_at is not null as is_observed,
    o.ended_at is null or s.started_at < s.ended_at as has_order
  from session as s
  left join observed as o
    on s.session_id = o.session_id
),

chain as (
  select
    session_id,
    max(attempts) as attempts,
    arg_max(reason, started_at) as reason,
    max(waited_seconds) as waited_seconds,
    max(last_at) as last_at
  from broken_chain
  group by session_id
),

error as (
  select
    session_id,
    max(occurred_at) as last_at,
    arg_max(reason, (occurred_at, reason, coalesce(detail, ''))) as reason,
    arg_max(coalesce(detail, ''), (occurred_at, reason, coalesce(detail, ''))) as detail
  from errors
  where reason <> 'tool_not_found'
  group by session_id
),

tool as (
  select
    session_id,
    max(occurred_at) as last_at,
    arg_max(kind, (occurred_at, event_id)) as kind
  from tool_failure
  group by session_id
),

hollow as (
  select
    session_id,
    max(detail) as why
  from event
  where type = 'session.observed'
    and outcome = 'hollow'
  group by session_id
),

grown as (
  select
    session_id,
    count(*) as grown_compactions
  from (
    select
      session_id,
      pre_tokens,
      post_tokens
    from recovery
    union all
    select
      session_id,
      seen[1].pre_tokens as pre_tokens,
      seen[1].post_tokens as post_tokens
    from event
    where type = 'relay.resumed'
      and not coalesce(seen[1].post_tokens_estimated, false)
  )
  where post_tokens > pre_tokens
    and pre_tokens > 0
  group by session_id
),

ended as (
  select
    l.*,
    case
      when
        l.has_order
        and c.last_at >= l.ended_at - interval 1 second
        and l.newest_at >= l.ended_at + interval 1 hour + to_seconds(c.waited_seconds)
        then case when c.attempts >= 10 then 'endless_retries' else 'in_retry' end
      when h.why is not null then 'hollow'
      when l.newest_at < l.ended_at + interval 1 hour or not l.is_observed or not l.has_order
        then null
      when
        t.last_at >= l.ended_at - interval 1 second
        and t.kind not in ('refused', 'cancelled')
        then 'after_tool'
      when
        e.last_at >= l.ended_at - interval 1 second
        and e.detail <> 'aborted'
        then 'after_error'
    end as broken,
    c.attempts,
    c.reason as chain_reason,
    h.why,
    e.reason,
    t.kind,
    coalesce(g.grown_compactions, 0) as grown_compactions
  from life as l
  left join chain as c
    on l.session_id = c.session_id
  left join error as e
    on l.session_id = e.session_id
  left join tool as t
    on l.session_id = t.session_id
  left join hollow as h
    on l.session_id = h.session_id
  left join grown as g
    on l.session_id = g.session_id
)

select
  session_id,
  ended_at,
  coalesce(broken, 'grown_compaction') as ending,
  case
    when broken in ('in_retry', 'endless_retries') then chain_reason
    when broken = 'after_error' then reason
    when broken = 'after_tool' then kind
    when broken = 'hollow' then why
  end as detail,
  case
    when broken in ('in_retry', 'endless_retries') then attempts
  end as attempts,
  grown_compactions,
  caller,
  agent,
  agent_version,
  project,
  model
from ended
where broken is not null
  or grown_compactions > 0
