"""The charts of findings by day, what a finding is about above what it rests on; and the function of each form."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
import polars as pl

from analyzer.analysis.charts.colours import GREEN, SILVER, SLATE, VERMILION
from analyzer.analysis.charts.finding_bars import burst_chart, mix_chart
from analyzer.analysis.charts.finding_panels import (
    BAND,
    DASHES,
    EDGE,
    MARKED,
    USUAL,
    bars,
    counts_axis,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.cases import Case

_OTHER = (SLATE, "\\")
_RECOVERED, _FAILED, _UNTRIED = (GREEN, ""), (VERMILION, "x"), (SILVER, "-")


def share_chart(case: Case) -> go.Figure:
    """The unknown share of distinct errors by day, with what was expected of it, and the sessions of each day."""
    rows, latest = (
        case.numbers.with_columns(others=pl.col("sessions") - pl.col("unknown_sessions")),
        case.finding.latest,
    )
    figure = go.Figure()
    share_band(figure, case, latest.expected, "expected share")
    of = ("unknown_share", "unknown_groups", "groups")
    figure.add_trace(share_line(rows.select("day", *of), "unknown share", "distinct errors"))
    figure.add_trace(bars(rows, "unknown_sessions", "sessions with an unknown error", MARKED, "y2"))
    figure.add_trace(bars(rows, "others", "other sessions", USUAL, "y2"))
    title = "Unknown share of distinct errors by day, and the sessions behind it"
    upper = shares_axis("share (%)", max([*rows["unknown_share"], latest.high or 0.0]))
    return panels(figure, case, title, upper, "sessions")


def message_chart(case: Case) -> go.Figure:
    """The sessions by day that show the message, and all sessions of its caller."""
    rows, latest = case.numbers, case.finding.latest
    figure = go.Figure()
    figure.add_trace(bars(rows, "message_sessions", "sessions that show the message", MARKED, "y"))
    figure.add_trace(bars(rows, "sessions", "all sessions with an error", USUAL, "y2"))
    note = _counted(latest, "sessions", ".2g")
    title = "Sessions by day that show the new message, and all sessions of its caller"
    upper = counts_axis("sessions", max(rows["message_sessions"], default=0))
    return panels(figure, case, title, upper, "all sessions", note=note, marked="first sight")


def volume_chart(case: Case) -> go.Figure:
    """Distinct errors by day, and the sessions at work."""
    rows, latest = case.numbers, case.finding.latest
    figure = go.Figure()
    figure.add_trace(bars(rows, "errors", "distinct errors", MARKED, "y"))
    figure.add_trace(bars(rows, "sessions", "sessions in the logs", USUAL, "y2"))
    note = _counted(latest, "errors", ",.1f")
    title = "Distinct errors by day, and the sessions behind them"
    upper = counts_axis("errors", max(rows["errors"], default=0))
    return panels(figure, case, title, upper, "sessions", note=note)


def wording_chart(case: Case) -> go.Figure:
    """The sessions by day in which the rule matched, those that show the new text, and all at work."""
    rows, latest = case.numbers, case.finding.latest
    figure = go.Figure()
    figure.add_trace(bars(rows, "rule_sessions", "sessions in which the rule matched", _OTHER, "y"))
    figure.add_trace(bars(rows, "message_sessions", "sessions that show the new text", MARKED, "y"))
    figure.add_trace(bars(rows, "sessions", "sessions in the logs", USUAL, "y2"))
    title = "Sessions by day in which the rule matched, and those that show the new text"
    highest = max((rows["rule_sessions"] + rows["message_sessions"]).to_list(), default=0)
    note = "" if latest.expected is None else f"The rule would have matched in {latest.expected:,.1f} since the onset."
    return panels(figure, case, title, counts_axis("sessions", highest), "sessions", note=note)


def _counted(latest: Detection, what: str, form: str) -> str:
    """A count beside what was expected of it, in words; empty where nothing was."""
    if latest.observed is None or latest.expected is None or latest.high is None:
        return ""
    return (
        f"{latest.observed:,.0f} {what} up to {latest.day}; had nothing changed, {latest.expected:{form}} expected, "
        f"and in 39 of 40 cases {latest.high:,.0f} at most."
    )


def hand_offs_chart(case: Case) -> go.Figure:
    """Hand-offs by day, with what the day's sessions and weekday let one expect of each, and the sessions at work."""
    rows = case.numbers
    figure = go.Figure()
    _expectation(figure, rows.drop_nulls("expected"))
    for name, style, unusual in (("unusual days", MARKED, True), ("other days", _OTHER, False)):
        figure.add_trace(bars(rows.filter(unusual=unusual), "hand_offs", f"hand-offs, {name}", style, "y"))
    figure.add_trace(bars(rows, "sessions", "sessions at work", USUAL, "y2"))
    title = "Hand-offs by day with what was expected, and the sessions at work"
    upper = counts_axis("hand-offs", max([*rows["hand_offs"], *rows["high"].drop_nulls()], default=0))
    note = "The first days have no history to expect from." if rows["high"].has_nulls() else ""
    return panels(figure, case, title, upper, "sessions", note=note)


