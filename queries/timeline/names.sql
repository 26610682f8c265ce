-- title: What a timeline can show
-- description: The ids of sessions, findings and chains of retries that begin with some characters.
-- param begins VARCHAR = null : the first characters of an id
-- column kind VARCHAR: session, finding or operation
-- column id VARCHAR: the whole id
with known as (
  select 1 as place, 'session' as kind, session_id as id
  from internal.event_v1
  union
  select 2 as place, 'finding' as kind, finding_id as id
  from findings
  union
  select 3 as place, 'operation' as kind, operation as id
  from internal.event_v1
  where type in ('error.classified', 'retry.scheduled', 'retry.settled')
)

select kind, id
from known
where id is not null and ($begins is null or starts_with(id, $begins))
order by place, id
