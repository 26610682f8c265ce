-- view sources: One row a file that was read, with every line accounted for.
-- column source_path VARCHAR: The file, under its last known name.
-- column source_format VARCHAR: What its content was recognised as.
-- column status VARCHAR: read, or unsupported for a format that is not read yet, damaged for compressed data that breaks off, or vanished for a file that a rebuild found gone or a prune deleted.
-- column detail VARCHAR: More on the status.
-- column incident VARCHAR: The last thing that went wrong with the file: truncated, rewritten, vanished (before it was read to its end) or damaged; null where nothing did.
-- column incident_at TIMESTAMP: When that was first seen, UTC.
-- column generation INTEGER: 0, and one more each time that a file was rewritten under its name.
-- column lines BIGINT: Lines met; the sum of the next five.
-- column event_lines BIGINT: Lines that gave at least one new event.
-- column duplicates BIGINT: Lines whose events were all here already.
-- column quarantined BIGINT: Lines that could not be read, wholly or in part.
-- column blank BIGINT: Blank lines.
-- column skipped BIGINT: Lines of a foreign log that carry nothing for us.
-- column events BIGINT: New events.
-- column bytes BIGINT: Bytes read, decompressed; the sum of the next five, with the newline of each line.
-- column event_bytes BIGINT: Bytes of the lines that gave at least one new event.
-- column duplicate_bytes BIGINT: Bytes of the lines whose events were all here already.
-- column quarantined_bytes BIGINT: Bytes of the lines that could not be read, wholly or in part.
-- column blank_bytes BIGINT: Bytes of blank lines, and newlines that came after their line had been taken.
-- column skipped_bytes BIGINT: Bytes of lines that carry nothing for us.
-- column pending_bytes BIGINT: Bytes of an unfinished last line, which waits for its end.
-- column first_ingested_at TIMESTAMP: When it was first read, UTC.
-- column last_ingested_at TIMESTAMP: When it was last read, UTC.
select
  path as source_path,
  format as source_format,
  status,
  detail,
  incident,
  incident_at,
  generation,
  lines,
  event_lines,
  duplicates,
  quarantined,
  blank,
  skipped,
  events,
  bytes,
  event_bytes,
  duplicate_bytes,
  quarantined_bytes,
  blank_bytes,
  skipped_bytes,
  pending_bytes,
  first_ingested_at,
  last_ingested_at
from internal.source_v1
