-- title: Commands that fail again and again
-- description: Commands of one session, alike in program and subcommand, that failed three times or more with the same exit code and text.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column session_id VARCHAR: the agent's session
-- column caller VARCHAR: who called the tool
-- column tool VARCHAR: the tool
-- column command VARCHAR: the head of the command, as in go test
-- column message VARCHAR: what all of the failures say, redacted and cut, with <*> for what differs
-- column failures BIGINT: calls that failed so
-- column failed_seconds DOUBLE: seconds that they took, where the log dates calls and results; null where it does not
-- column first_at TIMESTAMP: the first of them, UTC
-- column last_at TIMESTAMP: the last one, UTC
select
  session_id,
  any_value(caller) as caller,
  tool,
  command,
  if(min(message) = max(message), max(message), max(template)) as message,
  count(*) as failures,
  round(sum(duration_seconds), 3) as failed_seconds,
  min(occurred_at) as first_at,
  max(occurred_at) as last_at
from tool_failures
where session_id is not null
  and command is not null
  and kind <> 'refused'
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
group by session_id, tool, command, exit_code, fingerprint
having count(*) >= 3
order by failures desc, last_at desc, session_id, tool, command
