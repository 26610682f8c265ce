-- title: What went wrong, as one stream
-- description: Errors, chains of retries that ended, hand-offs, and findings as they open and end, one after another: what `export --otlp` sends.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column kind VARCHAR: error, retry, relay or finding
-- column id VARCHAR: the event of an error, the chain, the hand-off, or the finding with what became of it
-- column occurred_at TIMESTAMP: when it happened; of a chain when it ended, UTC
-- column severity VARCHAR: info, warning or critical
-- column said VARCHAR: the message of an error or the sentence of a finding; null for the others
-- column session_id VARCHAR: the agent's session
-- column caller VARCHAR: who made the call
-- column agent VARCHAR: the program that was at work
-- column agent_version VARCHAR: its version
-- column project VARCHAR: the last name of the working directory
-- column branch VARCHAR: the branch that was checked out
-- column host VARCHAR: the machine that wrote an error
-- column provider VARCHAR: who serves the model
-- column model VARCHAR: the model
-- column reason VARCHAR: of an error, a chain or a finding
-- column detail VARCHAR: the finer cause of an error
-- column party VARCHAR: who caused an error
-- column rule VARCHAR: the rule that matched an error
-- column outcome VARCHAR: what became of an error, a chain or a hand-off; of a finding whether it is open
-- column status INTEGER: HTTP status of an error
-- column code VARCHAR: an error's code
-- column error_type VARCHAR: an error's type
-- column fingerprint VARCHAR: the template of an error's message, or the one that a finding is about
-- column operation VARCHAR: the chain
-- column attempt BIGINT: 1-based number of the call that failed
-- column attempts BIGINT: calls of a chain in all
-- column seconds DOUBLE: of a chain the waiting, of a hand-off how long it took
-- column step VARCHAR: the step of a hand-off
-- column tokens_before BIGINT: tokens in the context before a hand-off
-- column tokens_after BIGINT: tokens in the context after it
-- column finding VARCHAR: the kind of a finding
-- column finding_id VARCHAR: the finding
with signal as (
  select
    'error' as kind,
    event_id as id,
    occurred_at,
    'warning' as severity,
    message as said,
    session_id,
    caller,
    agent,
    agent_version,
    project,
    branch,
    host,
    provider,
    model,
    reason,
    detail,
    party,
    rule,
    outcome,
    status,
    code,
    error_type,
    fingerprint,
    operation,
    attempt,
    null as attempts,
    retry_after_seconds as seconds,
    null as step,
    null as tokens_before,
    null as tokens_after,
    null as finding,
    null as finding_id
  from errors
  union all by name
  select
    'retry' as kind,
    operation as id,
    ended_at as occurred_at,
    case when outcome = 'recovered' then 'info' else 'warning' end as severity,
    session_id,
    caller,
    agent,
    agent_version,
    project,
    branch,
    provider,
    model,
    reason,
    outcome,
    operation,
    attempts,
    waited_seconds as seconds
  from retries
  where ended_at is not null
  union all by name
  select
    'relay' as kind,
    relay as id,
    occurred_at,
    case when outcome = 'halted' then 'warning' else 'info' end as severity,
    session_id,
    caller,
    agent,
    agent_version,
    project,
    branch,
    provider,
    model,
    outcome,
    duration_seconds as seconds,
    step_id as step,
    pre_tokens as tokens_before,
    post_tokens as tokens_after
  from relays
  union all by name
  select
    'finding' as kind,
    finding_id || ':open' as id,
    opened_at as occurred_at,
    severity,
    explanation as said,
    caller,
    reason,
    'open' as outcome,
    template as fingerprint,
    finding,
    finding_id
  from findings
  union all by name
  select
    'finding' as kind,
    finding_id || ':resolved' as id,
    resolved_at as occurred_at,
    'info' as severity,
    explanation as said,
    caller,
    reason,
    'resolved' as outcome,
    template as fingerprint,
    finding,
    finding_id
  from findings
  where resolved_at is not null
)

select *
from signal
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
order by occurred_at, kind, id
