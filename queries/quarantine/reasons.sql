-- title: Rejected lines by reason and source
-- description: How many lines of which file could not be read, why, and since when.
-- column why VARCHAR: a code
-- column source_path VARCHAR: the file
-- column lines BIGINT: stretches of it
-- column bytes BIGINT: their length
-- column first_line BIGINT: the first of them, 1-based
-- column first_met_at TIMESTAMP: when the first was met, UTC
-- column last_met_at TIMESTAMP: when the last was met, UTC
select
  why,
  source_path,
  count(*) as lines,
  cast(sum(byte_length) as bigint) as bytes,
  min(line) as first_line,
  min(ingested_at) as first_met_at,
  max(ingested_at) as last_met_at
from quarantine
group by why, source_path
order by lines desc, why, source_path
