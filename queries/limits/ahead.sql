-- title: Limits ahead
-- description: How much of each usage limit is used, and when it is reached at the pace of the last fifth of its window; windows that had ended when a limit was stated last are left out.
-- param until TIMESTAMP = null : what was known by then, UTC
-- param caller VARCHAR = null : only what this caller saw
-- param share DOUBLE = 1.0 : the share whose reaching is forecast, 0..1
-- column provider VARCHAR: whose limit it is; null where no log says
-- column plan VARCHAR: the plan, as the provider names it; null where no log says
-- column window_minutes BIGINT: length of the window
-- column used_share DOUBLE: what was used of it at observed_at, 0..1
-- column observed_at TIMESTAMP: when that was stated last, UTC
-- column reset_at TIMESTAMP: when the window ends, UTC
-- column hourly_share DOUBLE: what an hour uses at this pace, 0..1; null with fewer than three statements
-- column reached_at TIMESTAMP: when the limit is reached at this pace, UTC; null where the window ends before
-- column earliest_at TIMESTAMP: nine in ten times it is not reached before, UTC; null where the window ends before
-- column latest_at TIMESTAMP: nine in ten times it is reached by then, UTC; null where the window ends before
with stated as (
  select
    provider,
    plan,
    window_minutes,
    used_share,
    occurred_at,
    coalesce(reset_at, occurred_at + to_minutes(window_minutes)) as reset_at
  from limits
  where ($until is null or occurred_at < $until)
    and ($caller is null or caller = $caller)
),

newest as (
  select
    provider,
    plan,
    window_minutes,
    max(occurred_at) as observed_at,
    arg_max(reset_at, occurred_at) as reset_at
  from stated
  group by provider, plan, window_minutes
),

step as (
  select
    n.*,
    s.used_share,
    s.used_share - lag(s.used_share) over statement as used,
    epoch(s.occurred_at) - lag(epoch(s.occurred_at)) over statement as seconds
  from newest as n
  inner join stated as s
    on n.provider is not distinct from s.provider
    and n.plan is not distinct from s.plan
    and n.window_minutes = s.window_minutes
  -- The end of one window moves by seconds where it is stated as a wait.
  where abs(epoch(n.reset_at) - epoch(s.reset_at)) < 600
    and epoch(n.observed_at) - epoch(s.occurred_at) <= n.window_minutes * 60 / 5
    and n.reset_at > coalesce($until, (select max(occurred_at) from stated))
  window statement as (
    partition by n.provider, n.plan, n.window_minutes
    order by s.occurred_at, s.used_share
  )
),

-- Use goes by leaps: a random walk with a drift, the pace, and a variance. What there is to a pace from one statement
-- at a time is nothing.
walk as (
  select
    provider,
    plan,
    window_minutes,
    max(used_share) as used_share,
    observed_at,
    reset_at,
    greatest($share - max(used_share), 0) as left_share,
    sum(seconds) as seconds,
    case
      when count(used) > 1 and sum(used) > 0 then sum(used) / sum(seconds)
    end as pace,
    -- The sum of (used - pace * seconds)^2 / seconds.
    (
      sum(used * used / seconds) - pow(sum(used), 2) / sum(seconds)
    ) / nullif(count(used) - 1, 0) as variance
  from step
  where coalesce(seconds, 1) > 0
  group by provider, plan, window_minutes, observed_at, reset_at
),

-- 1.64 standard deviations of the time until the walk is there, and of what is not known of its pace.
wait as (
  select
    *,
    left_share / pace as expected,
    1.64 * sqrt(
      greatest(variance, 0) * (left_share / pow(pace, 3) + pow(left_share, 2) / (seconds * pow(pace, 4)))
    ) as margin,
    epoch(reset_at) - epoch(observed_at) as end_of_window
  from walk
)

select
  provider,
  plan,
  window_minutes,
  used_share,
  observed_at,
  reset_at,
  round(3600 * pace, 4) as hourly_share,
  case
    when expected < end_of_window then observed_at + to_seconds(round(expected))
  end as reached_at,
  case
    when expected - margin < end_of_window then observed_at + to_seconds(round(greatest(expected - margin, 0)))
  end as earliest_at,
  case
    when expected + margin < end_of_window then observed_at + to_seconds(round(expected + margin))
  end as latest_at
from wait
order by used_share desc, provider, plan, window_minutes
