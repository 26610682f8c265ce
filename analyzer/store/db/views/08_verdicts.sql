-- view verdicts: One row an error and a ruleset that judged it.
-- column event_id VARCHAR: The error's event.
-- column ruleset VARCHAR: Digest of the rules; null where the producer did not say.
-- column reason VARCHAR: One of the eight.
-- column detail VARCHAR: The finer cause.
-- column retryable BOOLEAN: Whether a retry makes sense.
-- column action VARCHAR: What the recovery table advises.
-- column rule VARCHAR: The rule that matched.
-- column confidence VARCHAR: strong, or weak where a bare status or exit code or weak words decided; null where no rule matched, or nobody said.
-- column recorded BOOLEAN: Whether it is the producer's own verdict.
-- column active BOOLEAN: Whether its ruleset is the active one; false for the producer's own.
-- column judged_at TIMESTAMP: When it was given, UTC; for the producer's own the time of the error.
-- column suggested_reason VARCHAR: What a release up to 0.2 proposed for an unknown error; null for errors read since.
-- column suggested_probability DOUBLE: Share of such proposals that were held to be right, 0..1; null likewise.
select
  e.event_id,
  e.ruleset,
  e.reason,
  e.detail,
  e.retryable,
  e.action,
  e.rule,
  e.confidence,
  true as recorded,
  false as active,
  e.occurred_at as judged_at,
  case
    when e.reason = 'unknown' then f.suggested_reason
  end as suggested_reason,
  case
    when e.reason = 'unknown' and f.suggested_reason is not null then f.suggested_probability
  end as suggested_probability
from internal.event_v1 as e
left join internal.facts_v1 as f
  on e.facts_id = f.facts_id
where e.type = 'error.classified'
union all
select
  e.event_id,
  v.ruleset,
  v.reason,
  v.detail,
  v.retryable,
  v.action,
  v.rule,
  v.confidence,
  false as recorded,
  coalesce(v.ruleset = (select s.value from internal.store_v1 as s where s.key = 'active_ruleset'), false) as active,
  v.judged_at,
  case
    when v.reason = 'unknown' then f.suggested_reason
  end as suggested_reason,
  case
    when v.reason = 'unknown' and f.suggested_reason is not null then f.suggested_probability
  end as suggested_probability
from internal.event_v1 as e
inner join internal.verdict_v1 as v
  on e.facts_id = v.facts_id
left join internal.facts_v1 as f
  on e.facts_id = f.facts_id
where e.type = 'error.classified'
