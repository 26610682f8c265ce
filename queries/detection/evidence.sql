-- title: Errors of findings
-- description: The errors that each of some findings is about, one row a message template, the one that most sessions show first.
-- param asked VARCHAR = null : what to look for, as a JSON array of objects with place, caller, template, session, provider, model, project, host, rule, reason (unknown errors only if they count), since and until; null or absent keys select everything
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- param limit BIGINT = 5 : templates at most, for each that was asked for
-- param ids BIGINT = 3 : events at most that are named of a template
-- column place BIGINT: which of those that were asked for
-- column template VARCHAR: fingerprint of the message
-- column message VARCHAR: a sample: the latest text of it, redacted and capped
-- column varies BOOLEAN: whether others of them say it with other values; null without a message
-- column confidence VARCHAR: how sure the verdicts are: weak where a bare status or exit code or weak words decided over any of them, else strong; null where no rule matched, or nobody said
-- column sessions BIGINT: distinct sessions
-- column events BIGINT: errors
-- column event_ids VARCHAR: the first of its events, as many as asked for, a space between them
-- column first_at TIMESTAMP: of all that it is about, whatever their template, the first error, UTC
-- column last_at TIMESTAMP: likewise the last one
-- column all_sessions BIGINT: likewise distinct sessions
-- column all_events BIGINT: likewise errors
with asked as materialized (
  select
    coalesce(one.place, 0) as place,
    one.caller,
    one.template,
    one.session,
    one.provider,
    one.model,
    one.project,
    one.host,
    one.rule,
    one.reason,
    coalesce(one.since, timestamp '0001-01-01') as since,
    coalesce(one.until, timestamp '9999-01-01') as until
  from (
    select unnest(from_json(
      coalesce($asked, '[{}]'),
      '[{"place":"BIGINT","caller":"VARCHAR","template":"VARCHAR","session":"VARCHAR","provider":"VARCHAR","model":"VARCHAR","project":"VARCHAR","host":"VARCHAR","rule":"VARCHAR","reason":"VARCHAR","since":"TIMESTAMP","until":"TIMESTAMP"}]'
    )) as one
  )
),

-- Read once for all; by caller and template at once where both are asked for, as of one caller there may be thousands.
error as materialized (
  select
    event_id,
    occurred_at,
    caller,
    session,
    template,
    message,
    rule,
    reason,
    confidence,
    provider,
    model,
    project,
    host
  from errors_under($ruleset)
  where counted
    and occurred_at >= (select min(since) from asked)
    and occurred_at < (select max(until) from asked)
    and (
      caller in (select a.caller from asked as a)
      or (select bool_or(a.caller is null) from asked as a)
    )
),

found as (
  select
    a.place,
    a.session as asked_session,
    a.provider as asked_provider,
    a.model as asked_model,
    a.project as asked_project,
    a.host as asked_host,
    a.rule as asked_rule,
    a.reason as asked_reason,
    e.*
  from asked as a
  inner join error as e
    on a.caller = e.caller
    and a.template = e.template
    and e.occurred_at >= a.since
    and e.occurred_at < a.until
  union all
  select
    a.place,
    a.session as asked_session,
    a.provider as asked_provider,
    a.model as asked_model,
    a.project as asked_project,
    a.host as asked_host,
    a.rule as asked_rule,
    a.reason as asked_reason,
    e.*
  from (from asked where template is null) as a
  inner join error as e
    on a.caller = e.caller
    and e.occurred_at >= a.since
    and e.occurred_at < a.until
  union all
  select
    a.place,
    a.session as asked_session,
    a.provider as asked_provider,
    a.model as asked_model,
    a.project as asked_project,
    a.host as asked_host,
    a.rule as asked_rule,
    a.reason as asked_reason,
    e.*
  from (from asked where caller is null) as a
  inner join error as e
    on e.occurred_at >= a.since
    and e.occurred_at < a.until
    and (a.template is null or e.template = a.template)
),

own as materialized (
  from found
  where (asked_session is null or session = asked_session)
    and (asked_provider is null or provider = asked_provider)
    and (asked_model is null or model = asked_model)
    and (asked_project is null or project = asked_project)
    and (asked_host is null or host = asked_host)
    and (asked_rule is null or rule = asked_rule)
    and (asked_reason is null or reason = asked_reason)
),

whole as (
  select
    place,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at,
    count(distinct session) as all_sessions,
    count(*) as all_events
  from own
  group by place
)

select
  o.place,
  o.template,
  arg_max(o.message, (o.occurred_at, o.event_id)) as message,
  min(o.message) <> max(o.message) as varies,
  max(o.confidence) as confidence,
  count(distinct o.session) as sessions,
  count(*) as events,
  array_to_string(list_slice(list(o.event_id order by o.occurred_at, o.event_id), 1, $ids), ' ') as event_ids,
  any_value(w.first_at) as first_at,
  any_value(w.last_at) as last_at,
  any_value(w.all_sessions) as all_sessions,
  any_value(w.all_events) as all_events
from own as o
inner join whole as w
  on o.place = w.place
group by
  o.place,
  o.template
qualify row_number() over (partition by o.place order by sessions desc, events desc, o.template) <= $limit
order by o.place, sessions desc, events desc, o.template
