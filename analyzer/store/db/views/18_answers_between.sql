-- view answers_between(since TIMESTAMP, until TIMESTAMP): One row a request to a model that was answered in a window: the model that was asked, and the one that answered; null asks for all.
-- column event_id VARCHAR: Id of the event that tells it.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session.
-- column caller VARCHAR: Who made the request; (none) where the log does not say.
-- column agent VARCHAR: The program that was at work, as in claude-code; null where the log does not say.
-- column agent_version VARCHAR: Its version.
-- column project VARCHAR: The last name of the working directory.
-- column provider VARCHAR: Who serves the model.
-- column asked_model VARCHAR: The model that was asked: the one that answered, unless the log states another.
-- column served_model VARCHAR: The model that answered: the one that was asked, unless the log states another.
-- column is_swapped BOOLEAN: Whether the log states that another model answered than was asked.
-- column cause VARCHAR: Of a swap, how the asked model failed since its last answer in the session and window, as detail or reason of the error; null where no failure came before.
-- column swap VARCHAR: The swap in words: both models, and after what; null of other requests.
with request as (
  select
    event_id,
    occurred_at,
    session_id,
    caller,
    agent,
    agent_version,
    project,
    provider,
    coalesce(asked_model, model) as asked_model,
    coalesce(served_model, model) as served_model,
    coalesce(is_swapped, false) as is_swapped
  from usage
  where not whole_run
    and model is not null
    and (since is null or occurred_at >= since)
    and (until is null or occurred_at < until)
  union all
  -- A fallback whose answer has no tokens of its own.
  select
    e.event_id,
    e.occurred_at,
    e.session_id,
    e.caller,
    e.agent,
    e.agent_version,
    e.project,
    e.provider,
    coalesce(e.asked_model, e.model),
    e.served_model,
    true
  from errors as e
  anti join usage as u
    on e.session_id = u.session_id
    and u.is_swapped
    and (since is null or u.occurred_at >= since)
    and (until is null or u.occurred_at < until)
  where e.served_model is not null
    and (since is null or e.occurred_at >= since)
    and (until is null or e.occurred_at < until)
),

turn as (
  select
    *,
    case when not is_swapped then '' end as failure,
    case when is_swapped then 2 else 0 end as place
  from request
  union all by name
  select
    occurred_at,
    session_id,
    coalesce(asked_model, model) as asked_model,
    coalesce(detail, reason) as failure,
    1 as place
  from errors
  where party <> 'user'
    -- The failure before the first answer of the window may lie before it.
    and (since is null or occurred_at >= cast(since as timestamp) - interval 1 hour)
    and (until is null or occurred_at < until)
),

caused as (
  select
    *,
    last_value(failure ignore nulls) over (
      partition by coalesce(session_id, event_id), asked_model
      order by occurred_at, place
      rows between unbounded preceding and current row
    ) as latest
  from turn
)

select
  event_id,
  occurred_at,
  session_id,
  caller,
  agent,
  agent_version,
  project,
  provider,
  asked_model,
  served_model,
  is_swapped,
  case when is_swapped then nullif(latest, '') end as cause,
  case
    when is_swapped
    then concat(asked_model, ' → ', served_model, ' after ', case latest
      when 'content_policy' then 'a refusal'
      when 'overloaded' then 'an overload'
      else coalesce(nullif(latest, ''), 'no failure')
    end)
  end as swap
from caused
where place <> 1
