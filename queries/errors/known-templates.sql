-- title: Templates of known errors
-- description: What errors with a reason say, without their values, and the rule that knows them.
-- column template VARCHAR: the message without its values
-- column reason VARCHAR: the reason
-- column rule VARCHAR: the rule that gave it
-- column errors BIGINT: errors
-- column sessions BIGINT: distinct sessions
-- column message VARCHAR: a sample: the latest text, redacted and capped
select
  template,
  reason,
  rule,
  count(*) as errors,
  count(distinct session_id) as sessions,
  arg_max(message, (occurred_at, event_id)) as message
from errors
where template is not null
  and reason <> 'unknown'
group by template, reason, rule
order by sessions desc, errors desc, template, reason, rule
