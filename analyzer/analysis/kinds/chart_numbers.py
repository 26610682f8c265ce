"""The charts of findings as numbers, out of the frames that the tests looked at: by day, by reason, or by moment.

Invariant: the store is not asked; one look at history serves every finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

import polars as pl

from analyzer.analysis.detection.relays import relay_days
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.detection.statistics.tails import wilson_interval
from analyzer.analysis.observations import Observations, end_of, exposed, start_of

if TYPE_CHECKING:
    from analyzer.analysis.nightly.findings import Finding

MAX_MOMENTS = 60
"""Bars of a burst."""
_SECONDS = (1, 5, 15, 60, 300, 900, 3_600)
"""How long a bar of a burst may be."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What the numbers of findings are taken from."""

    seen: Observations
    repeats: pl.DataFrame
    """The rows of `detection-repeats` for the sessions of all bursts."""
    last: date
    """The last day of all."""


@dataclass(frozen=True, slots=True)
class ChartForm:
    """A form of chart: the rows that it draws, and the words of the table below it."""

    form: str
    """Names the function that draws it, in `analysis.charts.findings.FORMS`."""
    title: str
    """Of the table."""
    description: str
    columns: dict[str, str]
    """Column name → what it means, in the order of the table."""
    numbers: Callable[[Finding, Basis], pl.DataFrame]
    """Gives the rows; the store is not asked."""


