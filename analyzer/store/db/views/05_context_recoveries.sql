-- view context_recoveries: One row an attempt to make a conversation fit again without a fresh context.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session.
-- column caller VARCHAR: Whose conversation it was.
-- column strategy VARCHAR: What was done, as in truncate_tool_outputs or microcompact.
-- column attempt BIGINT: 1-based attempt on this conversation.
-- column recovered BOOLEAN: Whether it fitted afterwards.
-- column pre_tokens BIGINT: Tokens before.
-- column post_tokens BIGINT: Tokens after.
-- column removed_messages BIGINT: Messages taken out.
-- column truncated_messages BIGINT: Messages cut short.
select
  event_id,
  occurred_at,
  session_id,
  coalesce(caller, '(none)') as caller,
  seen[1].strategy as strategy,
  attempt,
  type = 'context.recovered' as recovered,
  seen[1].pre_tokens as pre_tokens,
  seen[1].post_tokens as post_tokens,
  seen[1].removed_messages as removed_messages,
  seen[1].truncated_messages as truncated_messages
from internal.event_v1
where type in ('context.recovered', 'context.unrecovered')
