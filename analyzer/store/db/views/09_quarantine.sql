-- view quarantine: One row a stretch of a log that could not be read.
-- column source_path VARCHAR: The file.
-- column line BIGINT: 1-based line.
-- column byte_offset BIGINT: Where it begins, in decompressed bytes.
-- column byte_length BIGINT: How long it is.
-- column why VARCHAR: A code: torn, torn_tail, glued, trailing_garbage, not_json, not_an_object, nul_bytes, byte_order_mark, invalid_utf8, lone_surrogate, bad_number, too_deep, too_many_items, duplicate_key, crc_mismatch, missing_type, bad_payload, bad_count, bad_session, bad_timestamp, line_too_long, upcast_failed, conflict, poison.
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
