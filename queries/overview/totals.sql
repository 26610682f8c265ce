-- title: Totals of the window
-- description: One row with the figures that a report opens with.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column first_at TIMESTAMP: first event in the window, UTC; the analyzer's own decisions are none
-- column last_at TIMESTAMP: last event in the window, UTC; the analyzer's own decisions are none
-- column events BIGINT: events of any type, records of usage included, but the analyzer's own decisions
-- column sessions BIGINT: distinct sessions that any event names
-- column error_sessions BIGINT: of these, the ones with a classified error
-- column callers BIGINT: distinct callers with an error
-- column errors BIGINT: classified errors
-- column counted_errors BIGINT: errors that take part in the unknown share: all but aborted ones and ones without any detail
-- column unknown_errors BIGINT: errors that count as unknown
-- column unknown_share DOUBLE: unknown_errors / counted_errors, 0..1; null without any
-- column without_facts BIGINT: errors that cannot be judged again
-- column retry_chains BIGINT: retry chains that began in the window
-- column recovered_chains BIGINT: of these, the ones that recovered
-- column relays BIGINT: hand-offs that began in the window
-- column exhaustions BIGINT: times that an agent ran into its usage limit
-- column requests BIGINT: model requests of the sessions seen in the window, where their logs count them
-- column tool_failures BIGINT: calls of tools that failed
-- column tool_sessions BIGINT: distinct sessions with a failed tool
-- column tool_calls BIGINT: calls of tools of the sessions seen in the window, where their logs count them
with event as (
  select
    count(*) as events,
    count(distinct session_id) as sessions,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at,
    count(*) filter (where type = 'agent.exhausted') as exhaustions
  from events
  where not is_decision(type)
  and ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
),

error as (
  select
    count(*) as errors,
    count(distinct session_id) as error_sessions,
    count(distinct caller) as callers,
    count(*) filter (where counts_as_unknown or reason <> 'unknown') as counted_errors,
    count(*) filter (where counts_as_unknown) as unknown_errors,
    count(*) filter (where not has_facts) as without_facts
  from errors
  where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
),

retry as (
  select
    count(*) as retry_chains,
    count(*) filter (where outcome = 'recovered') as recovered_chains
  from retries
  where ($since is null or started_at >= $since)
    and ($until is null or started_at < $until)
),

relay as (
  select count(*) as relays
  from relays
  where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
),

session as (
  select
    cast(sum(requests) as bigint) as requests,
    cast(sum(tool_calls) as bigint) as tool_calls
  from sessions
  where ($since is null or ended_at >= $since)
    and ($until is null or started_at < $until)
),

tool as (
  select
    count(*) as tool_failures,
    count(distinct session_id) as tool_sessions
  from tool_failures
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
)

select
  event.first_at,
  event.last_at,
  event.events,
  event.sessions,
  error.error_sessions,
  error.callers,
  error.errors,
  error.counted_errors,
  error.unknown_errors,
  error.unknown_errors / nullif(error.counted_errors, 0) as unknown_share,
  error.without_facts,
  retry.retry_chains,
  retry.recovered_chains,
  relay.relays,
  event.exhaustions,
  session.requests,
  tool.tool_failures,
  tool.tool_sessions,
  session.tool_calls
from event, error, retry, relay, session, tool
order by event.first_at
