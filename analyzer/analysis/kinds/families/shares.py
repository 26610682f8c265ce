"""Judge the unknown errors of single callers by day: their share of all errors, and new messages.

The share is judged like other counts: unknown errors against all of the caller's errors. Each day
is judged only from that day and the days before it, so judging a night again gives the same result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.charts.chart import Chart, Mark
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    SINCE_BASELINE,
    USUAL,
    bars,
    of_caller_around,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.kinds.detection import Detection, Settings, ordered
from analyzer.analysis.kinds.families.new_messages import new_templates
from analyzer.analysis.kinds.finding import SHARE, Basis, Charted, ChartForm, Finding, Kind
from analyzer.analysis.kinds.finding_fields import MANY_SESSIONS
from analyzer.analysis.kinds.sentences import expected_share, in_sessions, on_its_day
from analyzer.analysis.kinds.shared import (
    DRAFT_RULES,
    UNKNOWN_ERRORS,
    UNKNOWN_SHOWN,
    WRITE_A_RULE,
)
from analyzer.analysis.kinds.statistics.rates import (
    MIN_DAYS_OF_SHARES,
)
from analyzer.analysis.kinds.statistics.units import Rise, units
from analyzer.analysis.periods import (
    BASELINE_DAYS,
    QUIET_DAYS,
)
from analyzer.errors import AnalyzerError
from analyzer.readable import counted, percent

COUNT_COLUMNS = ("groups", "unknown_groups_replayed", "sessions", "unknown_sessions_replayed")
MOST_GROUPS = 3
"""Unknown groups per session that count: a session may fail again and again in ever other words."""
_UNKNOWN = "unknown"


class DetectionError(AnalyzerError):
    """Counts that cannot be judged."""


def detect(counts: pl.DataFrame, templates: pl.DataFrame, settings: Settings | None = None) -> list[Detection]:
    """Return the findings `spike`, `drift` and `template`, in the columns of `schema`.

    `counts` has a row per day and caller: `day` (Date), `caller`, `sessions`, `groups` (distinct
    pairs of session and template), and how many of these have an unknown error under today's rules:
    `unknown_sessions_replayed` and `unknown_groups_replayed`. `templates` has a row per day, caller
    and unknown template: `sessions` that showed it.

    Raises:
        DetectionError: a column is missing, or a count is impossible.
    """
    chosen = settings or Settings()
    totals = _totals(counts)
    wanted = ("day", "caller", "template", "sessions")
    if missing := [name for name in wanted if name not in templates.columns]:
        raise DetectionError(f"templates without column {', '.join(missing)}", f"needed: {', '.join(wanted)}")
    return ordered([*_shares(totals, chosen), *new_templates(templates.select(wanted), totals, chosen)])


def _totals(counts: pl.DataFrame) -> pl.DataFrame:
    """Sum and sort the counts by day and caller; raise `DetectionError` if they are unusable."""
    wanted = ("day", "caller", *COUNT_COLUMNS)
    if missing := [name for name in wanted if name not in counts.columns]:
        raise DetectionError(f"counts without column {', '.join(missing)}", f"needed: {', '.join(wanted)}")
    totals = counts.select(wanted).group_by("day", "caller").agg(pl.col(COUNT_COLUMNS).sum()).sort("day", "caller")
    possible = pl.lit(True)
    for every in ("groups", "sessions"):
        possible &= pl.col(f"unknown_{every}_replayed").is_between(0, pl.col(every))
    for day, caller, *values in totals.filter(~possible).head(1).iter_rows():
        values_by_name = ", ".join(f"{name} {value}" for name, value in zip(COUNT_COLUMNS, values, strict=True))
        raise DetectionError(
            f"impossible counts of {caller} on {day}: {values_by_name}", "unknown ones are part of all"
        )
    return totals.filter((pl.col("sessions") > 0) & (pl.col("groups") > 0))


def _shares(totals: pl.DataFrame, settings: Settings) -> Iterator[Detection]:
    """Yield the rises of the callers' unknown shares."""
    most = MOST_GROUPS * pl.col("unknown_sessions_replayed")
    capped = totals.with_columns(unknown=pl.min_horizontal("unknown_groups_replayed", most))
    errors = pl.col("groups") - pl.col("unknown_groups_replayed") + pl.col("unknown")
    work = capped.select("day", pl.col("caller").alias("name"), exposure=errors.cast(pl.Float64), seen=pl.lit(True))
    unknown = capped.filter(pl.col("unknown") > 0).select(
        "day",
        pl.col("caller").alias("name"),
        pl.lit(_UNKNOWN).alias("reason"),
        pl.col("unknown_sessions_replayed").alias("sessions"),
        pl.col("unknown").alias("groups"),
    )
    met: dict[str, dict[int, int]] = {}
    for day, caller, sessions in capped.select("day", "caller", "sessions").iter_rows():
        met.setdefault(caller, {})[day.toordinal()] = sessions
    for caller, by_reason in sorted(units(unknown, work).items()):
        unit = by_reason[_UNKNOWN]
        unit.trials, unit.quiet_days = met[caller], QUIET_DAYS
        for day in sorted(unit.days):
            rise = unit.look(day, settings.share_alpha)
            onset = unit.onset
            state = unit.settle(day, rise)
            if rise is not None:
                yield _detection(caller, day, rise, state, rise.first if onset is None else onset)


