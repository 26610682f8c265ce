-- title: Unknown share by day and caller
-- description: Share of classified errors whose reason is unknown. Aborts and errors without any detail do not count.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the calls
-- column errors BIGINT: errors that count
-- column unknown_errors BIGINT: of these, unknown ones
-- column unknown_share DOUBLE: unknown_errors / errors, 0..1
-- column sessions BIGINT: distinct sessions with an error that counts
-- column unknown_sessions BIGINT: distinct sessions with an unknown error
select
  -- Zones take their time, and most ask for the one that is stored.
  case
    when $timezone = 'UTC' then cast(occurred_at as date)
    else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
  end as day,
  caller,
  count(*) as errors,
  count(*) filter (where counts_as_unknown) as unknown_errors,
  count(*) filter (where counts_as_unknown) / count(*) as unknown_share,
  count(distinct session_id) as sessions,
  count(distinct session_id) filter (where counts_as_unknown) as unknown_sessions
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($caller is null or caller = $caller)
  and (counts_as_unknown or reason <> 'unknown')
group by day, caller
order by day, caller
