-- title: Models that answered for others
-- description: Requests that another model answered than was asked, by day, agent, its version and project; those that came after a refusal, an overload or another failure, and those that came without any.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param caller VARCHAR = null : only this caller
-- column day DATE: day in the time zone
-- column agent VARCHAR: the program that was at work; null where the log does not say
-- column agent_version VARCHAR: its version
-- column project VARCHAR: the last name of the working directory
-- column asked_model VARCHAR: the model that was asked
-- column served_model VARCHAR: the model that answered
-- column cause VARCHAR: how the asked model failed before: content_policy is a refusal, overloaded an overload; null where it answered as if nothing was
-- column requests BIGINT: requests that were answered so
-- column of_requests BIGINT: all requests asked of the model that day, of the same agent, version and project
-- column share DOUBLE: requests / of_requests, 0..1
-- column sessions BIGINT: sessions with such requests
-- column last_at TIMESTAMP: the latest of them, UTC
with answer as (
  select
    *,
    cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day
  from answers_between($since, $until)
  where $caller is null or caller = $caller
),

counted as (
  select
    *,
    count(*) over (partition by day, agent, agent_version, project, asked_model) as of_requests
  from answer
)

select
  day,
  agent,
  agent_version,
  project,
  asked_model,
  served_model,
  cause,
  count(*) as requests,
  max(of_requests) as of_requests,
  count(*) / max(of_requests) as share,
  count(distinct session_id) as sessions,
  max(occurred_at) as last_at
from counted
where is_swapped
group by all
order by day desc, requests desc, agent, agent_version, project, asked_model, served_model, cause
