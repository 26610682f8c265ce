-- title: Failed tools by kind
-- description: What calls of tools fail of, with what most of each kind say.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column kind VARCHAR: tests, lint, build, exit_code, not_found, refused, edit_mismatch, timeout, permission, environment, cancelled or other
-- column failures BIGINT: calls that failed
-- column share DOUBLE: of all failed calls in the window, 0..1
-- column sessions BIGINT: distinct sessions
-- column tools BIGINT: distinct tools
-- column message VARCHAR: what most of the kind say, redacted and cut, with <*> for what differs
-- column message_failures BIGINT: of these, calls that failed so
-- column last_at TIMESTAMP: the latest failure, UTC
with failed as (
  select *
  from tool_failures
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
),

text as (
  select
    kind,
    if(min(message) = max(message), max(message), max(template)) as message,
    count(*) as failures
  from failed
  where message is not null
  group by kind, fingerprint, exit_code
),

frequent as (
  select
    kind,
    arg_max(message, (failures, message)) as message,
    max(failures) as message_failures
  from text
  group by kind
)

select
  f.kind,
  count(*) as failures,
  count(*) / sum(count(*)) over () as share,
  count(distinct f.session_id) as sessions,
  count(distinct f.tool) as tools,
  any_value(t.message) as message,
  any_value(t.message_failures) as message_failures,
  max(f.occurred_at) as last_at
from failed as f
left join frequent as t
  on f.kind = t.kind
group by f.kind
order by failures desc, f.kind
