-- title: What failed tools say
-- description: Why calls failed, grouped by the command, its exit code and the text; texts that differ only in values are one group.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param tool VARCHAR = null : only this tool
-- param kind VARCHAR = null : only this kind
-- param limit BIGINT = 20 : groups at most
-- column tool VARCHAR: the tool; (unknown) where the log does not say
-- column kind VARCHAR: tests, lint, build, exit_code, not_found, refused, edit_mismatch, timeout, permission, environment, cancelled or other
-- column command VARCHAR: the head of the command that was run, as in go test; null for other tools
-- column message VARCHAR: what all of the group say, redacted and cut, with <*> for what differs
-- column failures BIGINT: calls that failed so
-- column sessions BIGINT: distinct sessions
-- column last_at TIMESTAMP: the latest one, UTC
with failed as (
  select
    *,
    -- A text with an exit code stands for that code alone.
    coalesce(cast(exit_code as varchar), regexp_extract(message, '^[A-Za-z: ]*(code|status):? (-?[0-9]+)[.]?$', 2)) as code
  from tool_failures
)

select
  tool,
  kind,
  command,
  if(min(message) = max(message), max(message), max(template)) as message,
  count(*) as failures,
  count(distinct session_id) as sessions,
  max(occurred_at) as last_at
from failed
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
  and ($tool is null or tool = $tool)
  and ($kind is null or kind = $kind)
group by tool, kind, command, fingerprint, code
order by failures desc, last_at desc, tool, kind, command, message
limit $limit
