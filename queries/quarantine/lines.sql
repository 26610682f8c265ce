-- title: Rejected lines
-- description: Stretches of logs that could not be read, with the place and the reason.
-- param limit BIGINT = 100 : lines at most
-- column source_path VARCHAR: the file
-- column line BIGINT: 1-based line
-- column byte_offset BIGINT: where it begins, in decompressed bytes
-- column byte_length BIGINT: how long it is
-- column why VARCHAR: a code
-- column detail VARCHAR: what exactly
-- column text VARCHAR: its beginning, redacted
select
  source_path,
  line,
  byte_offset,
  byte_length,
  why,
  detail,
  text
from quarantine
order by source_path, line, byte_offset
limit $limit
