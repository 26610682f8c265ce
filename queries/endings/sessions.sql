-- title: Sessions that stopped in the middle
-- description: The latest of them, with what stood last in their logs. See one as it went: analyzer show session ID.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param caller VARCHAR = null : only this caller
-- param limit BIGINT = 20 : sessions at most
-- column session_id VARCHAR: the agent's session
-- column ended_at TIMESTAMP: its last sign of life, UTC
-- column ending VARCHAR: endless_retries, in_retry, after_error, after_tool, hollow or grown_compaction
-- column detail VARCHAR: the reason of the last error, the kind of the last failed tool, or no_answer or dead_subagents of hollow ones; null of compactions
-- column attempts BIGINT: calls of the retry chain that has no end
-- column grown_compactions BIGINT: hand-offs after which the context was larger
-- column caller VARCHAR: whose session it is
-- column agent_version VARCHAR: version of the program that was at work
-- column model VARCHAR: the model
select
  session_id,
  ended_at,
  ending,
  detail,
  attempts,
  grown_compactions,
  caller,
  agent_version,
  model
from endings
where ($since is null or ended_at >= $since)
  and ($until is null or ended_at < $until)
  and ($caller is null or caller = $caller)
order by ended_at desc, session_id
limit $limit
