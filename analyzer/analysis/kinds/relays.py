"""The kind of many hand-offs."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.detection.signals.relays import MANY_RELAYS, relay_days
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    OTHER,
    SINCE_BASELINE,
    USUAL,
    band,
    bars,
    counts_axis,
    dashes,
    of_caller_around,
    panels,
)
from analyzer.analysis.kinds.finding import Basis, Behind, Charted, ChartForm, Finding, Kind, its_days
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.sentences import as_number, sessions
from analyzer.analysis.observations import exposed


def many_hand_offs(finding: Finding) -> str:
    """More hand-offs than were expected, or many of one session."""
    latest = finding.latest
    step = f" in step {finding.scope.step}" if finding.scope.step else ""
    if latest.expected is None:
        rest = f", {as_number(latest.statistic)} of them of one session" if latest.statistic != latest.observed else ""
        return f"{as_number(latest.observed)} hand-offs{'' if rest else ' of one session'}{step} on {latest.day}{rest}"
    text = f"{as_number(latest.observed)} hand-offs{step} on {latest.day}, {as_number(latest.expected)} expected"
    return f"{text} (at most {as_number(latest.high)}), in {sessions(finding)}"


def hand_off_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `HAND_OFFS`, a day each; `expected` and `high` are null where history is too short."""
    own, seen = pl.col("caller") == finding.scope.caller, basis.seen
    # Sessions that handed off in other steps were at work as well.
    at_work = exposed(replace(seen, relays=seen.relays.filter(own), counts=seen.counts.filter(own)))
    step = at_work.filter(pl.col("step") == (finding.scope.step or ""))
    return of_caller_around(relay_days(step), finding, basis.last).select(
        "day",
        pl.col("relays").alias("hand_offs"),
        "expected",
        "high",
        (pl.col("found") | (pl.col("expected").is_null() & (pl.col("most") >= MANY_RELAYS))).alias("unusual"),
        pl.col("sessions").alias("relay_sessions"),
        pl.col("exposure").cast(pl.Int64).alias("sessions"),
    )


def hand_off_chart(case: Charted) -> Chart:
    """Hand-offs by day, with what the day's sessions and weekday let one expect of each, and the sessions at work."""
    rows = case.numbers
    known = rows.drop_nulls("expected")
    within = "what 39 of 40 such days stay within"
    marks = (
        band(within, known["day"], [0.0] * known.height, known["high"], stepped=True),
        dashes("expected", known["day"], known["expected"], stepped=True),
        bars(rows.filter("unusual"), "hand_offs", "hand-offs, unusual days", MARKED),
        bars(rows.filter(~pl.col("unusual")), "hand_offs", "hand-offs, other days", OTHER),
        bars(rows, "sessions", "sessions at work", USUAL, lower=True),
    )
    title = "Hand-offs by day with what was expected, and the sessions at work"
    upper = counts_axis("hand-offs", max([*rows["hand_offs"], *rows["high"].drop_nulls()], default=0))
    note = "The first days have no history to expect from." if rows["high"].has_nulls() else ""
    return panels(case, title, marks, upper, "sessions", note=note)


HAND_OFFS = ChartForm(
    "Days of the caller and step",
    f"{SINCE_BASELINE} What is expected follows the sessions at work and the rates of weekdays and weekends.",
    {
        **DAY,
        "hand_offs": "hand-offs to a fresh context in the step",
        "expected": "hand-offs expected; none where there is too little history",
        "high": "the count that such a day stays within in 39 of 40 cases",
        "unusual": "whether the day alone would be a finding; such days are no part of what is expected of others",
        "relay_sessions": "distinct sessions with a hand-off in the step",
        "sessions": "distinct sessions at work: with an error or any hand-off",
    },
    hand_off_rows,
    hand_off_chart,
)


RELAYS = {
    "relays": Kind(
        title="Many hand-offs",
        metric="hand-offs of the day",
        severity=warning,
        sentence=many_hand_offs,
        advice="split steps that hand off often",
        asks=("query", "relays-by-step"),
        scope="step",
        behind=Behind("of its days", lambda _one, _seen: pl.lit(False), its_days, hand_offs=True),
        chart=HAND_OFFS,
    )
}
