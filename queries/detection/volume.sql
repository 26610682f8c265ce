-- title: Errors by hour, caller, what callers share, and reason
-- description: How many sessions of a caller met errors of a reason with a provider's model, in a project and on a host, on a day, and with how many distinct messages, by the hour in which that began, so that the hours of a day add up; as a ruleset judges all of history. Errors without facts take part from the first one of their caller's newest recorded ruleset on, and before it where they have the same one.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column day DATE: day in the time zone
-- column hour INTEGER: hour of the day, 0 to 23, in which a session first met such an error, or a message of it
-- column caller VARCHAR: who made the calls
-- column provider VARCHAR: whose API failed; empty where the log does not say
-- column model VARCHAR: the model that was asked; empty where the log does not say
-- column project VARCHAR: the last name of the working directory; empty where the log does not say
-- column host VARCHAR: the machine that wrote the log; empty where it does not say
-- column reason VARCHAR: the verdict of the ruleset; the recorded one where it has none
-- column sessions BIGINT: distinct sessions with such an error
-- column groups BIGINT: distinct pairs of session and message, three of a session at most: one that repeats itself counts no more, however its texts vary
with error as (
  select
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
    *
  from comparable_errors($ruleset, $until)
  where $since is null
    or occurred_at >= $since
),

message as (
  select
    day,
    min(cast(date_part('hour', case
      when $timezone = 'UTC' then occurred_at
      else timezone($timezone, timezone('UTC', occurred_at))
    end) as integer)) as hour,
    caller,
    coalesce(provider, '') as provider,
    coalesce(model, '') as model,
    coalesce(project, '') as project,
    coalesce(host, '') as host,
    reason,
    session,
    template
  from error
  where counted
  group by all
),

-- Of a session's messages the first three count; which of those of one hour that are, changes no count.
session as (
  select
    * exclude (hour, template),
    min(hour, 3) as hours
  from message
  group by all
),

counted as (
  select
    * exclude (hours),
    unnest(hours) as hour,
    generate_subscripts(hours, 1) as place
  from session
)

select
  day,
  hour,
  caller,
  provider,
  model,
  project,
  host,
  reason,
  count(*) filter (where place = 1) as sessions,
  count(*) as groups
from counted
group by all
order by day, hour, caller, provider, model, project, host, reason
