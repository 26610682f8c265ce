-- view errors_under(digest VARCHAR): One row a classified error, as the ruleset of that digest judges all of history; null asks for the active one.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column caller VARCHAR: Who made the call that failed; (none) where the log does not say.
-- column session VARCHAR: What counts as one session: the agent's session, else the retry chain, else the file.
-- column operation VARCHAR: Its retry chain.
-- column template VARCHAR: Fingerprint of the message; empty without a message.
-- column message VARCHAR: What the error said, redacted and capped.
-- column reason VARCHAR: The verdict; the recorded reason where the ruleset gave none; unknown without either.
-- column detail VARCHAR: The finer cause.
-- column rule VARCHAR: The rule that matched; null where none did.
-- column counted BOOLEAN: Whether it takes part in the unknown share: neither aborted nor an unknown error without any detail.
-- column recorded_reason VARCHAR: The reason that the producer wrote; null where it wrote none.
-- column recorded_as_unknown BOOLEAN: Whether it counts as unknown by what the producer wrote.
-- column judged BOOLEAN: Whether the ruleset gave the verdict; false where what was recorded is kept.
-- column has_facts BOOLEAN: Whether it carries what the classifier saw, and so can be judged again.
-- column recorded_ruleset VARCHAR: Digest of the rules that the producer judged by; empty where the log does not say.
-- column provider VARCHAR: Whose API failed; null where the log does not say.
-- column model VARCHAR: The model that was asked; null where the log does not say.
-- column project VARCHAR: The last name of the working directory; null where the log does not say.
-- column host VARCHAR: The machine that wrote it; null where the log does not say.
-- column confidence VARCHAR: strong, or weak where a bare status or exit code or weak words decided; null where no rule matched, or nobody said.
-- column status INTEGER: HTTP status.
-- column suggested_reason VARCHAR: What a release up to 0.2 proposed for an unknown error; null for errors read since.
-- column suggested_probability DOUBLE: Share of such proposals that were held to be right, 0..1; null likewise.
with judged as (
  select
    e.event_id,
    e.occurred_at,
    coalesce(e.caller, '(none)') as caller,
    coalesce(e.session_id, e.operation, e.source_path, '') as session,
    e.operation,
    coalesce(e.mask_id, '') as template,
    e.said as message,
    case
      when digest is null then e.shown_reason
      else coalesce(v.reason, e.reason, 'unknown')
    end as reason,
    case
      when digest is null then e.shown_detail
      when v.reason is null then e.detail
      else v.detail
    end as detail,
    nullif(
      case
        when digest is null or v.reason is null then coalesce(e.judged_rule, e.rule)
        else v.rule
      end,
      'none'
    ) as rule,
    e.reason as recorded_reason,
    e.detail as recorded_detail,
    digest is null or v.reason is not null as judged,
    e.has_facts,
    coalesce(e.judged_ruleset, e.ruleset, '') as recorded_ruleset,
    coalesce(e.provider, e.seen_provider) as provider,
    coalesce(e.model, e.seen_model) as model,
    e.work[1].project as project,
    e.host,
    case
      when digest is null and e.judged_reason is not null then e.judged_confidence
      when digest is null or v.reason is null then e.confidence
      else v.confidence
    end as confidence,
    e.status,
    e.suggested_reason,
    e.suggested_probability
  from internal.error as e
  -- By what the rules saw, of which there is much less than there are errors.
  left join internal.verdict_v1 as v
    on e.facts_id = v.facts_id
    and v.ruleset = digest
)

select
  event_id,
  occurred_at,
  caller,
  session,
  operation,
  template,
  message,
  reason,
  detail,
  rule,
  is_counted(reason, detail) as counted,
  recorded_reason,
  is_unknown(coalesce(recorded_reason, 'unknown'), recorded_detail) as recorded_as_unknown,
  judged,
  has_facts,
  recorded_ruleset,
  provider,
  model,
  project,
  host,
  confidence,
  status,
  case
    when reason = 'unknown' then suggested_reason
  end as suggested_reason,
  case
    when reason = 'unknown' and suggested_reason is not null then suggested_probability
  end as suggested_probability
from judged
