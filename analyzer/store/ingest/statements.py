"""Build the statements that put a batch into the store, and the schemas of their frames.

Frames: `staged_event` (`batch.STAGED` and `place`), `staged_reject`, `staged_source`, `bad_line`.
The table `repeated` has the places of events that are not new, and says of each whether the stored event was read out
of the very same line before (`is_origin`); `claimed` the ids of events that get
another id, with the place of staged events and without one for stored events.
"""

from __future__ import annotations

from analyzer.events.model import SCHEMA_VERSION
from analyzer.events.payloads import EVENT_TYPES
from analyzer.store.db.frames import sql
from analyzer.store.db.tables.columns import filled
from analyzer.store.ingest.batch import STORED

_KNOWN_TYPES = ", ".join(f"'{name}'" for name in sorted(EVENT_TYPES))
_FACTS_ID = "case when facts is not null then md5(facts) end"
SOURCE_SCHEMA = {
    "source_id": "Int64",
    **dict.fromkeys(("path", "format", "status", "detail", "codec"), "String"),
    "generation": "Int32",
    "fingerprint": "String",
    "fingerprint_length": "Int64",
    "mark": "String",
    **dict.fromkeys(("mark_length", "read_bytes", "read_lines"), "Int64"),
    "line_open": "Boolean",
    **dict.fromkeys(("torn_bytes", "size", "mtime_ns", "ctime_ns"), "Int64"),
    "state": "String",
    **dict.fromkeys((*STORED, "pending_bytes"), "Int64"),
    "incident": "String",
    **dict.fromkeys(("incident_at", "first_ingested_at", "last_ingested_at"), "Datetime"),
    "batch_id": "String",
}
QUARANTINE_SCHEMA = {
    "source_id": "Int64",
    "source_path": "String",
    "line": "Int64",
    "byte_offset": "Int64",
    "byte_length": "Int64",
    "why": "String",
    "detail": "String",
    "text": "String",
    "ingested_at": "Datetime",
}
_KEPT = {"source_id", "first_ingested_at", "incident", "incident_at"}
# An incident stays on record; the first moment of the latest one counts.
UPDATE_SOURCES = sql(
    "update internal.source_v1 as t set {values}, incident = coalesce(s.incident, t.incident),"
    " incident_at = case when s.incident is null or s.incident = t.incident then t.incident_at else s.incident_at end"
    " from staged_source as s where t.source_id = s.source_id",
    values=", ".join(
        f"{name} = {f't.{name} + ' if name in STORED else ''}s.{name}" for name in SOURCE_SCHEMA if name not in _KEPT
    ),
)
INSERT_SOURCES = sql(
    "insert into internal.source_v1 ({names})"
    " select s.* from staged_source as s anti join internal.source_v1 as k on s.source_id = k.source_id",
    names=", ".join(SOURCE_SCHEMA),
)
CHECK_SOURCES = """
select
  count(*),
  coalesce(bool_and(
    t.lines = t.event_lines + t.duplicates + t.quarantined + t.blank + t.skipped
    and t.bytes = t.event_bytes + t.duplicate_bytes + t.quarantined_bytes + t.blank_bytes + t.skipped_bytes
    and t.bytes = t.read_bytes
    and t.lines = t.read_lines
  ), true)
from internal.source_v1 as t
inner join staged_source as s
  on t.source_id = s.source_id
  and t.batch_id = s.batch_id
  and t.read_bytes = s.read_bytes
"""

