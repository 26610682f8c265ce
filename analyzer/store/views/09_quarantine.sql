-- view quarantine: One row a stretch of a log that could not be read.
-- column source_path VARCHAR: The file.
-- column line BIGINT: 1-based line.
-- column byte_offset BIGINT: Where it begins, in decompressed bytes.
-- column byte_length BIGINT: How long it is.
-- column why VARCHAR: A code: torn, not_json, not_an_object, nul_bytes, invalid_utf8, crc_mismatch, too_deep, missing_type, bad_payload, bad_session, bad_timestamp, line_too_long.
-- column detail VARCHAR: What exactly.
-- column text VARCHAR: Its text, redacted and capped.
-- column ingested_at TIMESTAMP: When it was met, UTC.
select
  source_path,
  line,
  byte_offset,
  byte_length,
  why,
  detail,
  text,
  ingested_at
from internal.quarantine_v1
