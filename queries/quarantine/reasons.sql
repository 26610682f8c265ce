-- title: Rejected lines by reason and source
-- description: How many lines of which file could not be read, and why.
-- column why VARCHAR: a code
-- column source_path VARCHAR: the file
-- column lines BIGINT: stretches of it
-- column bytes BIGINT: their length
-- column first_line BIGINT: the first of them, 1-based
select
  why,
  source_path,
  count(*) as lines,
  cast(sum(byte_length) as bigint) as bytes,
  min(line) as first_line
from quarantine
group by why, source_path
order by lines desc, why, source_path
