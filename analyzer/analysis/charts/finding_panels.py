"""Two plots over the same days: above what a finding is about, below what it rests on; the onset marked in both."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import plotly.graph_objects as go

from analyzer.analysis.charts.base import DAY_MILLISECONDS, HOVER_DAY, day_axis, finish, marker, milliseconds
from analyzer.analysis.detection.finding import Detection

LINE = "#d55e00"
EXPECTED = "#2f8fd0"
BAND = "rgba(47,143,208,.22)"
MARKED = (LINE, "/")
USUAL = ("#9aa1ab", "")
EDGE = {"width": 1, "dash": "dot", "color": EXPECTED}
"""Ends of a band: its shade alone is faint in print."""
_LOWER_TOP, _UPPER_BOTTOM = 0.28, 0.4
"""Parts of the height."""


def bars(days: Sequence[date], values: Sequence[int], name: str, style: tuple[str, str], axis: str) -> go.Bar:
    """Counts by day, as wide as days."""
    return go.Bar(
        x=[day.isoformat() for day in days],
        y=values,
        width=[DAY_MILLISECONDS * 0.8] * len(days),
        name=name,
        yaxis=axis,
        marker=marker(style),
        hovertemplate=f"{HOVER_DAY}: %{{y:,}} {name}<extra></extra>",
    )


def share_line(
    days: Sequence[date], shares: Sequence[float | None], of: Sequence[tuple[int, int]], name: str, unit: str
) -> go.Scatter:
    """A share by day; under the finger it says of how many `unit`."""
    return go.Scatter(
        x=[day.isoformat() for day in days],
        y=shares,
        customdata=of,
        mode="lines+markers",
        line={"color": LINE, "width": 2.5},
        marker={"size": 6, "color": LINE},
        name=name,
        cliponaxis=False,
        hovertemplate=f"{HOVER_DAY}: %{{customdata[0]:,}} of %{{customdata[1]:,}} {unit}<extra></extra>",
    )


def share_band(figure: go.Figure, latest: Detection, shown: Sequence[date], middle: float | None, name: str) -> None:
    """A dashed line at `middle`, a share named `name`, and the band of the interval of a detection."""
    if middle is None:
        return
    ends = [(min(shown) - timedelta(days=1)).isoformat(), (max(shown) + timedelta(days=1)).isoformat()]
    line = {"x": ends, "mode": "lines", "hoverinfo": "skip"}
    dashes = {"width": 1.5, "dash": "dash", "color": EXPECTED}
    figure.add_trace(go.Scatter(**line, y=[middle] * 2, line=dashes, name=f"{name}: {middle:.0%}"))
    if latest.low is None or latest.high is None:
        return
    edge = {**line, "line": EDGE}
    figure.add_trace(go.Scatter(**edge, y=[latest.low] * 2, showlegend=False))
    said = f"its 95% interval: {latest.low:.0%} to {latest.high:.0%}"
    figure.add_trace(go.Scatter(**edge, y=[latest.high] * 2, fill="tonexty", fillcolor=BAND, name=said))


def onset_line(figure: go.Figure, onset: date, shown: Sequence[date], said: str = "onset") -> None:
    """A vertical line before the day of the onset, with its date."""
    at = milliseconds(onset, -0.5)
    late = (onset - min(shown)).days > (max(shown) - min(shown)).days / 2
    figure.add_vline(x=at, line={"dash": "dot", "width": 2, "color": "#78808c"})
    figure.add_annotation(
        x=at,
        y=1.0,
        yref="y domain",
        text=f"{said} {onset.isoformat()} " if late else f" {said} {onset.isoformat()}",
        xanchor="right" if late else "left",
        yanchor="top",
        showarrow=False,
        font={"size": 12},
    )


def panels(
    figure: go.Figure,
    title: str,
    note: str,
    shown: Sequence[date],
    upper: dict[str, Any],
    lower: str,
) -> None:
    """The frame around the traces on `y` and `y2`: `upper` overrides the upper axis, `lower` names the lower one."""
    finish(figure, title, note, "", "")
    figure.update_layout(barmode="stack", height=400)
    day_axis(figure, shown)
    small = {"font": {"size": 12}, "standoff": 8}
    axis = figure.layout.yaxis.to_plotly_json()
    figure.update_layout(
        xaxis={"anchor": "y2"},
        yaxis={"domain": [_UPPER_BOTTOM, 1], "nticks": 5, **upper, "title": {"text": upper["title"], **small}},
        yaxis2={
            **axis,
            "domain": [0, _LOWER_TOP],
            "title": {"text": lower, **small},
            "tickformat": ",d",
            "rangemode": "tozero",
            "nticks": 4,
            "anchor": "x",
        },
    )


def counts_axis(title: str, highest: float) -> dict[str, Any]:
    """An upper axis of counts, with room for the onset's date above the highest."""
    return {"title": title, "range": [0, 1.25 * max(1.0, highest)], "tickformat": ",~r", "rangemode": "tozero"}


def shares_axis(title: str, highest: float) -> dict[str, Any]:
    """An upper axis of shares, 0..1, with room for the onset's date."""
    return {"title": title, "range": [0, min(1.12, 1.25 * max(0.1, highest))], "tickformat": ".0%"}
