"""A new message: the sessions of each day that show it, since when, and all sessions beside them."""

from __future__ import annotations

import plotly.graph_objects as go

from analyzer.analysis.charts.finding.panels import MARKED, USUAL, bars, counts_axis, onset_line, panels
from analyzer.analysis.summary.cases import Case


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
