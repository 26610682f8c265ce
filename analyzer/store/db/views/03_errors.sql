-- view errors: One row a classified error.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session.
-- column caller VARCHAR: Who made the call that failed; (none) where the log does not say.
-- column recorded_reason VARCHAR: The reason that the producer wrote; null where it wrote none.
-- column reason VARCHAR: The verdict of the active ruleset; the recorded one until a ruleset has been applied; unknown without either.
-- column detail VARCHAR: The finer cause.
-- column recorded_detail VARCHAR: The finer cause that the producer wrote.
-- column retryable BOOLEAN: Whether a retry makes sense, by the recovery table.
-- column action VARCHAR: What the recovery table advises: retry, wait_then_retry, compress_then_retry, surface or record.
-- column party VARCHAR: Who caused it, by reason, detail and status: provider, account, network, request, environment, user or unknown.
-- column outcome VARCHAR: What became of it: its retry chain's outcome, or its own where it had none; unresolved where the log does not say.
-- column rule VARCHAR: The rule that matched.
-- column ruleset VARCHAR: Digest of the rules that gave the verdict.
-- column confidence VARCHAR: strong, or weak where a bare status or exit code or weak words decided; null where no rule matched, or nobody said.
-- column suggested_reason VARCHAR: What a release up to 0.2 proposed for an unknown error; null for errors read since.
-- column suggested_probability DOUBLE: Share of such proposals that were held to be right, 0..1; null likewise.
-- column counts_as_unknown BOOLEAN: Whether it counts in the unknown share: reason unknown, neither aborted nor without any detail.
-- column status INTEGER: HTTP status.
-- column code VARCHAR: Provider's, system's or protocol's error code.
-- column error_type VARCHAR: Provider's error type.
-- column message VARCHAR: What the error said, redacted and capped.
-- column provider VARCHAR: Who serves the model.
-- column model VARCHAR: The model.
-- column fingerprint VARCHAR: Id of the message's template, the same on every machine; see docs/how-to/unknowns.md. Null without a message.
-- column template VARCHAR: The message on one line, with <*> for numbers, ids, names in quotes, paths, addresses, times, sizes.
-- column operation VARCHAR: Its retry chain.
-- column attempt BIGINT: 1-based number of the call that failed.
-- column max_attempts BIGINT: Calls allowed in all.
-- column retry_after_seconds DOUBLE: How long the provider asked to wait.
-- column reset_at TIMESTAMP: When a limit ends, UTC.
-- column current_tokens BIGINT: Tokens that were sent.
-- column max_tokens BIGINT: Tokens that fit.
-- column failure_reason VARCHAR: The step's own word: timeout, context_exhaustion, general_error, unknown.
-- column remediation VARCHAR: What the producer, or the recovery table, said to do about it.
-- column input_tokens BIGINT: Input tokens of the call or run that failed.
-- column output_tokens BIGINT: Output tokens of the call or run that failed.
-- column tokens_used BIGINT: Tokens of the call or run that failed, in all; their sum where the log names both parts alone.
-- column has_facts BOOLEAN: Whether it carries what the classifier saw, and so can be judged again.
-- column facts_id VARCHAR: Id of what the classifier saw, the same for all errors that look the same to it; null without facts.
-- column host VARCHAR: The machine that wrote it.
-- column source_format VARCHAR: The format it was read from.
-- column source_path VARCHAR: The file it was read from.
-- column source_line BIGINT: 1-based line in that file.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column cwd VARCHAR: The working directory, with ~ for a home.
-- column branch VARCHAR: The branch that was checked out.
-- column request_id VARCHAR: Id by which the provider finds the request; null where the log does not say.
-- column asked_model VARCHAR: The model that was asked, where the log states that apart from the model.
-- column served_model VARCHAR: The model that answered after the failure, likewise.
-- column service_tier VARCHAR: The tier of service, as the log names it.
-- column effort VARCHAR: The effort of reasoning that was asked for, as in high.
select
  e.event_id,
  e.occurred_at,
  e.session_id,
  coalesce(e.caller, '(none)') as caller,
  e.reason as recorded_reason,
  e.shown_reason as reason,
  e.shown_detail as detail,
  e.detail as recorded_detail,
  coalesce(e.judged_retryable, e.retryable) as retryable,
  case
    -- A caller that only records has decided so itself, whatever the rules advise.
    when e.action = 'record' then 'record'
    else coalesce(e.judged_action, e.action)
  end as action,
  party_of(e.shown_reason, e.shown_detail, e.status) as party,
  coalesce(r.outcome, e.outcome, 'unresolved') as outcome,
  coalesce(e.judged_rule, e.rule) as rule,
  coalesce(e.judged_ruleset, e.ruleset) as ruleset,
  case
    when e.judged_reason is null then e.confidence
    else e.judged_confidence
  end as confidence,
  case
    when e.shown_reason = 'unknown' then e.suggested_reason
  end as suggested_reason,
  case
    when e.shown_reason = 'unknown' and e.suggested_reason is not null then e.suggested_probability
  end as suggested_probability,
  is_unknown(e.shown_reason, e.shown_detail) as counts_as_unknown,
  e.status,
  e.code,
  e.error_type,
  e.said as message,
  coalesce(e.provider, e.seen_provider) as provider,
  coalesce(e.model, e.seen_model) as model,
  e.mask_id as fingerprint,
  e.masked as template,
  e.operation,
  e.attempt,
  e.max_attempts,
  e.retry_after_seconds,
  e.reset_at,
  e.current_tokens,
  e.max_tokens,
  e.failure_reason,
  e.remediation,
  e.input_tokens,
  e.output_tokens,
  coalesce(e.tokens_used, e.input_tokens + e.output_tokens) as tokens_used,
  e.has_facts,
  e.facts_id,
  e.host,
  e.source_format,
  e.source_path,
  e.source_line,
  e.work[1].agent as agent,
  e.work[1].agent_version as agent_version,
  e.work[1].project as project,
  e.work[1].cwd as cwd,
  e.work[1].branch as branch,
  coalesce(e.answered[1].request_id, e.seen_request_id, internal.request_id(e.said)) as request_id,
  e.answered[1].asked_model as asked_model,
  e.answered[1].served_model as served_model,
  e.answered[1].service_tier as service_tier,
  e.answered[1].effort as effort
from internal.error as e
left join retries as r
  on e.operation = r.operation
