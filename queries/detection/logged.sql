-- title: What logs cover
-- description: One row: from when to when the store has events, and how many of them happened within a window.
-- param since TIMESTAMP = null : first instant of the window, inclusive, UTC
-- param until TIMESTAMP = null : last instant of the window, exclusive, UTC
-- column first_at TIMESTAMP: first event of all, UTC; the analyzer's own decisions are none
-- column last_at TIMESTAMP: last event of all, UTC
-- column events BIGINT: events within the window
select
  min(occurred_at) as first_at,
  max(occurred_at) as last_at,
  count(*) filter (
    where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
  ) as events
from events
where not is_decision(type)
order by first_at
