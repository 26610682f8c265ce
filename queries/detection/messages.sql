-- title: Texts of some messages
-- description: The latest text of each message, by caller: what a report quotes behind its findings.
-- param templates VARCHAR = null : fingerprints as a JSON array of texts; null for all
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: who made the calls
-- column template VARCHAR: fingerprint of the message
-- column message VARCHAR: the latest text of it, redacted and capped
select
  caller,
  coalesce(fingerprint, '') as template,
  arg_max(message, (occurred_at, event_id)) as message
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($templates is null or coalesce(fingerprint, '') in (select unnest(from_json($templates, '["VARCHAR"]'))))
group by all
order by caller, template
