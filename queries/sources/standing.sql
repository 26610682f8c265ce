-- title: Last ingest and quarantine
-- description: One row: when a log last gave anything to read, how many logs are known, and how many lines lie in quarantine.
-- column last_ingested_at TIMESTAMP: the latest reading of a log that had something new, UTC; null without any log
-- column sources BIGINT: logs
-- column quarantine_rows BIGINT: stretches of logs that could not be read
with source as (
  select
    max(last_ingested_at) as last_ingested_at,
    count(*) as sources
  from sources
),

rejected as (
  select count(*) as quarantine_rows
  from quarantine
)

select
  source.last_ingested_at,
  source.sources,
  rejected.quarantine_rows
from source, rejected
order by source.last_ingested_at