def _detection(caller: str, day: int, rise: Rise, state: str, onset: int) -> Detection:
    expected = rise.tail.expected
    return Detection(
        day=date.fromordinal(day),
        caller=caller,
        finding="spike" if onset == day else "drift",
        state=state,
        onset=date.fromordinal(onset),
        observed=rise.count / rise.exposure,
        expected=expected / rise.exposure,
        low=0.0,
        high=min(1.0, rise.tail.high / rise.exposure),
        p_value=rise.tail.p_value,
        statistic=rise.count / expected,
        sessions=rise.sessions,
        groups=rise.count,
        note=f"{rise.count:,} of {rise.exposure:,.0f} errors are unknown {rise.over(day)}, normally {expected:,.1f}",
    )


def unjudged(counts: pl.DataFrame, settings: Settings | None = None) -> list[tuple[date, str]]:
    """Return days and callers with enough unknown sessions for a finding, but too little history.

    `counts` are as in `detect`.
    """
    busy = counts.filter(pl.col("unknown_sessions_replayed") >= (settings or Settings()).min_sessions)
    if busy.is_empty():
        return []
    days: dict[str, list[date]] = {}
    for day, caller in counts.select("day", "caller").sort("day").iter_rows():
        days.setdefault(caller, []).append(day)
    back = timedelta(days=BASELINE_DAYS)
    return [
        (day, caller)
        for day, caller in busy.select("day", "caller").sort("day", "caller").iter_rows()
        if bisect_left(days[caller], day) - bisect_left(days[caller], day - back) < MIN_DAYS_OF_SHARES
    ]


def severity_of_share(day: Detection) -> str:
    """Return the severity of a rise of the unknown share.

    It is critical if it is far above what was expected and hits ten sessions.
    """
    observed, expected = day.observed or 0.0, day.expected or 0.0
    far = observed >= 0.25 or observed >= 5 * max(expected, 0.01)
    return "critical" if far and (day.sessions or 0) >= MANY_SESSIONS else "warning"


def more_unknown(finding: Finding) -> str:
    """Say that the unknown share rose, with the figures of its latest day."""
    latest = finding.latest
    unknown = latest.groups or 0
    every = round(unknown / latest.observed) if latest.observed else unknown
    share = f"{percent(latest.observed)}, {expected_share(finding)}"
    text = f"{unknown:,} of {counted(every, 'distinct error')}{on_its_day(finding)} matched no rule ({share})"
    return f"{text}, in {in_sessions(finding)}"


def share_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of the chart, a day each."""
    return of_caller_around(basis.seen.counts.filter(pl.col("groups") > 0), finding, basis.last).select(
        "day",
        (pl.col("unknown_groups_replayed") / pl.col("groups")).alias("unknown_share"),
        pl.col("unknown_groups_replayed").alias("unknown_groups"),
        "groups",
        pl.col("unknown_sessions_replayed").alias("unknown_sessions"),
        "sessions",
    )


def share_chart(case: Charted) -> Chart:
    """Draw the unknown share of distinct errors by day, what was expected, and the sessions."""
    rows, latest = (
        case.numbers.with_columns(others=pl.col("sessions") - pl.col("unknown_sessions")),
        case.finding.latest,
    )
    marks: tuple[Mark, ...] = (
        *share_band(case, latest.expected, "normal share", of_days=True),
        share_line(rows.select("day", "unknown_share", "unknown_groups", "groups"), "unknown share", "distinct errors"),
        bars(rows, "unknown_sessions", "sessions with an unknown error", MARKED, lower=True),
        bars(rows, "others", "other sessions", USUAL, lower=True),
    )
    title = "Unknown share of distinct errors by day, and the sessions with them"
    return panels(
        case, title, marks, shares_axis("share (%)", max([*rows["unknown_share"], latest.high or 0.0])), "sessions"
    )


_CHART = ChartForm(
    "Days of the caller",
    f"{SINCE_BASELINE} Repeats of one message in one session count once. The interval says how well these days fix the "
    "expected share; single days scatter more.",
    {
        **DAY,
        "unknown_share": "unknown_groups / groups, 0..1",
        "unknown_groups": "distinct errors (pairs of session and message) that are unknown to the rules in force",
        "groups": "distinct errors",
        "unknown_sessions": "distinct sessions with an unknown error",
        "sessions": "distinct sessions with an error",
    },
    share_rows,
    share_chart,
)


_SPIKE = Kind(
    title="Unknown errors spiked",
    metric="share of distinct errors that are unknown, 0..1",
    percent=True,
    severity=severity_of_share,
    sentence=more_unknown,
    quotes=True,
    advice=WRITE_A_RULE,
    asks=DRAFT_RULES,
    family=SHARE,
    asked=True,
    priced=True,
    evidence=UNKNOWN_ERRORS,
    behind=UNKNOWN_SHOWN,
    chart=_CHART,
)


SHARES = {"spike": _SPIKE, "drift": replace(_SPIKE, title="Unknown errors drift upwards")}