def _expectation(figure: go.Figure, known: pl.DataFrame) -> None:
    line = {"x": [day.isoformat() for day in known["day"]], "mode": "lines", "hoverinfo": "skip"}
    edge = {**line, "line": {**EDGE, "shape": "hvh"}}
    figure.add_trace(go.Scatter(**{**line, "line": {"width": 0}}, y=[0] * known.height, showlegend=False))
    name = "what 39 of 40 such days stay within"
    figure.add_trace(go.Scatter(**edge, y=known["high"].to_list(), fill="tonexty", fillcolor=BAND, name=name))
    dashes = {**DASHES, "shape": "hvh"}
    figure.add_trace(go.Scatter(**line, y=known["expected"].to_list(), line=dashes, name="expected"))


def recovery_chart(case: Case) -> go.Figure:
    """The share of retry chains that recovered over a week, by its last day, and the chains of each day.

    The band is what is expected of the share where it fell, else what all days together say of it.
    """
    rows = case.numbers.with_columns(failed=pl.col("chains") - pl.col("recovered"))
    figure, latest = go.Figure(), case.finding.latest
    if latest.expected is not None:
        share_band(figure, case, latest.expected, "expected share")
    else:
        share_band(figure, case, latest.observed, f"share over all {BASELINE_DAYS + RECENT_DAYS} days")
    of, week = ("recovered_share", "week_recovered", "week_chains"), f"{RECENT_DAYS} days"
    line = share_line(rows.select("day", *of), f"recovered share of {week}", f"chains of {week} recovered")
    figure.add_trace(line)
    for column, name, style in (
        ("recovered", "chains that recovered", _RECOVERED),
        ("failed", "chains that did not", _FAILED),
        ("untried", "errors without a retry", _UNTRIED),
    ):
        if rows[column].sum():
            figure.add_trace(bars(rows, column, name, style, "y2"))
    title = f"Share of retry chains that recovered, over {week}, and the chains of each day"
    upper = shares_axis("share (%)", max([*rows["recovered_share"].drop_nulls(), latest.high or 0.0]))
    return panels(figure, case, title, upper, "chains", marked="found")


FORMS: dict[str, Callable[[Case], go.Figure]] = {
    "share": share_chart,
    "message": message_chart,
    "burst": burst_chart,
    "mix": mix_chart,
    "hand_offs": hand_offs_chart,
    "volume": volume_chart,
    "wording": wording_chart,
    "recovery": recovery_chart,
}
"""By the form that a kind of finding names."""


def finding_chart(case: Case) -> go.Figure:
    """The chart of a finding with numbers."""
    chart = case.finding.kind.chart
    assert chart is not None, "causes have no numbers"
    return FORMS[chart.form](case)