CLAIMED = "claimed:"
"""Prefix of the id of an event whose log claimed the id of an event derived from a foreign record.
"""
OTHER_CONTENT = (
    "row(r.type, r.occurred_at, r.session_id, r.payload, r.facts_id)"
    " is distinct from row(f.type, f.occurred_at, f.session_id, f.payload, f.facts_id)"
)
"""Selects events `r` that differ from `f`, the first one of the same id."""
# Ids begin with their time, so that most of a large store lies outside of these bounds and is never looked at.
COUNT_KNOWN = """
select count(*)
from internal.event_v1 as e
semi join staged_event as s
  on e.event_id = s.event_id
where e.event_id between $1 and $2
"""
_MET = sql(
    """
with stored as (
  select
    case when c.event_id is not null then '{claimed}' || e.event_id else e.event_id end as event_id,
    e.type,
    e.occurred_at,
    e.session_id,
    e.payload,
    e.facts_id,
    e.source_path,
    e.source_line,
    e.source_format = 'analyzer' as own
  from internal.event_v1 as e
  semi join staged_event as s
    on e.event_id = s.event_id
  left join (from claimed where place is null) as c
    on e.event_id = c.event_id
    and e.source_format = 'analyzer'
  where e.event_id between $1 and $2
),

read as (
  select
    event_id,
    type,
    moment::timestamp as occurred_at,
    session_id,
    payload,
    {facts_id} as facts_id,
    source_path,
    source_line,
    source_format = 'analyzer' as own,
    place,
    row_number() over (partition by event_id order by place) as nth
  from staged_event
),
""",
    claimed=CLAIMED,
    facts_id=_FACTS_ID,
)
# The order of reading must not matter: a forged line in a log may come before the foreign record.
FILL_CLAIMED = sql(
    """
insert into claimed
{met}
derived as (
  from stored
  where not own
  union all
  select * exclude (place, nth)
  from read
  anti join (from stored where not own) using (event_id)
  where not own
  qualify row_number() over (partition by event_id order by place) = 1
)
select r.event_id, r.place
from (
  select *, null as place from stored
  union all
  select * exclude (nth) from read
) as r
inner join derived as f
  on r.event_id = f.event_id
where r.own and {other_content}
""",
    met=_MET,
    other_content=OTHER_CONTENT,
)
RENAME_CLAIMED = sql(
    """
update internal.event_v1
set event_id = '{claimed}' || event_id
where event_id in (select event_id from claimed where place is null) and source_format = 'analyzer'
""",
    claimed=CLAIMED,
)
FILL_REPEATED = sql(
    """
insert into repeated
{met}
first as (
  from stored
  union all
  select * exclude (place, nth) from read anti join stored using (event_id) where nth = 1
)
select
  r.place,
  -- A later version may derive something else from a foreign record; what a log says never changes.
  (r.own or f.own) and {other_content},
  $3
  and r.nth = 1
  and not r.own
  and row(r.source_path, r.source_line) is not distinct from row(f.source_path, f.source_line)
from read as r
inner join first as f
  on r.event_id = f.event_id
left join (select distinct event_id from stored) as k
  on r.event_id = k.event_id
where r.nth > 1 or k.event_id is not null
""",
    met=_MET,
    other_content=OTHER_CONTENT,
)
COUNT_LINES = """
with line as (
  select
    s.source_id,
    s.line,
    count(*) filter (r.place is null or r.is_origin) as events,
    any_value(s.byte_length + s.newline_bytes) as bytes,
    coalesce(bool_or(r.conflict), false) as conflict
  from staged_event as s
  left join repeated as r
    on s.place = r.place
  group by s.source_id, s.line, case when s.line is null then s.place end
)
select
  l.source_id,
  sum(l.events),
  count(*) filter (whole and l.events > 0 and not l.conflict),
  coalesce(sum(l.bytes) filter (whole and l.events > 0 and not l.conflict), 0),
  count(*) filter (whole and l.events = 0 and not l.conflict),
  coalesce(sum(l.bytes) filter (whole and l.events = 0 and not l.conflict), 0),
  count(*) filter (whole and l.conflict),
  coalesce(sum(l.bytes) filter (whole and l.conflict), 0)
from (
  select l.*, l.line is not null and b.line is null as whole
  from line as l
  left join bad_line as b
    on l.source_id = b.source_id
    and l.line = b.line
) as l
group by l.source_id
"""
_NEW_EVENTS = sql(
    """
select
  event_id,
  type,
  moment::timestamp as occurred_at,
  session_id,
  schema_version,
  writer,
  seq,
  dropped_before,
  host,
  time_source,
  schema_version between 1 and {schema_version} and type in ({known_types}) as recognised,
  payload,
  {facts_id} as facts_id,
  source_format,
  source_path,
  source_line,
  $1 as ingested_at
from staged_event
anti join repeated using (place)
""",
    facts_id=_FACTS_ID,
    schema_version=f"{SCHEMA_VERSION}",
    known_types=_KNOWN_TYPES,
)
INSERT_EVENTS = filled("event_v1", _NEW_EVENTS)
_NEW_FACTS = sql(
    """
select s.facts_id, any_value(s.facts) as facts
from (
  select {facts_id} as facts_id, facts
  from staged_event
  anti join repeated using (place)
  where facts is not null
) as s
anti join internal.facts_v1 as f
  on s.facts_id = f.facts_id
group by s.facts_id
""",
    facts_id=_FACTS_ID,
)
INSERT_FACTS = filled("facts_v1", _NEW_FACTS)
