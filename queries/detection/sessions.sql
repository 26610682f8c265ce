-- title: Where sessions were at work
-- description: Some sessions with the format of their log, the agent, and the place of their work.
-- param sessions VARCHAR = null : ids of sessions, as a JSON array; null for all
-- column session VARCHAR: the agent's session
-- column source_format VARCHAR: format of its log, as in claude_code; null where no file gave it
-- column agent VARCHAR: the program that was at work; null where the log does not say
-- column project VARCHAR: the last name of the working directory; null where the log does not say
-- column cwd VARCHAR: the working directory, with ~ for a home; null where the log does not say
with asked as (
  select
    session_id,
    agent,
    project,
    cwd
  from sessions
  where $sessions is null
    or session_id in (select unnest(from_json($sessions, '["VARCHAR"]')))
),

format as (
  select
    session_id,
    min(source_format) as source_format
  from events
  where session_id in (select session_id from asked)
    and source_path is not null
  group by session_id
)

select
  asked.session_id as session,
  format.source_format,
  asked.agent,
  asked.project,
  asked.cwd
from asked
left join format on asked.session_id = format.session_id
order by asked.session_id
