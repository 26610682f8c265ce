-- title: Errors behind findings
-- description: The errors that each of some findings is about, one row a message template, the one that most sessions show first.
-- param asked VARCHAR = null : what to look for, as a JSON array of objects with place, caller, template, session, provider, model, project, host, rule, reason (of unknown errors those that count), since and until; what is null or absent narrows nothing, and null alone asks for everything
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts count; null for the active one
-- param limit BIGINT = 5 : templates at most, for each that was asked for
-- column place BIGINT: which of those that were asked for
-- column template VARCHAR: fingerprint of the message
-- column message VARCHAR: a sample: the latest text of it, redacted and capped
-- column varies BOOLEAN: whether others of them say it with other values; null without a message
-- column confidence VARCHAR: how sure the verdicts are: weak where a bare status or exit code or weak words decided over any of them, else strong; null where no rule matched, or nobody said
-- column sessions BIGINT: distinct sessions
-- column events BIGINT: errors
-- column event_ids VARCHAR: the first of its events, three at most, a space between them
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
    counted,
    provider,
    model,
    project,
    host
  from errors_under($ruleset)
  where occurred_at >= (select min(since) from asked)
    and occurred_at < (select max(until) from asked)
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
)

select
  place,
  template,
  arg_max(message, (occurred_at, event_id)) as message,
  min(message) <> max(message) as varies,
  max(confidence) as confidence,
  count(distinct session) as sessions,
  count(*) as events,
  array_to_string(arg_min(event_id, (occurred_at, event_id), 3), ' ') as event_ids
from found
where (asked_session is null or session = asked_session)
  and (asked_provider is null or provider = asked_provider)
  and (asked_model is null or model = asked_model)
  and (asked_project is null or project = asked_project)
  and (asked_host is null or host = asked_host)
  and (asked_rule is null or rule = asked_rule)
  and (asked_reason is null or (reason = asked_reason and (counted or reason <> 'unknown')))
group by
  place,
  template
qualify row_number() over (partition by place order by sessions desc, events desc, template) <= $limit
order by place, sessions desc, events desc, template
