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
with version as (
  -- Verdicts of different rules are not comparable, and without facts they cannot be made so.
  select
    caller,
    coalesce(ruleset, '') as ruleset,
    min(occurred_at) as first_at
  from errors
  where not has_facts
    and ($until is null or occurred_at < $until)
  group by all
),

newest as (
  select
    caller,
    arg_max(ruleset, (first_at, ruleset)) as ruleset,
    max(first_at) as first_at
  from version
  group by caller
),

judged as (
  select
    cast(timezone($timezone, timezone('UTC', e.occurred_at)) as date) as day,
    e.caller,
    coalesce(e.session_id, e.operation, e.source_path, '') as session,
    coalesce(e.fingerprint, '') as fingerprint,
    coalesce(e.recorded_reason, 'unknown') as recorded,
    coalesce(e.recorded_detail, '') as recorded_detail,
    case
      when $ruleset is null then e.reason
      else coalesce(v.reason, e.recorded_reason, 'unknown')
    end as reason,
    coalesce(
      case
        when $ruleset is null then e.detail
        when v.reason is null then e.recorded_detail
        else v.detail
      end,
      ''
    ) as detail,
    $ruleset is not null and v.reason is null as kept
  from errors as e
  left join verdicts as v
    on e.event_id = v.event_id
    and not v.recorded
    and v.ruleset = $ruleset
  left join newest as n
    on e.caller = n.caller
  where ($since is null or e.occurred_at >= $since)
    and ($until is null or e.occurred_at < $until)
    and (e.has_facts or e.occurred_at >= n.first_at or coalesce(e.ruleset, '') = n.ruleset)
),

counted as (
  select
    *,
    recorded = 'unknown' and recorded_detail not in ('aborted', 'no_detail') as was_unknown,
    reason = 'unknown' and detail not in ('aborted', 'no_detail') as is_unknown
  from judged
  where reason <> 'unknown'
    or detail not in ('aborted', 'no_detail')
)

select
  day,
  caller,
  count(distinct session) as sessions,
  count(distinct (session, fingerprint)) as groups,
  count(*) as events,
  count(distinct session) filter (where was_unknown) as unknown_sessions,
  count(distinct (session, fingerprint)) filter (where was_unknown) as unknown_groups,
  count(*) filter (where was_unknown) as unknown_events,
  count(distinct session) filter (where is_unknown) as unknown_sessions_replayed,
  count(distinct (session, fingerprint)) filter (where is_unknown) as unknown_groups_replayed,
  count(*) filter (where is_unknown) as unknown_events_replayed,
  count(*) filter (where kept) as not_replayed
from counted
group by day, caller
order by day, caller
