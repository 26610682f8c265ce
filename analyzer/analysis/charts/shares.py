"""The chart of the unknown share of all callers by day, those with a rise in colour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import polars as pl

from analyzer.analysis.charts.base import HOVER_DAY, day_axis, finish, label, rows_of, with_gaps
from analyzer.analysis.charts.colours import AZURE, GREEN, GREY, HALO, OCHRE, ROSE, SKY, VERMILION
from analyzer.analysis.tables import Table

if TYPE_CHECKING:
    from analyzer.analysis.summary.spikes import Spikes  # Which draw themselves by this module.

MAX_SPIKING = 6
"""Callers drawn in colour."""
MAX_OTHERS = 40
"""Callers drawn in grey, those with the most errors on one day."""
_SPIKING = (VERMILION, AZURE, GREEN, ROSE, OCHRE, SKY)
_SYMBOLS = ("diamond", "square", "triangle-up", "star", "cross", "hexagon")


def unknown_share_chart(given: Spikes | Table | pl.DataFrame) -> go.Figure:
    """Unknown share of errors by day: callers with a rise in colour, its days marked, all others in grey.

    Of what `spikes` gives; rows of `unknown-share` alone know of no rise.
    """
    judged = None if isinstance(given, Table | pl.DataFrame) else given
    share = given if isinstance(given, Table | pl.DataFrame) else given.share
    needed = ("day", "caller", "errors", "unknown_errors", "unknown_share")
    frame = rows_of(share, "unknown-share", *needed)
    days = frame["day"].unique().to_list()
    # Very many callers may have errors: those that are drawn alone are ranked and become rows of Python.
    risers = judged.callers if judged else ()
    known = set(frame.filter(pl.col("caller").is_in(list(risers)))["caller"])
    spiking = [caller for caller in risers if caller in known]
    others = frame.filter(~pl.col("caller").is_in(spiking))
    busiest = others.top_k(MAX_OTHERS * len(days), by=["errors", "caller"], reverse=[False, True])
    ranked = busiest.sort(["errors", "caller"], descending=[True, False])["caller"].unique(maintain_order=True)
    drawn, grey = spiking[:MAX_SPIKING], ranked.head(MAX_OTHERS).to_list()
    quiet = frame["caller"].n_unique() - len(spiking)
    series: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in frame.filter(pl.col("caller").is_in([*drawn, *grey])).iter_rows(named=True):
        series[row["caller"]].append(row)
    figure = go.Figure()
    for place, caller in enumerate(grey):
        figure.add_trace(_share_line(series[caller], caller, GREY, 1, name="callers without a rise", shown=not place))
    for place, caller in enumerate(drawn):
        colour = _SPIKING[place]
        figure.add_trace(
            _share_line(series[caller], caller, colour, 2.5, name=label(caller), shown=True, group=str(place))
        )
        # The tests count distinct errors, this line counts all: a mark stands on the line.
        risen = {one.day for one in (judged.found if judged else ()) if one.caller == caller}
        marked = [row for row in series[caller] if row["day"] in risen]
        if marked:
            figure.add_trace(_marks(marked, caller, colour, _SYMBOLS[place], str(place)))
            _name(figure, max(marked, key=lambda row: row["unknown_share"]), caller, colour, days)
    notes = []
    if len(spiking) > len(drawn):
        notes.append(f"{len(drawn)} of {len(spiking)} callers with a rise")
    if quiet > len(grey):
        notes.append(f"{len(grey)} of {quiet} without one are drawn")
    finish(figure, "Unknown share of errors by day and caller", "; ".join(notes), "", "unknown share (%)")
    day_axis(figure, days)
    figure.update_yaxes(range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%", zeroline=True)
    return figure


def _share_line(
    rows: Sequence[Mapping[str, Any]],
    caller: str,
    colour: str,
    width: float,
    *,
    name: str,
    shown: bool,
    group: str = "others",
) -> go.Scatter:
    drawn = list(with_gaps(rows))
    return go.Scatter(
        x=[row["day"].isoformat() for row in drawn],
        y=[row["unknown_share"] for row in drawn],
        customdata=[(row["unknown_errors"], row["errors"]) for row in drawn],
        mode="lines+markers",
        line={"color": colour, "width": width},
        marker={"size": 3 + width, "color": colour},
        opacity=0.6 if group == "others" else 1,
        name=name,
        legendgroup=group,
        showlegend=shown,
        hovertemplate=f"{label(caller)}<br>{HOVER_DAY}: %{{customdata[0]}} of %{{customdata[1]}}<extra></extra>",
    )


def _name(figure: go.Figure, row: Mapping[str, Any], caller: str, colour: str, days: Sequence[date]) -> None:
    """The caller's name at its worst day; names of one day stand above each other."""
    day = row["day"].isoformat()
    figure.add_annotation(
        x=day,
        y=row["unknown_share"],
        text=f"<b>{label(caller)} {row['unknown_share']:.0%}</b>",
        font={"color": colour, "size": 12},
        showarrow=True,
        arrowcolor=colour,
        arrowwidth=1,
        arrowhead=0,
        ax=0,
        xanchor=_towards_middle(row["day"], days),
        ay=-26 - 16 * sum(shown.x == day for shown in figure.layout.annotations),
        standoff=8,
    )


def _towards_middle(day: date, days: Sequence[date]) -> str:
    """The end of a label that stands at the day, so that the label does not leave the plot."""
    place = (day - min(days)).days / max(1, (max(days) - min(days)).days)
    return "left" if place < 0.3 else "right" if place > 0.7 else "center"


def _marks(rows: Sequence[Mapping[str, Any]], caller: str, colour: str, symbol: str, group: str) -> go.Scatter:
    return go.Scatter(
        x=[row["day"].isoformat() for row in rows],
        y=[row["unknown_share"] for row in rows],
        mode="markers",
        marker={"symbol": symbol, "size": 13, "color": colour, "line": {"width": 1.5, "color": HALO}},
        name=f"rises of {label(caller)}",
        legendgroup=group,
        customdata=[(row["unknown_errors"], row["errors"]) for row in rows],
        hovertemplate="%{customdata[0]} of %{customdata[1]} unknown<extra>rise</extra>",
    )
