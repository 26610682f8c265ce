"""Two plots over the same days: above what a finding is about, below what it rests on; the onset marked in both."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import plotly.graph_objects as go
import polars as pl

from analyzer.analysis.charts.base import HOVER_DAY, day_axis, day_bars, finish, marked_day, milliseconds, with_gaps
from analyzer.analysis.charts.colours import SILVER, VERMILION, WATER
from analyzer.analysis.summary.cases import Case

LINE = VERMILION
EXPECTED = WATER
BAND = "rgba(47,143,208,.22)"
MARKED = (LINE, "/")
USUAL = (SILVER, "")
EDGE = {"width": 1, "dash": "dot", "color": EXPECTED}
"""Ends of a band: its shade alone is faint in print."""
DASHES = {"width": 1.5, "dash": "dash", "color": EXPECTED}
_LOWER_TOP, _UPPER_BOTTOM = 0.28, 0.4
"""Parts of the height."""


def bars(rows: pl.DataFrame, column: str, name: str, style: tuple[str, str], axis: str) -> go.Bar:
    """A column of counts by `day`, in the upper (`y`) or lower (`y2`) plot."""
    return day_bars(dict(rows.select("day", column).iter_rows()), name, style, axis)


def share_line(rows: pl.DataFrame, name: str, unit: str) -> go.Scatter:
    """A line of shares; `rows` has the day, the share, and of how many `unit` (the third column of the fourth)."""
    drawn = [tuple(row.values()) for row in with_gaps(rows.iter_rows(named=True))]
    return go.Scatter(
        x=[day.isoformat() for day, *_ in drawn],
        y=[share for _, share, *_ in drawn],
        customdata=[(part, whole) for *_, part, whole in drawn],
        mode="lines+markers",
        line={"color": LINE, "width": 2.5},
        marker={"size": 6, "color": LINE},
        name=name,
        cliponaxis=False,
        hovertemplate=f"{HOVER_DAY}: %{{customdata[0]:,}} of %{{customdata[1]:,}} {unit}<extra></extra>",
    )


def share_band(figure: go.Figure, case: Case, middle: float | None, name: str) -> None:
    """A dashed line at `middle`, a share named `name`, and the band of the interval of a finding's latest day."""
    if middle is None:
        return
    latest, shown = case.finding.latest, _shown(case)
    ends = [(min(shown) - timedelta(days=1)).isoformat(), (max(shown) + timedelta(days=1)).isoformat()]
    line = {"x": ends, "mode": "lines", "hoverinfo": "skip"}
    figure.add_trace(go.Scatter(**line, y=[middle] * 2, line=DASHES, name=f"{name}: {middle:.0%}"))
    if latest.low is None or latest.high is None:
        return
    edge = {**line, "line": EDGE}
    figure.add_trace(go.Scatter(**edge, y=[latest.low] * 2, showlegend=False))
    said = f"its 95% interval: {latest.low:.0%} to {latest.high:.0%}"
    figure.add_trace(go.Scatter(**edge, y=[latest.high] * 2, fill="tonexty", fillcolor=BAND, name=said))


def _shown(case: Case) -> list[date]:
    """The days that a chart stretches over: to the last one of all, whether or not the finding shows on it."""
    return [*case.numbers["day"], case.finding.onset, case.last]


def panels(
    figure: go.Figure,
    case: Case,
    title: str,
    upper: dict[str, Any],
    lower: str,
    *,
    note: str = "",
    marked: str = "onset",
) -> go.Figure:
    """The figure with its frame: `upper` overrides the upper axis, `lower` names the lower one, and the onset, `marked`
    so, is a vertical line through both."""
    shown, onset = _shown(case), case.finding.onset
    late = (onset - min(shown)).days > (max(shown) - min(shown)).days / 2
    marked_day(figure, milliseconds(onset, -0.5), f"{marked} {onset.isoformat()}", left=late)
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
    return figure


def counts_axis(title: str, highest: float) -> dict[str, Any]:
    """An upper axis of counts, with room for the onset's date above the highest."""
    return {"title": title, "range": [0, 1.25 * max(1.0, highest)], "tickformat": ",~r", "rangemode": "tozero"}


def shares_axis(title: str, highest: float) -> dict[str, Any]:
    """An upper axis of shares, 0..1, with room for the onset's date."""
    return {"title": title, "range": [0, min(1.12, 1.25 * max(0.1, highest))], "tickformat": ".0%"}
