-- title: Future events
-- description: The machines whose logs have events that are dated after a moment: where that is now, their clocks are ahead.
-- param at TIMESTAMP = null : the moment, UTC; null for none
-- column host VARCHAR: the machine; empty where the log does not say
-- column events BIGINT: events dated after the moment
-- column last_at TIMESTAMP: the last of them, UTC
select
  coalesce(host, '') as host,
  count(*) as events,
  max(occurred_at) as last_at
from events
where occurred_at > $at
group by all
order by host
