"""The chart of what rulesets did to history: the unknown share as it was recorded, and under the rules in force."""

from __future__ import annotations

import plotly.graph_objects as go

from analyzer.analysis.charts.base import HOVER_DAY, MAX_DAYS, day_axis, finish, marked_day, milliseconds, with_gaps
from analyzer.analysis.charts.colours import GREY, VERMILION
from analyzer.analysis.summary.drifts import Drifts

_NOW = VERMILION
_MAX_MARKED = 12
"""Applied rulesets with a line of their own."""


def rules_chart(drifts: Drifts) -> go.Figure:
    """Two shares of the whole fleet by day; a vertical line where a ruleset became the active one."""
    rows = list(drifts.days.tail(MAX_DAYS).iter_rows(named=True))
    days = [row["day"] for row in rows]
    drawn = list(with_gaps(rows))
    figure = go.Figure()
    for column, name, colour, width in (
        # Broad and below, so that it is seen where both are the same.
        ("recorded_share", "as recorded", GREY, 7),
        ("unknown_share", "under the rules in force", _NOW, 2),
    ):
        figure.add_trace(
            go.Scatter(
                x=[row["day"].isoformat() for row in drawn],
                y=[row[column] for row in drawn],
                customdata=[row["errors"] for row in drawn],
                mode="lines+markers",
                line={"color": colour, "width": width},
                marker={"size": width + 3, "color": colour},
                opacity=0.6 if colour == GREY else 1,
                cliponaxis=False,
                name=name,
                hovertemplate=f"{HOVER_DAY}: %{{y:.1%}} of %{{customdata:,}} {name}<extra></extra>",
            )
        )
    applied = sorted({day for day in drifts.applied.frame["applied_on"] if days and days[0] <= day})
    for day in applied[-_MAX_MARKED:]:
        marked_day(figure, milliseconds(day, 0), "rules applied", left=True)
    notes = []
    if drifts.days.height > len(rows):
        notes.append(f"the latest {len(rows)} of {drifts.days.height} days")
    if len(applied) > _MAX_MARKED:
        notes.append(f"the latest {_MAX_MARKED} of {len(applied)} days on which rules were applied are marked")
    finish(
        figure,
        "Unknown share of errors by day, as recorded and under the rules in force",
        "; ".join(notes),
        "",
        "share (%)",
    )
    day_axis(figure, [*days, *applied])
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", nticks=5)
    return figure
