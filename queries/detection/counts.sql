-- title: What detection counts, by day and caller
-- description: Distinct sessions and groups with an error, and of them those with an unknown one: as it was recorded, and as a ruleset judges all of history. A group is a distinct pair of session and fingerprint, so that one session that repeats an error counts once. Errors without facts take part from the first one of their caller's newest recorded ruleset on, and before it where they have the same one.
-- param since TIMESTAMP = null : first instant, inclusive, UTC
-- param until TIMESTAMP = null : last instant, exclusive, UTC
-- param timezone VARCHAR = 'UTC' : time zone in which days begin and end
-- param ruleset VARCHAR = null : digest of the ruleset whose verdicts make the replayed figures; null for the active one
-- column day DATE: day in the time zone
-- column caller VARCHAR: who made the calls
-- column sessions BIGINT: distinct sessions with an error that counts
-- column groups BIGINT: distinct pairs of session and fingerprint
-- column events BIGINT: errors that count
-- column unknown_sessions BIGINT: sessions with an error that was recorded as unknown
-- column unknown_groups BIGINT: groups with an error that was recorded as unknown
-- column unknown_events BIGINT: errors that were recorded as unknown
-- column unknown_sessions_replayed BIGINT: sessions with an error that is unknown to the ruleset
-- column unknown_groups_replayed BIGINT: groups with an error that is unknown to the ruleset
-- column unknown_events_replayed BIGINT: errors that are unknown to the ruleset
-- column not_replayed BIGINT: errors that count and that the ruleset has not judged; they keep what was recorded
select
  cast(timezone($timezone, timezone('UTC', occurred_at)) as date) as day,
  caller,
  count(distinct session) as sessions,
  count(distinct (session, template)) as groups,
  count(*) as events,
  count(distinct session) filter (where recorded_as_unknown) as unknown_sessions,
  count(distinct (session, template)) filter (where recorded_as_unknown) as unknown_groups,
  count(*) filter (where recorded_as_unknown) as unknown_events,
  count(distinct session) filter (where reason = 'unknown') as unknown_sessions_replayed,
  count(distinct (session, template)) filter (where reason = 'unknown') as unknown_groups_replayed,
  count(*) filter (where reason = 'unknown') as unknown_events_replayed,
  count(*) filter (where not judged) as not_replayed
from comparable_errors($ruleset, $until)
where counted
  and ($since is null or occurred_at >= $since)
group by day, caller
order by day, caller
