"""A rise of the unknown share: the share by day with what was expected of it, and the sessions it rests on."""

from __future__ import annotations

import plotly.graph_objects as go

from analyzer.analysis.charts.finding.panels import (
    MARKED,
    USUAL,
    bars,
    onset_line,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.summary.cases import Case


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
