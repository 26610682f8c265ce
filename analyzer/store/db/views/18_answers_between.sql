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
with answered as (
  -- Not from `usage`, whose sums look at all of history.
  select
    event_id,
    occurred_at,
    session_id,
    caller,
    agent,
    agent_version,
    project,
    provider,
    coalesce(answered.asked_model, model) as asked_model,
    coalesce(answered.served_model, model) as served_model,
    coalesce(internal.is_swap(answered.asked_model, answered.served_model), false) as is_swapped
  from internal.requests(since, until)
  where one.whole_run is not true
    and model is not null
),

request as (
  select *
  from answered
  union all
  -- A fallback whose answer has no tokens of its own.
  select
    e.event_id,
    e.occurred_at,
    e.session_id,
    coalesce(e.caller, '(none)'),
    e.work[1].agent,
    e.work[1].agent_version,
    e.work[1].project,
    coalesce(e.provider, e.seen_provider),
    coalesce(e.answered[1].asked_model, e.model, e.seen_model),
    e.answered[1].served_model,
    true
  from internal.error as e
  anti join answered as u
    on e.session_id = u.session_id
    and u.is_swapped
  where e.answered[1].served_model is not null
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
    coalesce(answered[1].asked_model, model, seen_model) as asked_model,
    coalesce(shown_detail, shown_reason) as failure,
    1 as place
  from internal.error
  where party_of(shown_reason, shown_detail, status) <> 'user'
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
