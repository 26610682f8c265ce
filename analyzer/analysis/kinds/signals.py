"""The kinds of what is no error: callers that are no longer heard of."""

from __future__ import annotations

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    SINCE_BASELINE,
    USUAL,
    around,
    bars,
    counted_beside_expected,
    counts_axis,
    panels,
)
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Finding, Kind, note_of


def severity_of_silence(day: Detection) -> str:
    """A silence of the fleet is critical."""
    return "critical" if day.caller is None else "warning"


def told_of_days(finding: Finding) -> str:
    """What the test noted of the latest day, and since when it is so."""
    return note_of(finding) + (f", since {finding.onset}" if finding.onset < finding.last_on else "")


def session_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `SESSIONS`, a day each."""
    work, caller = basis.seen.work, finding.scope.caller
    own = work if caller is None else work.filter(pl.col("caller") == caller)
    logged = work.select("day").unique().filter(around(finding, basis.last))
    daily = own.group_by("day").agg(pl.sum("sessions"))
    others = work.group_by("day").agg(pl.sum("sessions").alias("fleet_sessions"))
    rows = logged.join(daily, on="day", how="left").join(others, on="day", how="left").sort("day")
    return rows.with_columns(pl.col("sessions", "fleet_sessions").fill_null(0))


def session_chart(case: Charted) -> Chart:
    """The sessions of each day, and below them those of the fleet."""
    rows = case.numbers
    marks = (
        bars(rows, "sessions", "sessions", MARKED),
        bars(rows, "fleet_sessions", "sessions of the fleet", USUAL, lower=True),
    )
    upper = counts_axis("sessions", max(rows["sessions"], default=0))
    note = counted_beside_expected(case.finding.latest, "sessions", ",.0f")
    return panels(case, "Sessions by day, and those of the fleet", marks, upper, "sessions", note=note)


SESSIONS = ChartForm(
    "Days of the sessions",
    f"{SINCE_BASELINE} Days without any event in the logs are left out.",
    {
        **DAY,
        "sessions": "distinct sessions that the logs show, with errors or without",
        "fleet_sessions": "those of all callers",
    },
    session_rows,
    session_chart,
)

SIGNALS = {
    "silence": Kind(
        title="Sessions stay away",
        metric="sessions of the day, or of half a day or a whole one over midnight",
        severity=severity_of_silence,
        sentence=told_of_days,
        advice="see whether it still runs, and whether its logs still arrive",
        chart=SESSIONS,
    ),
}
"""Their days are judged one by one, as those of rises of errors are."""
