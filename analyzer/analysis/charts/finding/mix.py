"""A change of the mix of reasons: what sessions showed before, and what they show now, side by side."""

from __future__ import annotations

from datetime import timedelta

import plotly.graph_objects as go

from analyzer.analysis.charts.base import finish, label, marker
from analyzer.analysis.charts.finding.panels import MARKED, USUAL
from analyzer.analysis.nightly.reason_mixes import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.cases import Case

MAX_REASONS = 8


def mix_chart(case: Case) -> go.Figure:
    """Shares of what sessions show, by reason, of the last week and of the 42 days before it; with 95 % intervals."""
    rows = list(case.numbers.head(MAX_REASONS).iter_rows(named=True))
    begin = case.finding.last_on - timedelta(days=RECENT_DAYS - 1)
    first, end = begin - timedelta(days=BASELINE_DAYS), begin - timedelta(days=1)
    figure = go.Figure()
    for side, name, style in (
        ("after", f"{begin} to {case.finding.last_on}", MARKED),
        ("before", f"the {BASELINE_DAYS} days before: {first} to {end}", USUAL),
    ):
        shares = [row[f"{side}_share"] for row in rows]
        highs = [row[f"{side}_high_share"] for row in rows]
        figure.add_trace(
            go.Bar(
                y=[label(row["reason"]) for row in rows],
                x=shares,
                orientation="h",
                name=name,
                marker=marker(style),
                customdata=[row[f"{side}_sessions"] for row in rows],
                error_x={
                    "type": "data",
                    "array": [high - share for high, share in zip(highs, shares, strict=True)],
                    "arrayminus": [share - row[f"{side}_low_share"] for share, row in zip(shares, rows, strict=True)],
                    "color": "#78808c",
                    "thickness": 1.5,
                    "width": 3,
                },
                hovertemplate="%{y}: %{x:.0%}, %{customdata:,} sessions<extra></extra>",
            )
        )
    notes = ["whiskers: 95% intervals"]
    if case.numbers.height > len(rows):
        notes.append(f"the {len(rows)} of {case.numbers.height} reasons that changed most")
    title = f"What sessions show, by reason: the last {RECENT_DAYS} days against the {BASELINE_DAYS} before"
    finish(figure, title, "; ".join(notes), "share (%)", "")
    figure.update_layout(height=170 + 46 * len(rows), bargap=0.3)
    figure.update_xaxes(tickformat=".0%", rangemode="tozero", nticks=5, tickangle=0, showgrid=True)
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False, ticklabelstandoff=6)
    return figure
