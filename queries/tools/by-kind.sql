-- title: Failed tools by kind
-- description: What calls of tools fail of, with the latest line of each kind.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column kind VARCHAR: exit_code, not_found, refused, edit_mismatch, timeout, permission, environment, cancelled or other
-- column failures BIGINT: calls that failed
-- column share DOUBLE: of all failed calls in the window, 0..1
-- column sessions BIGINT: distinct sessions
-- column tools BIGINT: distinct tools
-- column message VARCHAR: the latest first line, redacted and cut
-- column last_at TIMESTAMP: the latest failure, UTC
select
  kind,
  count(*) as failures,
  count(*) / sum(count(*)) over () as share,
  count(distinct session_id) as sessions,
  count(distinct tool) as tools,
  arg_max(message, (occurred_at, event_id)) as message,
  max(occurred_at) as last_at
from tool_failures
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by kind
order by failures desc, kind