def shares(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `SHARE`, a day each."""
    return _since_before(basis.seen.counts.filter(pl.col("groups") > 0), one, basis.last).select(
        "day",
        (pl.col("unknown_groups_replayed") / pl.col("groups")).alias("unknown_share"),
        pl.col("unknown_groups_replayed").alias("unknown_groups"),
        "groups",
        pl.col("unknown_sessions_replayed").alias("unknown_sessions"),
        "sessions",
    )


def sightings(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `MESSAGE`, a day each; without a caller those of all."""
    shown = basis.seen.known_templates if one.finding == "weak_template" else basis.seen.templates
    shown, days = shown.filter(pl.col("template") == one.scope.template), basis.seen.counts
    if one.scope.caller is not None:
        shown, days = (rows.filter(pl.col("caller") == one.scope.caller) for rows in (shown, days))
    own = shown.group_by("day").agg(
        pl.col("sessions").sum().alias("message_sessions"), pl.col("events").sum().alias("message_events")
    )
    return (
        days.filter(_around(one, basis.last))
        .group_by("day")
        .agg(pl.col("sessions").sum())
        .join(own, on="day", how="left")
        .select("day", pl.col("message_sessions", "message_events").fill_null(0), "sessions")
        .sort("day")
    )


def volume(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `VOLUME`, a day each."""
    seen, scope = basis.seen, one.scope
    if scope.caller is None:
        what, name = ("provider", scope.provider) if scope.provider is not None else ("model", scope.model)
        errors = seen.volumes.filter(pl.col(what) == name)
        own = pl.col("caller").is_in(errors["caller"].unique().to_list())
    else:
        own = pl.col("caller") == scope.caller
        errors = seen.volumes.filter(own)
    if one.finding == "unknown_rate":
        errors = errors.filter(pl.col("reason") == "unknown")
    daily = errors.group_by("day").agg(pl.col("groups").sum().alias("errors"))
    work = seen.work.filter(own).group_by("day").agg(pl.sum("sessions"))
    days = pl.concat([daily.select("day"), work.select("day")]).unique().filter(_around(one, basis.last))
    rows = days.join(daily, on="day", how="left").join(work, on="day", how="left").sort("day")
    return rows.with_columns(pl.col("errors", "sessions").fill_null(0))


def wording(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `WORDING`, a day each."""
    seen, scope = basis.seen, one.scope
    shown = seen.templates.filter((pl.col("template") == scope.template) & (pl.col("day") >= one.onset))
    if scope.caller is not None:
        shown = shown.filter(pl.col("caller") == scope.caller)
    own = pl.col("caller").is_in(shown["caller"].unique().to_list()) & _around(one, basis.last)
    matched = seen.rules.filter(own & (pl.col("rule") == scope.rule))
    parts = {
        "rule_sessions": matched,
        "message_sessions": shown.filter(own),
        "sessions": seen.work.filter(own),
    }
    days = pl.concat([rows.select("day") for rows in parts.values()]).unique()
    for name, rows in parts.items():
        daily = rows.group_by("day").agg(pl.col("sessions").sum().alias(name))
        days = days.join(daily, on="day", how="left").with_columns(pl.col(name).fill_null(0))
    return days.sort("day")


def hand_offs(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `HAND_OFFS`, a day each; `expected` and `high` are null where history is too short."""
    own, seen = pl.col("caller") == one.scope.caller, basis.seen
    # Sessions that handed off in other steps were at work as well.
    at_work = exposed(replace(seen, relays=seen.relays.filter(own), counts=seen.counts.filter(own)))
    step = at_work.filter(pl.col("step") == (one.scope.step or ""))
    return _since_before(relay_days(step), one, basis.last).select(
        "day",
        pl.col("relays").alias("hand_offs"),
        "expected",
        "high",
        pl.col("found").alias("unusual"),
        pl.col("sessions").alias("relay_sessions"),
        pl.col("exposure").cast(pl.Int64).alias("sessions"),
    )


def chains(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `RECOVERY`, a day each; `recovered_share` is null without a chain in its week."""
    daily = basis.seen.chains.filter(pl.col("reason") == one.scope.reason).sort("day")
    own = daily.filter(pl.col("caller") == one.scope.caller).select("day", "caller", "chains", "recovered", "untried")
    week = own.rolling("day", period=timedelta(days=RECENT_DAYS)).agg(
        pl.col("chains").sum().alias("week_chains"), pl.col("recovered").sum().alias("week_recovered")
    )
    share = pl.when(pl.col("week_chains") > 0).then(pl.col("week_recovered") / pl.col("week_chains"))
    rows = own.join(week, on="day", how="left").with_columns(share.alias("recovered_share"))
    return _since_before(rows, one, basis.last).select(
        "day", "chains", "recovered", "untried", "week_chains", "week_recovered", "recovered_share"
    )


def mix(one: Finding, seen: Observations) -> pl.DataFrame:
    """The rows of `MIX`, a reason each, the one that changed most first; intervals are of 95 % (Wilson)."""
    begin = one.last_on - timedelta(days=RECENT_DAYS - 1)
    first = begin - timedelta(days=BASELINE_DAYS)
    rows = seen.errors(one.scope.caller, first, one.last_on).filter(~pl.col("was_unknown"))
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


def moments(one: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `BURST`: equal stretches of time, the shortest that are 60 at most in a day; `begins_at` is UTC."""
    timezone = basis.seen.timezone
    own = basis.repeats.filter(
        (pl.col("caller") == one.scope.caller)
        & (pl.col("session") == one.scope.session)
        & (pl.col("template") == one.scope.template)
        & (pl.col("second_at") >= start_of(one.onset, timezone))
        & (pl.col("second_at") < end_of(one.last_on, timezone))
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
    """The rows of a caller from the baseline of the onset to the last day."""
    return days.filter((pl.col("caller") == one.scope.caller) & _around(one, last))


def _around(one: Finding, last: date) -> pl.Expr:
    """Whether a day lies between the beginning of the baseline of the onset and the last day."""
    return pl.col("day").is_between(one.onset - timedelta(days=BASELINE_DAYS), last)


_MOMENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "begins_at": pl.Datetime("us"),
    "seconds": pl.Int64,
    "repeats": pl.Int64,
}
_DAY = {"day": "day in the time zone of the window"}
_FROM = f"From {BASELINE_DAYS} days before the onset on."
SHARE = ChartForm(
    "share",
    "Days of the caller",
    f"{_FROM} Repeats of one message in one session count once. The interval says how well these days fix the expected "
    "share; single days scatter more.",
    {
        **_DAY,
        "unknown_share": "unknown_groups / groups, 0..1",
        "unknown_groups": "distinct errors (pairs of session and message) that are unknown to the rules in force",
        "groups": "distinct errors",
        "unknown_sessions": "distinct sessions with an unknown error",
        "sessions": "distinct sessions with an error",
    },
    shares,
)
MESSAGE = ChartForm(
    "message",
    "Days of the message",
    _FROM,
    {
        **_DAY,
        "message_sessions": "distinct sessions that show the message",
        "message_events": "errors with the message",
        "sessions": "distinct sessions with an error",
    },
    sightings,
)
VOLUME = ChartForm(
    "volume",
    "Days of the errors",
    f"{_FROM} Repeats of one message in one session count once.",
    {
        **_DAY,
        "errors": "distinct errors: pairs of session and message",
        "sessions": "distinct sessions that the logs show, with errors or without",
    },
    volume,
)
SHARED_MESSAGE = ChartForm(
    "message",
    "Days of the message",
    _FROM,
    {
        **_DAY,
        "message_sessions": "distinct sessions that show the message, at any caller",
        "message_events": "errors with the message",
        "sessions": "distinct sessions with an error",
    },
    sightings,
)
WEAK_MESSAGE = replace(
    SHARED_MESSAGE,
    columns={
        **SHARED_MESSAGE.columns,
        "message_sessions": "distinct sessions that show the message, of the caller or at any",
    },
)
WORDING = ChartForm(
    "wording",
    "Days of the old and the new text",
    f"{_FROM} Of the callers that show the new text.",
    {
        **_DAY,
        "rule_sessions": "distinct sessions in which the rule matched",
        "message_sessions": "distinct sessions that show the new text",
        "sessions": "distinct sessions that the logs show, with errors or without",
    },
    wording,
)
BURST = ChartForm(
    "burst",
    "The burst",
    "Stretches without a repeat are left out.",
    {
        "begins_at": "beginning of a stretch",
        "seconds": "how long the stretch is",
        "repeats": "errors with the message in the session",
    },
    moments,
)
MIX = ChartForm(
    "mix",
    "The two mixes",
    "Each session counts once for each reason that it shows. Errors that were unknown when they came have no part.",
    {
        "reason": "reason under the rules in force",
        "before_share": f"of all pairs of session and reason in the {BASELINE_DAYS} days before, 0..1",
        "before_low_share": "lower end of its 95 % interval (Wilson)",
        "before_high_share": "upper end of it",
        "before_sessions": "distinct sessions with the reason in these days",
        "after_share": f"of all pairs of session and reason in the last {RECENT_DAYS} days, 0..1",
        "after_low_share": "lower end of its 95 % interval (Wilson)",
        "after_high_share": "upper end of it",
        "after_sessions": "distinct sessions with the reason in these days",
    },
    lambda one, basis: mix(one, basis.seen),
)
HAND_OFFS = ChartForm(
    "hand_offs",
    "Days of the caller and step",
    f"{_FROM} What is expected follows the sessions at work and the rates of weekdays and weekends.",
    {
        **_DAY,
        "hand_offs": "hand-offs to a fresh context in the step",
        "expected": "hand-offs expected; none where there is too little history",
        "high": "the count that such a day stays within in 39 of 40 cases",
        "unusual": "whether the day alone would be a finding; such days are no part of what is expected of others",
        "relay_sessions": "distinct sessions with a hand-off in the step",
        "sessions": "distinct sessions at work: with an error or any hand-off",
    },
    hand_offs,
)
RECOVERY = ChartForm(
    "recovery",
    "Days of the caller and reason",
    f"{_FROM} Days without a chain are left out. Chains that a person ended count nowhere.",
    {
        **_DAY,
        "recovered_share": "week_recovered / week_chains, 0..1",
        "week_recovered": f"chains that recovered in the {RECENT_DAYS} days up to this one",
        "week_chains": f"chains with a retry in the {RECENT_DAYS} days up to this one",
        "recovered": "chains that recovered on this day",
        "chains": "chains with a retry that were settled on this day",
        "untried": "errors that were given up without a retry",
    },
    chains,
)
