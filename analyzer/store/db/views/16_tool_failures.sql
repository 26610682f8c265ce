-- view tool_failures: One row a failed call of a tool, which the agent read and went on. They are no errors: no reason, share or alarm knows them.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session.
-- column caller VARCHAR: Who called the tool; (none) where the log does not say.
-- column tool VARCHAR: The tool; (unknown) where the log does not say.
-- column kind VARCHAR: tests, lint, build, exit_code, not_found, refused, edit_mismatch, timeout, permission, environment, cancelled or other.
-- column command VARCHAR: The head of the command that was run, as in go test: its program and subcommand, no argument; null for other tools.
-- column exit_code INTEGER: Exit code of the command.
-- column duration_seconds DOUBLE: Seconds from the call to its result, where the log dates both.
-- column message VARCHAR: The first line of what it said that tells why it failed, redacted and cut.
-- column fingerprint VARCHAR: Id of the message's template, the same on every machine. Null without a message.
-- column template VARCHAR: The message with <*> for what differs.
-- column source_format VARCHAR: The format it was read from.
-- column source_path VARCHAR: The file it was read from.
-- column source_line BIGINT: 1-based line in that file.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
select
  e.event_id,
  occurred_at,
  session_id,
  coalesce(caller, '(none)') as caller,
  coalesce(seen[1].tool, '(unknown)') as tool,
  coalesce(seen[1].tool_kind, 'other') as kind,
  seen[1].command as command,
  seen[1].exit_code as exit_code,
  seen[1].duration_seconds as duration_seconds,
  message,
  fingerprint,
  template,
  source_format,
  source_path,
  source_line,
  work[1].agent as agent,
  work[1].agent_version as agent_version,
  work[1].project as project,
  work[1].cwd as cwd,
  work[1].branch as branch,
  provider,
  model
from internal.event_v1 as e
anti join internal.told_twice as w
  on e.event_id = w.event_id
where type = 'tool.failed'
