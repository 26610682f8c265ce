-- title: Events in order
-- description: The events of a session, of a chain of retries, or some events by id, in the order in which they happened.
-- param session VARCHAR = null : id of a session
-- param operation VARCHAR = null : id of a chain
-- param event_ids VARCHAR = null : ids of events, as a JSON array
-- column event_id VARCHAR: id of the event
-- column occurred_at TIMESTAMP: when it happened, UTC
-- column type VARCHAR: what happened, as in error.classified
-- column session_id VARCHAR: the agent's session; null where the log names none
-- column operation VARCHAR: the chain of retries that it belongs to
-- column caller VARCHAR: who made the call
-- column reason VARCHAR: of an error the active verdict; of a settled chain what it ended as
-- column outcome VARCHAR: what became of an error, a chain or a hand-off
-- column compaction BOOLEAN: whether a hand-off is none: the agent shortened its own context, and went on in the same session
-- column attempt BIGINT: 1-based number of the call that failed
-- column attempts BIGINT: of a settled chain the calls made in all
-- column delay_seconds DOUBLE: of a scheduled retry the wait before it
-- column waited_seconds DOUBLE: of a settled chain the waiting in all
-- column tokens_before BIGINT: tokens in the context before it was made smaller
-- column tokens_after BIGINT: tokens in the context after
-- column tool VARCHAR: of a failed tool its name
-- column message VARCHAR: what was said, redacted and capped
-- column reset_at TIMESTAMP: when a limit ends, UTC
-- column source_format VARCHAR: the format it was read from
-- column source_path VARCHAR: the file it was read from
-- column source_line BIGINT: 1-based line in that file
-- column agent VARCHAR: the program that was at work
-- column cwd VARCHAR: the working directory, with ~ for a home
with chosen as (
  select *
  from events
  where ($session is null or session_id = $session)
    and ($operation is null or json_extract_string(payload, '$.operation') = $operation)
    and ($event_ids is null or event_id in (select unnest(from_json($event_ids, '["VARCHAR"]'))))
    and not is_decision(type)
),

compacted as (
  select coalesce(json_extract_string(payload, '$.relay'), event_id) as relay
  from events
  where type = 'relay.triggered'
    and is_compaction(json_extract_string(payload, '$.step_id'), json_extract_string(payload, '$.strategy'))
    and occurred_at <= (select max(occurred_at) from chosen where starts_with(type, 'relay.'))
)

select
  c.event_id,
  c.occurred_at,
  c.type,
  c.session_id,
  json_extract_string(c.payload, '$.operation') as operation,
  coalesce(e.caller, json_extract_string(c.payload, '$.caller')) as caller,
  coalesce(e.reason, json_extract_string(c.payload, '$.reason')) as reason,
  coalesce(e.outcome, json_extract_string(c.payload, '$.outcome')) as outcome,
  starts_with(c.type, 'relay.')
  and coalesce(
    coalesce(json_extract_string(c.payload, '$.relay'), c.event_id) in (select relay from compacted), false
  ) as compaction,
  try_cast(json_extract_string(c.payload, '$.attempt') as bigint) as attempt,
  try_cast(json_extract_string(c.payload, '$.attempts') as bigint) as attempts,
  try_cast(json_extract_string(c.payload, '$.delay_seconds') as double) as delay_seconds,
  try_cast(json_extract_string(c.payload, '$.waited_seconds') as double) as waited_seconds,
  try_cast(json_extract_string(c.payload, '$.pre_tokens') as bigint) as tokens_before,
  try_cast(json_extract_string(c.payload, '$.post_tokens') as bigint) as tokens_after,
  t.tool,
  coalesce(e.message, t.message, x.reason_text) as message,
  coalesce(e.reset_at, x.reset_at) as reset_at,
  c.source_format,
  c.source_path,
  c.source_line,
  s.agent,
  s.cwd
from chosen as c
left join errors as e
  on c.event_id = e.event_id
left join tool_failures as t
  on c.event_id = t.event_id
left join exhaustions as x
  on c.event_id = x.event_id
left join internal.session as s
  on c.session_id = s.session_id
-- Every request's tokens and every step of a limit would hide what happened; what an agent's log and its telemetry both tell is told once.
where (c.type not in ('usage.recorded', 'limit.observed') or $event_ids is not null)
  and (
    c.type not in ('error.classified', 'tool.failed')
    or e.event_id is not null
    or t.event_id is not null
  )
-- Of one moment and line the error comes before the retry that it leads to.
order by c.occurred_at, c.source_path, c.seq, c.source_line, c.type, c.event_id
