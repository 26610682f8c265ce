"""The parts that all figures share, in one quiet style that can be read on light and dark.

Invariants: every text from a log goes through `label`, since plotly reads pseudo-HTML; titles hold our own words
alone; what a figure leaves out stands in its subtitle; what colour says, a symbol or a pattern says too.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import plotly.graph_objects as go
import polars as pl

from analyzer.analysis.charts.colours import GRID, INK, MARK, SLATE
from analyzer.analysis.tables import Table
from analyzer.errors import AnalyzerError
from analyzer.phrases import terminal_safe

MAX_DAYS = 366
DAY_MILLISECONDS = 86_400_000
HOVER_DAY = "%{x|%Y-%m-%d}"
OTHER = "other"
OTHER_STYLE = (SLATE, "")
"""A colour and the shape of a pattern."""
_LONGEST_LABEL = 32
_EPOCH = date(1970, 1, 1).toordinal()


def rows_of(given: Table | pl.DataFrame, query: str, *columns: str) -> pl.DataFrame:
    """The rows of a report's table, or of what a store answers to the query.

    Raises:
        AnalyzerError: they lack a column that is drawn.
    """
    rows = given.frame if isinstance(given, Table) else given
    if missing := [name for name in columns if name not in rows.columns]:
        raise AnalyzerError(f"nothing to draw without {', '.join(missing)}", f'give store.query("{query}")')
    return rows


def label(text: object) -> str:
    """A text from a log as plotly shows it literally, on one line and not too long."""
    flat = terminal_safe(" ".join(str(text).split()))
    short = flat if len(flat) <= _LONGEST_LABEL else flat[: _LONGEST_LABEL - 1] + "…"
    # A brace would open a placeholder of a hover template.
    return html.escape(short, quote=False).replace("{", "&#123;")


def with_gaps(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rows by `day`, with a row of nothing behind each after which days have none: no line leads over them."""
    before: date | None = None
    for row in rows:
        if before is not None and (row["day"] - before).days > 1:
            yield {name: before + timedelta(days=1) if name == "day" else None for name in row}
        yield row
        before = row["day"]


def day_bars(counts: Mapping[date, int], name: str, style: tuple[str, str], axis: str | None = None) -> go.Bar:
    """Bars as wide as days, in the plot of the axis."""
    days = sorted(counts)
    return go.Bar(
        x=[day.isoformat() for day in days],
        y=[counts[day] for day in days],
        # Without a width a single day would be one hair or one wall.
        width=[DAY_MILLISECONDS * 0.8] * len(days),
        name=name,
        yaxis=axis,
        marker=marker(style),
        hovertemplate=f"{HOVER_DAY}: %{{y:,}} {name}<extra></extra>",
    )


def marker(style: tuple[str, str]) -> dict[str, Any]:
    """How a bar is filled: a colour, and a pattern that tells it apart without."""
    colour, shape = style
    pattern = {"shape": shape, "fgcolor": MARK, "fgopacity": 1, "size": 6, "solidity": 0.25}
    return {"color": colour, "line": {"width": 0}, "pattern": pattern if shape else {}}


def finish(figure: go.Figure, title: str, note: str, x_title: str, y_title: str, *, stacked: bool = False) -> None:
    """Set title, note, axes and style: transparent, readable on light and dark, unmoved by a finger that scrolls."""
    figure.update_layout(
        template={},
        title={"text": title, "subtitle": {"text": note}, "x": 0, "xref": "paper", "y": 0.98, "yanchor": "top"},
        barmode="stack" if stacked else None,
        height=340,
        margin={"l": 8, "r": 12, "t": 96, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 12, "color": INK},
        legend={
            "orientation": "h",
            "y": 1.03,
            "yanchor": "bottom",
            "x": 0,
            "traceorder": "normal",
            "font": {"size": 12},
        },
        hoverlabel={"font": {"family": "system-ui, sans-serif"}},
        dragmode=False,
        showlegend=True,
    )
    axis = {"automargin": True, "fixedrange": True, "gridcolor": GRID, "zeroline": False}
    small = {"font": {"size": 12}, "standoff": 8}
    figure.update_xaxes(title={"text": x_title, **small}, showgrid=False, **axis)
    figure.update_yaxes(title={"text": y_title, **small}, **axis)
    if stacked and y_title:
        figure.update_yaxes(rangemode="tozero", tickformat=",d")


def day_axis(figure: go.Figure, days: Sequence[date]) -> None:
    """Make the horizontal axis one of whole days: half a day of room at both ends, and ticks at midnights alone."""
    if not days:
        return
    first, last = min(days), max(days)
    span = (last - first).days
    room = max(0.6, (7 - span) / 2)
    figure.update_xaxes(
        type="date",
        range=[milliseconds(first, -room), milliseconds(last, room)],
        tickformat="%-d %b\n%Y",
        title={"text": "day", "font": {"size": 12}, "standoff": 8},
        tickangle=0,
        # Four dates at most stand upright side by side on a phone.
        **({"dtick": DAY_MILLISECONDS * (1 if span < 4 else 2)} if span < 8 else {"nticks": 6}),
    )


def milliseconds(day: date, days: float) -> float:
    """The moment so many days after a day begins, in Unix milliseconds: any date, and no time zone."""
    return (day.toordinal() - _EPOCH + days) * DAY_MILLISECONDS


def marked_day(figure: go.Figure, at: float, said: str, *, left: bool) -> None:
    """A vertical line at a moment (see `milliseconds`), with words to its left or right at the top of the plot."""
    figure.add_vline(x=at, line={"dash": "dot", "width": 2, "color": INK})
    figure.add_annotation(
        x=at,
        y=1.0,
        yref="y domain",
        text=f"{said} " if left else f" {said}",
        xanchor="right" if left else "left",
        yanchor="top",
        showarrow=False,
        font={"size": 12},
    )
