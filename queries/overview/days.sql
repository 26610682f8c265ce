-- title: The days of the fleet
-- description: What each day brought: errors and sessions, retries and their waits, hand-offs and the tokens that they dropped.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- column day DATE: day in the time zone; days without any event are left out
-- column sessions BIGINT: distinct sessions that any event names
-- column error_sessions BIGINT: of these, the ones with a classified error
-- column errors BIGINT: classified errors
-- column counted_errors BIGINT: errors that take part in the unknown share
-- column unknown_errors BIGINT: errors that count as unknown
-- column failed_sessions BIGINT: distinct sessions with a retry chain that ended without success
-- column recovered_chains BIGINT: retry chains that began on the day and recovered
-- column ended_chains BIGINT: retry chains that began on the day and ended on their own
-- column waited_seconds DOUBLE: seconds waited between the calls of these chains, to the millisecond
-- column relays BIGINT: hand-offs to a fresh context, compactions among them
-- column dropped_tokens BIGINT: tokens that were in the context before these and no longer after; null where no log says
with event as (
  select
    case
      when $timezone = 'UTC' then cast(occurred_at as date)
      else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
    end as day,
    count(distinct session_id) as sessions
  from events
  where not is_decision(type)
    and ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
  group by day
),

error as (
  select
    case
      when $timezone = 'UTC' then cast(occurred_at as date)
      else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
    end as day,
    count(distinct session_id) as error_sessions,
    count(*) as errors,
    count(*) filter (where counts_as_unknown or reason <> 'unknown') as counted_errors,
    count(*) filter (where counts_as_unknown) as unknown_errors
  from errors
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
  group by day
),

retry as (
  select
    case
      when $timezone = 'UTC' then cast(started_at as date)
      else cast(timezone($timezone, timezone('UTC', started_at)) as date)
    end as day,
    count(distinct session_id) filter (where outcome in ('exhausted', 'surfaced', 'escalated')) as failed_sessions,
    count(*) filter (where outcome = 'recovered') as recovered_chains,
    count(*) filter (where outcome in ('recovered', 'exhausted', 'surfaced', 'escalated')) as ended_chains,
    round(sum(waited_seconds), 3) as waited_seconds
  from retries
  where ($since is null or started_at >= $since)
    and ($until is null or started_at < $until)
  group by day
),

relay as (
  select
    case
      when $timezone = 'UTC' then cast(occurred_at as date)
      else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
    end as day,
    count(*) as relays,
    cast(sum(greatest(pre_tokens - post_tokens, 0)) as bigint) as dropped_tokens
  from relays
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
  group by day
)

select
  event.day,
  event.sessions,
  coalesce(error.error_sessions, 0) as error_sessions,
  coalesce(error.errors, 0) as errors,
  coalesce(error.counted_errors, 0) as counted_errors,
  coalesce(error.unknown_errors, 0) as unknown_errors,
  coalesce(retry.failed_sessions, 0) as failed_sessions,
  coalesce(retry.recovered_chains, 0) as recovered_chains,
  coalesce(retry.ended_chains, 0) as ended_chains,
  coalesce(retry.waited_seconds, 0.0) as waited_seconds,
  coalesce(relay.relays, 0) as relays,
  relay.dropped_tokens
from event
left join error on event.day = error.day
left join retry on event.day = retry.day
left join relay on event.day = relay.day
order by event.day
