-- title: Likely cause, compared with other callers and providers
-- description: Errors of a day at one provider, with the party that they name, and the likely cause: if many callers fail at one provider, it is the provider; if one caller of many fails, it is the caller.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only errors that this caller met; its company stays
-- param provider VARCHAR = null : only errors at this provider; the others stay its company
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param limit BIGINT = 20 : rows at most
-- column day DATE: day in the time zone
-- column provider VARCHAR: who serves the model; (none) where no log says
-- column named_party VARCHAR: whom the errors by themselves name: provider, account, network, request, environment, user or unknown
-- column party VARCHAR: the likely cause, compared with other callers and providers
-- column reason VARCHAR: the most frequent reason among them
-- column errors BIGINT: classified errors
-- column failed_sessions BIGINT: distinct sessions with such an error
-- column sessions BIGINT: sessions at work at this provider on the day, failed or not
-- column failed_callers BIGINT: callers a quarter of whose sessions or more met such an error
-- column callers BIGINT: callers at work at this provider
-- column other_failed_sessions BIGINT: sessions at other providers with errors that name the same party
-- column other_sessions BIGINT: sessions at work at other providers
-- column first_at TIMESTAMP: the earliest error, UTC
-- column last_at TIMESTAMP: the latest one, UTC
with error as (
  select
    case
      when $timezone = 'UTC' then cast(occurred_at as date)
      else cast(timezone($timezone, timezone('UTC', occurred_at)) as date)
    end as day,
    occurred_at,
    coalesce(session_id, operation) as session,
    caller,
    coalesce(provider, '(none)') as provider,
    reason,
    detail,
    party
  from errors
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
),

-- Whoever was at work at a provider on a day: who met an error, and who only began a session.
at_work as (
  select
    day,
    provider,
    caller,
    session
  from error
  union
  select
    case
      when $timezone = 'UTC' then cast(started_at as date)
      else cast(timezone($timezone, timezone('UTC', started_at)) as date)
    end as day,
    coalesce(provider, '(none)') as provider,
    coalesce(caller, '(none)') as caller,
    session_id as session
  from sessions
  where ($since is null or started_at >= $since)
    and ($until is null or started_at < $until)
),

by_caller as (
  select
    day,
    provider,
    caller,
    count(session) as sessions
  from at_work
  group by all
),

failed_by_caller as (
  select
    day,
    provider,
    party,
    caller,
    count(distinct session) as sessions
  from error
  group by all
),

hit as (
  select
    f.day,
    f.provider,
    f.party,
    count(*) filter (where f.sessions >= 0.25 * w.sessions) as failed_callers,
    sum(f.sessions) as failed_sessions,
    max(f.sessions) as most_failed_sessions,
    bool_or($caller is null or f.caller = $caller) as is_asked
  from failed_by_caller as f
  inner join by_caller as w
    on f.day = w.day
    and f.provider = w.provider
    and f.caller = w.caller
  group by all
),

whole as (
  select
    day,
    provider,
    count(*) as callers,
    sum(sessions) as sessions,
    max(sessions) as most_sessions
  from by_caller
  group by all
),

-- What is most frequent is told from few rows: a mode looks at each error.
alike as (
  select
    *,
    sum(errors) over (partition by day, provider, party, reason) as of_reason,
    sum(errors) over (partition by day, provider, party, detail) as of_detail
  from (
    select
      day,
      provider,
      party,
      reason,
      detail,
      count(*) as errors,
      min(occurred_at) as first_at,
      max(occurred_at) as last_at
    from error
    group by all
  )
),

met as (
  select
    day,
    provider,
    party,
    cast(sum(errors) as bigint) as errors,
    first(reason order by of_reason desc, reason) as reason,
    first(detail order by of_detail desc, detail) filter (where detail is not null) as detail,
    min(first_at) as first_at,
    max(last_at) as last_at
  from alike
  group by all
),

company as (
  select
    m.*,
    h.failed_sessions,
    h.failed_callers,
    h.most_failed_sessions,
    w.sessions,
    w.callers,
    coalesce((
      select sum(o.sessions)
      from whole as o
      where o.day = m.day and o.provider not in (m.provider, '(none)')
    ), 0) as other_sessions,
    coalesce((
      select sum(o.failed_sessions)
      from hit as o
      where o.day = m.day and o.provider not in (m.provider, '(none)') and o.party = m.party
    ), 0) as other_failed_sessions
  from met as m
  inner join hit as h
    on m.day = h.day
    and m.provider = h.provider
    and m.party = h.party
  inner join whole as w
    on m.day = w.day
    and m.provider = w.provider
  where h.is_asked
    and ($provider is null or m.provider = $provider)
),

judged as (
  select
    *,
    -- Three callers, most of those at work there, and a quarter of the sessions; elsewhere a quarter of that at most.
    failed_callers >= 3
      and failed_callers >= 0.6 * callers
      and failed_sessions >= 0.25 * sessions
      and other_sessions >= 10
      and other_failed_sessions * sessions * 4 <= failed_sessions * other_sessions as is_wide,
    -- One caller of three or more, with as many sessions of others at least, of which a tenth failed at most.
    failed_callers = 1
      and callers >= 3
      and sessions >= 2 * most_failed_sessions
      and failed_sessions - most_failed_sessions <= 0.1 * (sessions - most_failed_sessions) as is_alone
  from company
)

select
  day,
  provider,
  party as named_party,
  case
    when is_wide and party in ('network', 'unknown', 'request') then 'provider'
    when is_alone and party = 'unknown' then 'request'
    when is_alone and party = 'provider' and coalesce(detail, '') <> 'overloaded' then 'request'
    else party
  end as party,
  reason,
  errors,
  cast(failed_sessions as bigint) as failed_sessions,
  cast(sessions as bigint) as sessions,
  failed_callers,
  callers,
  cast(other_failed_sessions as bigint) as other_failed_sessions,
  cast(other_sessions as bigint) as other_sessions,
  first_at,
  last_at
from judged
order by failed_sessions desc, errors desc, day desc, provider, named_party
limit $limit
