-- title: What findings cost
-- description: The sessions with errors of some findings, the failed ones, and all sessions, by the hour in which they began. A session failed if no retry recovered.
-- param asked VARCHAR = null : what to look for, as a JSON array of objects with place, caller, callers (several), template, provider, model, project, host, reason, since and until; null or absent keys select everything
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- column place BIGINT: which of those that were asked for
-- column hour_at TIMESTAMP: beginning of the hour, UTC
-- column sessions BIGINT: sessions that any event names
-- column observed BIGINT: of these, the ones that logs report with or without errors
-- column error_sessions BIGINT: those that met the errors
-- column failed_sessions BIGINT: of these, the ones that no retry recovered
-- column failed_callers VARCHAR: whose sessions these are, a JSON array of names; null without any
-- column failed_usd DOUBLE: what the requests of these sessions cost in US dollars; null where none has a price
-- column failed_at TIMESTAMP: first failure of of these, the ones that no retry recovered; null without any
-- column waited_seconds DOUBLE: seconds waited between the calls of their retry chains
-- column failing_at TIMESTAMP: first failure of the sessions that began after the hour's last one without; null without any
-- column failing_sessions BIGINT: those sessions
-- column reason VARCHAR: what most sessions failed with, of all hours; null without any
with asked as materialized (
  select
    coalesce(one.place, 0) as place,
    one.caller,
    one.callers,
    one.template,
    one.provider,
    one.model,
    one.project,
    one.host,
    one.reason,
    coalesce(one.since, timestamp '0001-01-01') as since,
    coalesce(one.until, timestamp '9999-01-01') as until
  from (
    select unnest(from_json(
      coalesce($asked, '[{}]'),
      '[{"place":"BIGINT","caller":"VARCHAR","callers":["VARCHAR"],"template":"VARCHAR","provider":"VARCHAR","model":"VARCHAR","project":"VARCHAR","host":"VARCHAR","reason":"VARCHAR","since":"TIMESTAMP","until":"TIMESTAMP"}]'
    )) as one
  )
),

error as materialized (
  select
    occurred_at,
    caller,
    session,
    operation,
    template,
    reason,
    counted,
    provider,
    model,
    project,
    host
  from errors_under($ruleset)
  where occurred_at >= (select min(since) from asked)
    and occurred_at < (select max(until) from asked)
),

-- Everything that names a session; of errors their own, as some have none but their chain or their file.
sign as materialized (
  select
    occurred_at,
    coalesce(json_extract_string(payload, '$.caller'), '(none)') as caller,
    session_id as session,
    type = 'session.observed' as observed,
    json_extract_string(payload, '$.operation') as operation,
    type = 'retry.settled' and json_extract_string(payload, '$.outcome') = 'recovered' as recovers,
    if(type = 'retry.scheduled', try_cast(json_extract_string(payload, '$.delay_seconds') as double), null) as delay_seconds,
    if(type = 'retry.settled', try_cast(json_extract_string(payload, '$.waited_seconds') as double), null) as waited_seconds
  from events
  where (
    type = 'session.observed'
    or starts_with(type, 'retry.')
    or starts_with(type, 'relay.')
  )
    and occurred_at >= (select min(since) from asked)
    and occurred_at < (select max(until) from asked)
),

heard as (
  select
    caller,
    session,
    observed,
    occurred_at
  from sign
  where session is not null
  union all
  select
    caller,
    session,
    false as observed,
    occurred_at
  from error
),

there as (
  select
    a.place,
    h.caller,
    h.session,
    min(h.occurred_at) as started_at,
    bool_or(h.observed) as observed
  from asked as a
  inner join heard as h
    on (a.caller is null or h.caller = a.caller)
    and (a.callers is null or list_contains(a.callers, h.caller))
    and h.occurred_at >= a.since
    and h.occurred_at < a.until
  group by all
),

