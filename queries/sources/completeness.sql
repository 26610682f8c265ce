-- title: Completeness by source
-- description: What became of every line of every file that was looked at.
-- column source_path VARCHAR: the file
-- column source_format VARCHAR: what its content was recognised as
-- column status VARCHAR: read, unsupported or damaged
-- column lines BIGINT: lines met; the sum of the next five
-- column event_lines BIGINT: lines that gave a new event
-- column duplicates BIGINT: lines whose events were all here already
-- column quarantined BIGINT: lines that could not be read
-- column blank BIGINT: blank lines
-- column skipped BIGINT: irrelevant lines
-- column events BIGINT: new events
-- column bytes BIGINT: bytes read, decompressed
-- column pending_bytes BIGINT: bytes of an unfinished last line
-- column read_share DOUBLE: lines not in quarantine / lines, 0..1; null for an empty file
select
  source_path,
  source_format,
  status,
  lines,
  event_lines,
  duplicates,
  quarantined,
  blank,
  skipped,
  events,
  bytes,
  pending_bytes,
  1 - quarantined / nullif(lines, 0) as read_share
from sources
order by source_path, generation
