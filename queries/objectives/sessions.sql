-- title: Sessions for objectives
-- description: Sessions that ended in a window, how many of them did not do their work, and what they waited, by caller. A session did not if it stopped in the middle of something, says success and did nothing, or if its last retry chain failed and no request followed.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- column caller VARCHAR: whose sessions; (none) where the log does not say
-- column sessions BIGINT: sessions that ended
-- column undone BIGINT: of these, the ones that did not do their work
-- column waited_seconds DOUBLE: seconds that their retry chains waited
with met as (
  select
    session_id,
    mode(caller order by caller) as caller
  from errors
  group by session_id
),

-- Of a session whose log names no caller, it is the one with most of its errors.
session as (
  select
    s.session_id,
    coalesce(s.caller, m.caller, '(none)') as caller
  from sessions as s
  left join met as m
    on s.session_id = m.session_id
  where ($since is null or s.ended_at >= $since)
    and ($until is null or s.ended_at < $until)
    and ($caller is null or coalesce(s.caller, m.caller, '(none)') = $caller)
),

chain as (
  select
    session_id,
    arg_max(outcome, (started_at, operation)) as last_outcome,
    arg_max(coalesce(ended_at, started_at), (started_at, operation)) as last_at,
    sum(waited_seconds) as waited_seconds
  from retries
  where session_id in (select session_id from session)
  group by session_id
),

request as (
  select
    session_id,
    max(occurred_at) as last_at
  from usage
  where session_id in (select session_id from session)
  group by session_id
)

select
  s.caller,
  count(*) as sessions,
  count(*) filter (
    where s.session_id in (select session_id from endings where ending <> 'grown_compaction')
      or (c.last_outcome in ('exhausted', 'surfaced', 'escalated') and coalesce(r.last_at <= c.last_at, true))
  ) as undone,
  coalesce(round(sum(c.waited_seconds), 3), 0) as waited_seconds
from session as s
left join chain as c
  on s.session_id = c.session_id
left join request as r
  on s.session_id = r.session_id
group by s.caller
order by s.caller
