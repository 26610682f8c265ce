"""One finding: the share of its caller by day with what was expected of it, and below the sessions it rests on."""

from __future__ import annotations

from datetime import timedelta

import plotly.graph_objects as go

from analyzer.analysis.charts.base import DAY_MILLISECONDS, HOVER_DAY, day_axis, finish, marker, milliseconds
from analyzer.analysis.evidence import SHARES
from analyzer.analysis.window_findings import Case

_LINE = "#d55e00"
_EXPECTED = "#2f8fd0"
_BAND = "rgba(47,143,208,.22)"
_SHARE_FLOOR = 0.4
"""The lower end of the upper plot, as a part of the height."""


def finding_chart(case: Case) -> go.Figure:
    """Unknown share of distinct errors by day, from 42 days before the onset; a bar is the sessions of that day."""
    one, rows = case.finding, list(case.days.iter_rows(named=True))
    days = [row["day"] for row in rows]
    texts = [day.isoformat() for day in days]
    figure = go.Figure()
    shown = [*days, one.onset]
    ends = [(min(shown) - timedelta(days=1)).isoformat(), (max(shown) + timedelta(days=1)).isoformat()]
    if one.finding in SHARES and one.latest.expected is not None:
        _expectation(figure, case, ends)
    figure.add_trace(
        go.Scatter(
            x=texts,
            y=[row["unknown_share"] for row in rows],
            customdata=[(row["unknown_groups"], row["groups"]) for row in rows],
            mode="lines+markers",
            line={"color": _LINE, "width": 2.5},
            marker={"size": 6, "color": _LINE},
            name="unknown share",
            cliponaxis=False,
            hovertemplate=f"{HOVER_DAY}: %{{customdata[0]}} of %{{customdata[1]}} distinct errors<extra></extra>",
        )
    )
    for name, values, style in (
        ("sessions with an unknown error", [row["unknown_sessions"] for row in rows], (_LINE, "/")),
        ("other sessions", [row["sessions"] - row["unknown_sessions"] for row in rows], ("#9aa1ab", "")),
    ):
        figure.add_trace(
            go.Bar(
                x=texts,
                y=values,
                width=[DAY_MILLISECONDS * 0.8] * len(texts),
                name=name,
                yaxis="y2",
                marker=marker(style),
                hovertemplate=f"{HOVER_DAY}: %{{y:,}} {name}<extra></extra>",
            )
        )
    figure.add_vline(x=milliseconds(one.onset, -0.5), line={"dash": "dot", "width": 2, "color": "#78808c"})
    late = (one.onset - min(shown)).days > (max(shown) - min(shown)).days / 2
    figure.add_annotation(
        x=milliseconds(one.onset, -0.5),
        y=1.0,
        yref="y domain",
        text=f"onset {one.onset.isoformat()} " if late else f" onset {one.onset.isoformat()}",
        xanchor="right" if late else "left",
        yanchor="top",
        showarrow=False,
        font={"size": 12},
    )
    finish(figure, "Unknown share of distinct errors by day, and the sessions behind it", "", "", "share (%)")
    figure.update_layout(barmode="stack", height=400)
    day_axis(figure, shown)
    top = max(0.1, *(row["unknown_share"] for row in rows), one.latest.high or 0.0) if rows else 1.0
    figure.update_layout(
        xaxis={"anchor": "y2"},
        yaxis={"domain": [_SHARE_FLOOR, 1], "range": [0, min(1.12, 1.25 * top)], "tickformat": ".0%", "nticks": 5},
        yaxis2={
            **figure.layout.yaxis.to_plotly_json(),
            "domain": [0, _SHARE_FLOOR - 0.12],
            "range": None,
            "title": {"text": "sessions", "font": {"size": 12}, "standoff": 8},
            "tickformat": ",d",
            "rangemode": "tozero",
            "nticks": 4,
            "anchor": "x",
        },
    )
    return figure


def _expectation(figure: go.Figure, case: Case, ends: list[str]) -> None:
    latest = case.finding.latest
    line = {"x": ends, "mode": "lines", "hoverinfo": "skip"}
    figure.add_trace(
        go.Scatter(
            **line,
            y=[latest.expected] * 2,
            line={"width": 1.5, "dash": "dash", "color": _EXPECTED},
            name=f"expected share: {latest.expected:.0%}",
        )
    )
    if latest.low is None or latest.high is None:
        return
    edge = {**line, "line": {"width": 0, "color": _EXPECTED}}
    figure.add_trace(go.Scatter(**edge, y=[latest.low] * 2, showlegend=False))
    name = f"its 95% interval: {latest.low:.0%} to {latest.high:.0%}"
    figure.add_trace(go.Scatter(**edge, y=[latest.high] * 2, fill="tonexty", fillcolor=_BAND, name=name))
