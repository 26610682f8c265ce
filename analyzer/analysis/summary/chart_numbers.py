"""The numbers of a finding's chart, out of the frames that its test looked at: by day, by reason, or by moment.

Invariant: the store is not asked; one look at history serves every finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection.relays import relay_days
from analyzer.analysis.detection.settings import HISTORY_DAYS
from analyzer.analysis.detection.statistics.tails import wilson_interval
from analyzer.analysis.nightly.detections import exposed
from analyzer.analysis.nightly.findings import Finding
from analyzer.analysis.nightly.reason_mixes import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.observations import Observations, end_of, start_of

MAX_MOMENTS = 60
"""Bars of a burst."""
_SECONDS = (1, 5, 15, 60, 300, 900, 3_600)
"""How long a bar of a burst may be."""


def numbers(one: Finding, seen: Observations, repeats: pl.DataFrame, last: date) -> pl.DataFrame:
    """The rows of a finding's chart, up to the day `last`; `repeats` has those of `detection-repeats` for its session.

    The columns are those of the function for its kind; a kind without one has no chart and no rows.
    """
    if one.finding == "burst":
        return moments(one, seen, repeats)
    if one.finding == "reasons":
        return mix(one, seen)
    by_day = _BY_DAY.get(one.finding)
    return pl.DataFrame() if by_day is None else by_day(one, seen, last)


def shares(one: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """`day`, `unknown_share` (of groups, 0..1), `unknown_groups`, `groups`, `unknown_sessions`, `sessions`."""
    return _since_before(seen.counts.filter(pl.col("groups") > 0), one, last).select(
        "day",
        (pl.col("unknown_groups_replayed") / pl.col("groups")).alias("unknown_share"),
        pl.col("unknown_groups_replayed").alias("unknown_groups"),
        "groups",
        pl.col("unknown_sessions_replayed").alias("unknown_sessions"),
        "sessions",
    )


def sightings(one: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """`day`, `message_sessions` (that show the message), `message_events`, `sessions` (with any error)."""
    shown = seen.templates.filter(
        (pl.col("caller") == one.scope.caller) & (pl.col("template") == one.scope.template)
    ).select("day", pl.col("sessions").alias("message_sessions"), pl.col("events").alias("message_events"))
    return (
        _since_before(seen.counts, one, last)
        .join(shown, on="day", how="left")
        .select("day", pl.col("message_sessions", "message_events").fill_null(0), "sessions")
        .sort("day")
    )


def hand_offs(one: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """`day`, `hand_offs`, `expected` and `high` (the count exceeded on one such day of forty; both null where history
    is too short), `unusual` (whether the day alone would be a finding), `relay_sessions` (with a hand-off), `sessions`
    (at work)."""
    own = pl.col("caller") == one.scope.caller
    # Sessions that handed off in other steps were at work as well.
    at_work = exposed(replace(seen, relays=seen.relays.filter(own), groups=seen.groups.filter(own)))
    step = at_work.filter(pl.col("step") == (one.scope.step or ""))
    return _since_before(relay_days(step), one, last).select(
        "day",
        pl.col("relays").alias("hand_offs"),
        "expected",
        "high",
        pl.col("found").alias("unusual"),
        pl.col("sessions").alias("relay_sessions"),
        pl.col("exposure").cast(pl.Int64).alias("sessions"),
    )


def chains(one: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """`day`, `chains` (with a retry), `recovered`, `untried` (errors without a retry), and over the 7 days up to it
    `week_chains`, `week_recovered` and `recovered_share` (0..1, null without a chain)."""
    daily = seen.chains.filter(pl.col("reason") == one.scope.reason).sort("day")
    own = daily.filter(pl.col("caller") == one.scope.caller).select("day", "caller", "chains", "recovered", "untried")
    week = own.rolling("day", period=timedelta(days=RECENT_DAYS)).agg(
        pl.col("chains").sum().alias("week_chains"), pl.col("recovered").sum().alias("week_recovered")
    )
    share = pl.when(pl.col("week_chains") > 0).then(pl.col("week_recovered") / pl.col("week_chains"))
    rows = own.join(week, on="day", how="left").with_columns(share.alias("recovered_share"))
    return _since_before(rows, one, last).select(
        "day", "chains", "recovered", "untried", "week_chains", "week_recovered", "recovered_share"
    )


def mix(one: Finding, seen: Observations) -> pl.DataFrame:
    """A row a reason, the one that changed most first: `reason`, and of the 42 days before the finding's last week and
    of that week `…_sessions`, `…_share` (0..1 of all pairs of session and reason) with its interval (Wilson, 95 %) as
    `…_low_share` and `…_high_share`; `…` is `before` or `after`."""
    begin = one.last_on - timedelta(days=RECENT_DAYS - 1)
    first = begin - timedelta(days=BASELINE_DAYS)
    rows = seen.groups.filter(
        (pl.col("caller") == one.scope.caller) & ~pl.col("was_unknown") & pl.col("day").is_between(first, one.last_on)
    )
    sides = {"before": pl.col("day") < begin, "after": pl.col("day") >= begin}
    found = rows.group_by("reason").agg(
        pl.col("session").filter(side).n_unique().cast(pl.Int64).alias(f"{name}_sessions")
        for name, side in sides.items()
    )
    for name in sides:
        total = int(found[f"{name}_sessions"].sum())
        shown = [count / total if total else 0.0 for count in found[f"{name}_sessions"]]
        ends = [wilson_interval(share, total) for share in shown]
        found = found.with_columns(
            pl.Series(f"{name}_share", shown, pl.Float64),
            pl.Series(f"{name}_low_share", [low for low, _ in ends], pl.Float64),
            pl.Series(f"{name}_high_share", [high for _, high in ends], pl.Float64),
        )
    return found.sort((pl.col("after_share") - pl.col("before_share")).abs(), "reason", descending=[True, False])


def moments(one: Finding, seen: Observations, repeats: pl.DataFrame) -> pl.DataFrame:
    """`begins_at` (UTC), `seconds` (the same for all, the shortest that gives 60 rows at most in a day), `repeats`."""
    own = repeats.filter(
        (pl.col("caller") == one.scope.caller)
        & (pl.col("session") == one.scope.session)
        & (pl.col("template") == one.scope.template)
        & (pl.col("second_at") >= start_of(one.onset, seen.timezone))
        & (pl.col("second_at") < end_of(one.last_on, seen.timezone))
    )
    if own.is_empty():
        return pl.DataFrame(schema=_MOMENTS)
    seconds = own.select((pl.col("second_at").max() - pl.col("second_at").min()).dt.total_seconds()).item() + 1
    width = next((each for each in _SECONDS if seconds <= each * (MAX_MOMENTS - 1)), _SECONDS[-1])
    counted = own.group_by(pl.col("second_at").dt.truncate(f"{width}s").alias("begins_at")).agg(
        pl.col("events").sum().alias("repeats")
    )
    return counted.select("begins_at", pl.lit(width, pl.Int64).alias("seconds"), pl.col("repeats")).sort("begins_at")


def _since_before(days: pl.DataFrame, one: Finding, last: date) -> pl.DataFrame:
    """The days of a caller from 42 days before the onset to the last one."""
    begin = one.onset - timedelta(days=HISTORY_DAYS)
    return days.filter((pl.col("caller") == one.scope.caller) & pl.col("day").is_between(begin, last))


_MOMENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "begins_at": pl.Datetime("us"),
    "seconds": pl.Int64,
    "repeats": pl.Int64,
}
_BY_DAY: dict[str, Callable[[Finding, Observations, date], pl.DataFrame]] = {
    "spike": shares,
    "drift": shares,
    "template": sightings,
    "relays": hand_offs,
    "recovery_fell": chains,
    "retry_in_vain": chains,
    "retry_would_pay": chains,
}
