-- title: Messages on one side only
-- description: What errors said in at least so many sessions of one side and in none of the other; those in most sessions come first.
-- param before_since TIMESTAMP = null : first instant of the first side, inclusive, UTC
-- param before_until TIMESTAMP = null : last instant of the first side, exclusive, UTC
-- param after_since TIMESTAMP = null : first instant of the second side, inclusive, UTC
-- param after_until TIMESTAMP = null : last instant of the second side, exclusive, UTC
-- param dimension VARCHAR = null : agent, agent_version, model, provider, project, branch or caller; null: only time
-- param before VARCHAR = null : its value on the first side; null: any
-- param after VARCHAR = null : its value on the second side; null: any
-- param caller VARCHAR = null : only this caller
-- param least BIGINT = 2 : sessions at least
-- column side VARCHAR: the side that has it: before (it went) or after (it came)
-- column fingerprint VARCHAR: id of the message's template
-- column reason VARCHAR: one of the eight
-- column message VARCHAR: what all of them say, redacted and cut, with <*> for what differs
-- column sessions BIGINT: distinct sessions
-- column errors BIGINT: classified errors
-- column first_at TIMESTAMP: the first one, UTC
with session as (
  select
    *,
    case $dimension
      when 'agent' then agent
      when 'agent_version' then agent_version
      when 'model' then model
      when 'provider' then provider
      when 'project' then project
      when 'branch' then branch
      when 'caller' then caller
    end as value
  from sessions
  where ($caller is null or caller = $caller)
),

side as (
  select 'before' as side, *
  from session
  where ($before_since is null or started_at >= $before_since)
    and ($before_until is null or started_at < $before_until)
    and ($before is null or value = $before)
  union all
  select 'after' as side, *
  from session
  where ($after_since is null or started_at >= $after_since)
    and ($after_until is null or started_at < $after_until)
    and ($after is null or value = $after)
),

message as (
  select
    e.fingerprint,
    if(min(e.message) = max(e.message), max(e.message), max(e.template)) as message,
    mode(e.reason) as reason,
    count(distinct s.session_id) filter (where s.side = 'before') as sessions_before,
    count(distinct s.session_id) filter (where s.side = 'after') as sessions_after,
    count(*) as errors,
    min(e.occurred_at) as first_at
  from side as s
  inner join errors as e
    on s.session_id = e.session_id
  where e.fingerprint is not null
    and e.detail is distinct from 'aborted'
  group by e.fingerprint
)

select
  if(sessions_after = 0, 'before', 'after') as side,
  fingerprint,
  reason,
  message,
  sessions_before + sessions_after as sessions,
  errors,
  first_at
from message
where least(sessions_before, sessions_after) = 0
  and sessions_before + sessions_after >= $least
order by side desc, sessions desc, errors desc, fingerprint
