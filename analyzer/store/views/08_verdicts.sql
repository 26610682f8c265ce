-- view verdicts: One row an error and a ruleset that judged it.
-- column event_id VARCHAR: The error's event.
-- column ruleset VARCHAR: Digest of the rules; null where the producer did not say.
-- column reason VARCHAR: One of the eight.
-- column detail VARCHAR: The finer cause.
-- column retryable BOOLEAN: Whether a retry makes sense.
-- column action VARCHAR: What the recovery table advises.
-- column rule VARCHAR: The rule that matched.
-- column recorded BOOLEAN: Whether it is the producer's own verdict.
select
  event_id,
  json_extract_string(payload, '$.ruleset') as ruleset,
  json_extract_string(payload, '$.reason') as reason,
  json_extract_string(payload, '$.detail') as detail,
  try_cast(json_extract_string(payload, '$.retryable') as boolean) as retryable,
  json_extract_string(payload, '$.action') as action,
  json_extract_string(payload, '$.rule') as rule,
  true as recorded
from event_v1
where type = 'error.classified'
