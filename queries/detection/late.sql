-- title: Late events
-- description: Events that happened before a moment and came into the store after another one: those that a judged night did not see. Failed tools take no part in judgement.
-- param until TIMESTAMP = null : happened before this instant, UTC
-- param judged_at TIMESTAMP = null : came after this instant, UTC
-- column type VARCHAR: type of the events
-- column events BIGINT: how many
select
  type,
  count(*) as events
from events
where occurred_at < coalesce($until, timestamp '9999-01-01')
  and ingested_at > coalesce($judged_at, timestamp '9999-01-01')
  and not is_decision(type)
  and type <> 'tool.failed'
group by type
order by type
