-- title: Repeats of messages, second by second
-- description: When some sessions showed their errors: how a burst went on.
-- param sessions VARCHAR = null : sessions as a JSON array of texts; null for all
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: who made the calls
-- column session VARCHAR: the agent's session, else the retry chain, else the file
-- column template VARCHAR: fingerprint of the message
-- column second_at TIMESTAMP: the second, UTC
-- column events BIGINT: errors
select
  caller,
  coalesce(session_id, operation, source_path, '') as session,
  coalesce(fingerprint, '') as template,
  date_trunc('second', occurred_at) as second_at,
  count(*) as events
from errors
where ($since is null or occurred_at >= $since)
  and ($until is null or occurred_at < $until)
  and ($sessions is null or coalesce(session_id, operation, source_path, '') in (select unnest(from_json($sessions, '["VARCHAR"]'))))
group by all
order by caller, session, template, second_at
