"""The charts of findings by day, and which function draws which form: above what a finding is about, below what it
rests on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go

from analyzer.analysis.charts.finding_bars import burst_chart, mix_chart
from analyzer.analysis.charts.finding_panels import (
    BAND,
    EDGE,
    EXPECTED,
    MARKED,
    USUAL,
    bars,
    counts_axis,
    onset_line,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.cases import Case

_OTHER = ("#5f6772", "\\")
_RECOVERED, _FAILED, _UNTRIED = ("#009e73", ""), ("#d55e00", "x"), ("#9aa1ab", "-")


def share_chart(case: Case) -> go.Figure:
    """Unknown share of distinct errors by day, from 42 days before the onset; a bar is the sessions of that day."""
    one, rows = case.finding, list(case.numbers.iter_rows(named=True))
    days = [row["day"] for row in rows]
    shown = [*days, one.onset]
    shares = [row["unknown_share"] for row in rows]
    unknown = [row["unknown_sessions"] for row in rows]
    others = [row["sessions"] - row["unknown_sessions"] for row in rows]
    figure = go.Figure()
    share_band(figure, one.latest, shown, one.latest.expected, "expected share")
    of = [(row["unknown_groups"], row["groups"]) for row in rows]
    figure.add_trace(share_line(days, shares, of, "unknown share", "distinct errors"))
    figure.add_trace(bars(days, unknown, "sessions with an unknown error", MARKED, "y2"))
    figure.add_trace(bars(days, others, "other sessions", USUAL, "y2"))
    onset_line(figure, one.onset, shown)
    title = "Unknown share of distinct errors by day, and the sessions behind it"
    highest = max([*shares, one.latest.high or 0.0], default=0.0)
    panels(figure, title, "", shown, shares_axis("share (%)", highest), "sessions")
    return figure


def message_chart(case: Case) -> go.Figure:
    """Sessions by day that show the message, from 42 days before its first sight."""
    one, rows = case.finding, list(case.numbers.iter_rows(named=True))
    days = [row["day"] for row in rows]
    shown = [*days, one.onset]
    with_it = [row["message_sessions"] for row in rows]
    figure = go.Figure()
    figure.add_trace(bars(days, with_it, "sessions that show the message", MARKED, "y"))
    figure.add_trace(bars(days, [row["sessions"] for row in rows], "all sessions with an error", USUAL, "y2"))
    onset_line(figure, one.onset, shown, "first sight")
    latest = one.latest
    note = ""
    if latest.observed is not None and latest.expected is not None and latest.high is not None:
        note = (
            f"{latest.observed:,.0f} sessions up to {latest.day}; had nothing changed, {latest.expected:.2g} expected, "
            f"and in 39 of 40 cases {latest.high:,.0f} at most."
        )
    title = "Sessions by day that show the new message, and all sessions of its caller"
    panels(figure, title, note, shown, counts_axis("sessions", max(with_it, default=0)), "all sessions")
    return figure


def hand_offs_chart(case: Case) -> go.Figure:
    """Hand-offs by day, from 42 days before the onset; what is expected follows the day's sessions and weekday."""
    one, rows = case.finding, list(case.numbers.iter_rows(named=True))
    days = [row["day"] for row in rows]
    shown = [*days, one.onset]
    figure = go.Figure()
    _expectation(figure, rows)
    for name, style, unusual in (("unusual days", MARKED, True), ("other days", _OTHER, False)):
        own = [row for row in rows if row["unusual"] == unusual]
        counts = [row["hand_offs"] for row in own]
        figure.add_trace(bars([row["day"] for row in own], counts, f"hand-offs, {name}", style, "y"))
    figure.add_trace(bars(days, [row["sessions"] for row in rows], "sessions at work", USUAL, "y2"))
    onset_line(figure, one.onset, shown)
    title = "Hand-offs by day with what was expected, and the sessions at work"
    highest = max(max(row["hand_offs"], row["high"] or 0) for row in rows) if rows else 0
    note = "" if all(row["high"] is not None for row in rows) else "The first days have no history to expect from."
    panels(figure, title, note, shown, counts_axis("hand-offs", highest), "sessions")
    return figure


def _expectation(figure: go.Figure, rows: list[dict[str, Any]]) -> None:
    known = [row for row in rows if row["expected"] is not None]
    line = {"x": [row["day"].isoformat() for row in known], "mode": "lines", "hoverinfo": "skip"}
    edge = {**line, "line": {**EDGE, "shape": "hvh"}}
    figure.add_trace(go.Scatter(**{**line, "line": {"width": 0}}, y=[0] * len(known), showlegend=False))
    high = [row["high"] for row in known]
    name = "what 39 of 40 such days stay within"
    figure.add_trace(go.Scatter(**edge, y=high, fill="tonexty", fillcolor=BAND, name=name))
    dashes = {"width": 1.5, "dash": "dash", "color": EXPECTED, "shape": "hvh"}
    figure.add_trace(go.Scatter(**line, y=[row["expected"] for row in known], line=dashes, name="expected"))


def recovery_chart(case: Case) -> go.Figure:
    """Recovered share of the chains of 7 days by the last of them; a bar is the chains of one day.

    The band is what is expected of the share where it fell, else what 49 days say of it.
    """
    one, rows = case.finding, list(case.numbers.iter_rows(named=True))
    days = [row["day"] for row in rows]
    shown = [*days, one.onset]
    figure = go.Figure()
    latest = one.latest
    fell = one.finding == "recovery_fell"
    middle, name = (
        (latest.expected, "expected share")
        if fell
        else (latest.observed, f"share over all {BASELINE_DAYS + RECENT_DAYS} days")
    )
    share_band(figure, latest, shown, middle, name)
    shares = [row["recovered_share"] for row in rows]
    of = [(row["week_recovered"], row["week_chains"]) for row in rows]
    week = f"{RECENT_DAYS} days"
    figure.add_trace(share_line(days, shares, of, f"recovered share of {week}", f"chains of {week} recovered"))
    for name, values, style in (
        ("chains that recovered", [row["recovered"] for row in rows], _RECOVERED),
        ("chains that did not", [row["chains"] - row["recovered"] for row in rows], _FAILED),
        ("errors without a retry", [row["untried"] for row in rows], _UNTRIED),
    ):
        if any(values):
            figure.add_trace(bars(days, values, name, style, "y2"))
    onset_line(figure, one.onset, shown, "found")
    title = f"Share of retry chains that recovered, over {week}, and the chains of each day"
    highest = max([share for share in shares if share is not None] + [latest.high or 0.0], default=0.0)
    panels(figure, title, "", shown, shares_axis("share (%)", highest), "chains")
    return figure


FORMS: dict[str, Callable[[Case], go.Figure]] = {
    "share": share_chart,
    "message": message_chart,
    "burst": burst_chart,
    "mix": mix_chart,
    "hand_offs": hand_offs_chart,
    "recovery": recovery_chart,
}
"""By the form that a kind of finding names."""


def finding_chart(case: Case) -> go.Figure:
    """The chart of a finding with numbers."""
    chart = case.finding.kind.chart
    assert chart is not None, "causes have no numbers"
    return FORMS[chart.form](case)
