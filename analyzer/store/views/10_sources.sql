-- view sources: One row a file that was read, with every line accounted for.
-- column source_path VARCHAR: The file, under its last known name.
-- column source_format VARCHAR: What its content was recognised as.
-- column status VARCHAR: read, or unsupported for a format that is not read yet, damaged for compressed data that breaks off, or vanished for a file that a rebuild found gone or a prune deleted.
-- column detail VARCHAR: More on the status.
-- column generation INTEGER: 0, and one more each time that a file was rewritten under its name.
-- column lines BIGINT: Lines met; the sum of the next five.
-- column event_lines BIGINT: Lines that gave at least one new event.
-- column duplicates BIGINT: Lines whose events were all here already.
-- column quarantined BIGINT: Lines that could not be read, wholly or in part.
-- column blank BIGINT: Blank lines.
-- column skipped BIGINT: Lines of a foreign log that carry nothing for us.
-- column events BIGINT: New events.
-- column bytes BIGINT: Bytes read, decompressed.
-- column pending_bytes BIGINT: Bytes of an unfinished last line, which waits for its end.
-- column first_ingested_at TIMESTAMP: When it was first read, UTC.
-- column last_ingested_at TIMESTAMP: When it was last read, UTC.
select
  path as source_path,
  format as source_format,
  status,
  detail,
  generation,
  lines,
  event_lines,
  duplicates,
  quarantined,
  blank,
  skipped,
  events,
  bytes,
  pending_bytes,
  first_ingested_at,
  last_ingested_at
from internal.source_v1
