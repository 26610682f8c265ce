-- title: What failed tools say
-- description: First lines of failed calls, grouped by their text; texts that differ in values alone are one group.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param tool VARCHAR = null : only this tool
-- param kind VARCHAR = null : only this kind
-- param limit BIGINT = 20 : groups at most
-- column tool VARCHAR: the tool; (unknown) where the log does not say
-- column kind VARCHAR: exit_code, not_found, refused, edit_mismatch, timeout, permission, environment, cancelled or other
-- column message VARCHAR: the latest text of the group, redacted and cut
-- column failures BIGINT: calls that failed so
-- column sessions BIGINT: distinct sessions
-- column last_at TIMESTAMP: the latest one, UTC
select
  tool,
  kind,
  arg_max(message, (occurred_at, event_id)) as message,
  count(*) as failures,
  count(distinct session_id) as sessions,
  max(occurred_at) as last_at
from tool_failures
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
  and ($tool is null or tool = $tool)
  and ($kind is null or kind = $kind)
group by tool, kind, fingerprint
order by failures desc, last_at desc, tool, kind, message
limit $limit
