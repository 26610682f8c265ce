-- title: Texts of some messages
-- description: The text of messages, by caller and for all callers, as reports quote it.
-- param templates VARCHAR = null : fingerprints as a JSON array of texts; null for all
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: who made the calls
-- column template VARCHAR: fingerprint of the message
-- column message VARCHAR: what all of them say, redacted and cut, with <*> for what differs
-- column masked VARCHAR: the message without its values
select
  caller,
  coalesce(fingerprint, '') as template,
  if(min(message) = max(message), max(message), max(template)) as message,
  max(template) as masked
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($templates is null or coalesce(fingerprint, '') in (select unnest(from_json($templates, '["VARCHAR"]'))))
group by all
order by caller, template
