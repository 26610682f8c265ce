"""Hand-offs by day with what was expected of each day, and the sessions at work beside them."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from analyzer.analysis.charts.finding.panels import (
    BAND,
    EDGE,
    EXPECTED,
    MARKED,
    USUAL,
    bars,
    counts_axis,
    onset_line,
    panels,
)
from analyzer.analysis.summary.cases import Case

_OTHER = ("#5f6772", "\\")


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
