-- view events: Every event, one row each, whatever its type.
-- column event_id VARCHAR: Unique id of the event.
-- column type VARCHAR: What happened, as in error.classified or relay.triggered.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column session_id VARCHAR: The agent's session, null where the log names none.
-- column payload VARCHAR: The keys of the type, as JSON; the facts of an error are put back in.
-- column schema_version INTEGER: Version of the line in the log.
-- column writer VARCHAR: The process that wrote it, as host:pid:random.
-- column seq BIGINT: 0-based position among the events of its writer.
-- column host VARCHAR: The machine that wrote it, where the log says so.
-- column time_source VARCHAR: event; where the record names no time log (the record before it, the log's header or the file's name does) or file (the file's time of change).
-- column recognised BOOLEAN: Whether this program knows the type and the version of the line; others are kept as they are.
-- column source_format VARCHAR: The format it was read from, as in analyzer or claude_code.
-- column source_path VARCHAR: The file it was read from; for derived events the foreign file.
-- column source_line BIGINT: 1-based line in that file, null for events of the file as a whole.
-- column ingested_at TIMESTAMP: When it entered this store, UTC.
select
  e.event_id,
  e.type,
  e.occurred_at,
  e.session_id,
  case
    when f.facts is null then e.payload
    when e.payload = '{}' then '{"facts":' || f.facts || '}'
    else left(e.payload, length(e.payload) - 1) || ',"facts":' || f.facts || '}'
  end as payload,
  e.schema_version,
  e.writer,
  e.seq,
  e.host,
  e.time_source,
  e.recognised,
  e.source_format,
  e.source_path,
  e.source_line,
  e.ingested_at
from internal.event_v1 as e
left join internal.facts_v1 as f
  on e.facts_id = f.facts_id
