-- title: Hand-offs and compactions by day
-- description: Hand-offs a day, by what caused them and how they ended.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column relays BIGINT: hand-offs
-- column auto_relays BIGINT: hand-offs that a threshold caused
-- column manual_relays BIGINT: hand-offs that a person asked for
-- column halted BIGINT: hand-offs that were given up
-- column sessions BIGINT: distinct sessions with one
-- column mean_pre_tokens DOUBLE: tokens in the context before, on average; null where no log says
select
  -- Zones take their time, and most ask for the one that is stored.
  case
    when $timezone = 'UTC' then cast(occurred_at as date)
    else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
  end as day,
  count(*) as relays,
  count(*) filter (where trigger = 'auto') as auto_relays,
  count(*) filter (where trigger = 'manual') as manual_relays,
  count(*) filter (where outcome = 'halted') as halted,
  count(distinct session_id) as sessions,
  avg(pre_tokens) as mean_pre_tokens
from relays
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
group by day
order by day
