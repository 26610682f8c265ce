-- title: What failed tools say
-- description: First lines of failed calls, grouped by their text; texts that differ in values alone are one group, but an exit code alone is its own.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param tool VARCHAR = null : only this tool
-- param kind VARCHAR = null : only this kind
-- param limit BIGINT = 20 : groups at most
-- column tool VARCHAR: the tool; (unknown) where the log does not say
-- column kind VARCHAR: exit_code, not_found, refused, edit_mismatch, timeout, permission, environment, cancelled or other
-- column message VARCHAR: what all of the group say, redacted and cut; <*> stands for what differs
-- column failures BIGINT: calls that failed so
-- column sessions BIGINT: distinct sessions
-- column last_at TIMESTAMP: the latest one, UTC
with failed as (
  select
    *,
    -- Where a code is all that a text says, each code is a text of its own.
    case
      when regexp_matches(message, '^[A-Za-z: ]*(code|status):? -?[0-9]+[.]?$') then message
    end as code
  from tool_failures
)

select
  tool,
  kind,
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
group by tool, kind, fingerprint, code
order by failures desc, last_at desc, tool, kind, message
limit $limit
