-- title: Context recoveries by caller and strategy
-- description: Conversations that were made to fit again, or could not be, and what that took out.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- column caller VARCHAR: whose conversations they were
-- column strategy VARCHAR: what was done; (none) where nothing could be
-- column attempts BIGINT: attempts, those that failed among them
-- column recovered BIGINT: attempts after which the conversation fitted
-- column sessions BIGINT: distinct sessions
-- column most_in_one_session BIGINT: the highest number of attempts of the strategy in one session
-- column mean_pre_tokens DOUBLE: tokens before, on average; null where no log says
-- column mean_post_tokens DOUBLE: tokens after, on average of those that fitted; null where no log says
-- column removed_messages BIGINT: messages taken out; null where no log says
-- column truncated_messages BIGINT: messages cut short; null where no log says
-- column last_at TIMESTAMP: the latest attempt, UTC
with counted as (
  select
    *,
    count(*) over (partition by caller, strategy, session_id) as in_session
  from context_recoveries
  where ($since is null or occurred_at >= $since)
    and ($until is null or occurred_at < $until)
)

select
  caller,
  coalesce(strategy, '(none)') as strategy,
  count(*) as attempts,
  count(*) filter (where recovered) as recovered,
  count(distinct session_id) as sessions,
  max(in_session) as most_in_one_session,
  avg(pre_tokens) as mean_pre_tokens,
  avg(post_tokens) as mean_post_tokens,
  sum(removed_messages)::bigint as removed_messages,
  sum(truncated_messages)::bigint as truncated_messages,
  max(occurred_at) as last_at
from counted
group by caller, strategy
order by attempts desc, caller, strategy