met as (
  select
    a.place,
    a.until,
    e.caller,
    e.session,
    e.operation,
    min(e.occurred_at) as met_at,
    arg_max(e.reason, (e.occurred_at, e.reason)) as reason
  from asked as a
  inner join error as e
    on (a.caller is null or e.caller = a.caller)
    and (a.callers is null or list_contains(a.callers, e.caller))
    and (a.template is null or e.template = a.template)
    and (a.provider is null or e.provider = a.provider)
    and (a.model is null or e.model = a.model)
    and (a.project is null or e.project = a.project)
    and (a.host is null or e.host = a.host)
    and (a.reason is null or e.reason = a.reason)
    and e.occurred_at >= a.since
    and e.occurred_at < a.until
  where e.counted
  group by all
),

chain as (
  select
    m.place,
    m.operation,
    bool_or(s.recovers) as recovered,
    coalesce(max(s.waited_seconds), sum(s.delay_seconds), 0) as waited_seconds
  from (select distinct place, operation, until from met where operation is not null) as m
  inner join sign as s
    on m.operation = s.operation
    and s.occurred_at < m.until
  group by all
),

session as (
  select
    m.place,
    m.caller,
    m.session,
    bool_or(not coalesce(c.recovered, false)) as failed,
    min(m.met_at) filter (where not coalesce(c.recovered, false)) as failed_at,
    max(m.reason) filter (where not coalesce(c.recovered, false)) as reason,
    coalesce(sum(c.waited_seconds), 0) as waited_seconds
  from met as m
  left join chain as c
    on m.place = c.place
    and m.operation = c.operation
  group by all
),

spent as (
  select
    s.place,
    s.caller,
    s.session,
    internal.sum_usd(u.cost_usd) as usd
  from session as s
  inner join asked as a
    on s.place = a.place
  inner join usage as u
    on s.session = u.session_id
    and s.caller = coalesce(u.caller, '(none)')
    and u.occurred_at >= a.since
    and u.occurred_at < a.until
  where s.failed
  group by
    s.place,
    s.caller,
    s.session
),

named as (
  select
    place,
    reason
  from session
  where failed
  group by
    place,
    reason
  qualify row_number() over (partition by place order by count(*) desc, reason) = 1
),

dated as (
  select
    t.place,
    date_trunc('hour', t.started_at) as hour_at,
    t.started_at,
    t.caller,
    t.observed,
    s.session is not null as met,
    coalesce(s.failed, false) as failed,
    s.failed_at,
    p.usd,
    coalesce(s.waited_seconds, 0) as waited_seconds,
    max(if(coalesce(s.failed, false), null, t.started_at))
      over (partition by t.place, date_trunc('hour', t.started_at)) as good_at
  from there as t
  left join session as s
    on t.place = s.place
    and t.caller = s.caller
    and t.session = s.session
  left join spent as p
    on t.place = p.place
    and t.caller = p.caller
    and t.session = p.session
)

select
  d.place,
  d.hour_at,
  count(*) as sessions,
  count(*) filter (where d.observed) as observed,
  count(*) filter (where d.met) as error_sessions,
  count(*) filter (where d.failed) as failed_sessions,
  cast(to_json(list_sort(list(distinct d.caller) filter (where d.failed))) as varchar) as failed_callers,
  internal.sum_usd(d.usd) as failed_usd,
  min(d.failed_at) as failed_at,
  -- Milliseconds: sums of fractions end differently with the order of their terms.
  round(sum(d.waited_seconds), 3) as waited_seconds,
  min(d.failed_at) filter (where d.failed and (d.good_at is null or d.started_at > d.good_at)) as failing_at,
  count(*) filter (where d.failed and (d.good_at is null or d.started_at > d.good_at)) as failing_sessions,
  any_value(n.reason) as reason
from dated as d
left join named as n
  on d.place = n.place
group by
  d.place,
  d.hour_at
order by d.place, d.hour_at
