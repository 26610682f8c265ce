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
select
  event_id,
  ruleset,
  reason,
  detail,
  retryable,
  action,
  rule,
  confidence,
  true as recorded,
  false as active,
  occurred_at as judged_at
from internal.event_v1
where type = 'error.classified'
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
  v.judged_at
from internal.event_v1 as e
inner join internal.verdict_v1 as v
  on e.facts_id = v.facts_id
where e.type = 'error.classified'
