-- title: Sessions and errors in some stretches of time
-- description: What detection counts of hours: the errors of each stretch by caller, provider, model and reason, and in a row without a reason the sessions at work and all errors of a caller. Errors without facts count as they were recorded.
-- param asked VARCHAR = null : the stretches, as a JSON array of objects with place, since and until; null asks for all time
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column place BIGINT: which of those that were asked for
-- column caller VARCHAR: who made the calls
-- column provider VARCHAR: whose API failed; empty where the log does not say
-- column model VARCHAR: the model that was asked; empty where the log does not say
-- column reason VARCHAR: the verdict of the ruleset; null for all that the caller did
-- column sessions BIGINT: distinct sessions with such an error; of all that the caller did, any session
-- column observed BIGINT: of all that the caller did, sessions that logs report whether they have errors or not
-- column error_sessions BIGINT: distinct sessions with such an error
-- column groups BIGINT: distinct pairs of session and message
with asked as materialized (
  select
    coalesce(one.place, 0) as place,
    coalesce(one.since, timestamp '0001-01-01') as since,
    coalesce(one.until, timestamp '9999-01-01') as until
  from (
    select unnest(from_json(
      coalesce($asked, '[{}]'),
      '[{"place":"BIGINT","since":"TIMESTAMP","until":"TIMESTAMP"}]'
    )) as one
  )
),

error as materialized (
  select
    a.place,
    e.caller,
    coalesce(e.provider, '') as provider,
    coalesce(e.model, '') as model,
    e.reason,
    e.counted,
    e.session,
    e.template
  from errors_under($ruleset) as e
  inner join asked as a
    on e.occurred_at >= a.since
    and e.occurred_at < a.until
  where e.occurred_at >= (select min(since) from asked)
    and e.occurred_at < (select max(until) from asked)
),

-- Everything that names a session; of errors their own, as some have none but their chain or their file.
sign as (
  select
    a.place,
    coalesce(json_extract_string(e.payload, '$.caller'), '(none)') as caller,
    e.session_id as session,
    e.type = 'session.observed' as observed
  from events as e
  inner join asked as a
    on e.occurred_at >= a.since
    and e.occurred_at < a.until
  where (
    e.type = 'session.observed'
    or starts_with(e.type, 'retry.')
    or starts_with(e.type, 'relay.')
  )
    and e.session_id is not null
    and e.occurred_at >= (select min(since) from asked)
    and e.occurred_at < (select max(until) from asked)
  union all
  select
    place,
    caller,
    session,
    false as observed
  from error
),

met as (
  select
    place,
    caller,
    count(distinct session) as error_sessions,
    count(distinct (session, template)) as groups
  from error
  where counted
  group by all
),

worked as (
  select
    place,
    caller,
    count(distinct session) as sessions,
    count(distinct session) filter (where observed) as observed
  from sign
  group by all
)

select
  w.place,
  w.caller,
  '' as provider,
  '' as model,
  cast(null as varchar) as reason,
  w.sessions,
  w.observed,
  coalesce(m.error_sessions, 0) as error_sessions,
  coalesce(m.groups, 0) as groups
from worked as w
left join met as m
  on w.place = m.place
  and w.caller = m.caller
union all
select
  place,
  caller,
  provider,
  model,
  reason,
  count(distinct session) as sessions,
  0 as observed,
  count(distinct session) as error_sessions,
  count(distinct (session, template)) as groups
from error
where counted
group by all
order by place, caller, provider, model, reason
