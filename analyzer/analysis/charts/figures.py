"""Draw a chart as a plotly figure, in a style that can be read on light and dark.

Invariant: every text goes through `literal`, since plotly reads pseudo-HTML.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import date
from typing import Any

import plotly.graph_objects as go

from analyzer.analysis.charts.chart import (
    GRID,
    HALO,
    INK,
    LOWER_TOP,
    MARK,
    SHADE,
    UPPER_BOTTOM,
    At,
    Axis,
    Bars,
    Chart,
    Note,
    Points,
    Upright,
    short,
)

_SMALL = {"size": 12}


def figure_of(chart: Chart) -> go.Figure:
    """Return the figure: transparent, and not moved by scrolling on a touch screen."""
    traces: list[Any] = []
    for mark in chart.marks:
        traces += [_bars(chart, mark)] if isinstance(mark, Bars) else _lines(mark)
    axes = {"xaxis": _axis(chart.x), "yaxis": _axis(chart.y)}
    if chart.lower is not None:
        axes["xaxis"]["anchor"] = "y2"
        axes["yaxis"]["domain"] = [UPPER_BOTTOM, 1]
        axes["yaxis2"] = {**_axis(chart.lower), "domain": [0, LOWER_TOP], "anchor": "x"}
    return go.Figure(
        traces,
        layout={
            **axes,
            "template": {},
            "title": {
                "text": literal(chart.title), "subtitle": {"text": literal(chart.note)},
                "x": 0, "xref": "paper", "y": 0.98, "yanchor": "top",
            },
            "barmode": "stack" if chart.stacked else None,
            "bargap": chart.gap if chart.lying else None,
            "height": chart.height,
            "margin": {"l": 8, "r": 12, "t": 96, "b": 8},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
            "legend": {
                "orientation": "h", "y": 1.03, "yanchor": "bottom", "x": 0, "traceorder": "normal", "font": _SMALL,
            },
            "hoverlabel": {"font": {"family": "system-ui, sans-serif"}},
            "dragmode": False,
            "showlegend": True,
            "annotations": [*map(_upright_words, chart.uprights), *map(_note, chart.notes)],
            "shapes": [*map(_upright, chart.uprights)],
        },
    )  # fmt: skip


def literal(text: str) -> str:
    """Escape a text so that plotly shows it literally; its line breaks stay."""
    # A brace would open a placeholder of a hover template.
    return html.escape(text, quote=False).replace("{", "&#123;").replace("\n", "<br>")


def label(text: object) -> str:
    """Escape a text from a log, shortened to one line."""
    return literal(short(text))


def _axis(axis: Axis) -> dict[str, Any]:
    options = {
        "title": {"text": axis.title, "font": _SMALL, "standoff": 8},
        "type": axis.kind if axis.kind != "number" else None,
        "autorange": "reversed" if axis.kind == "category" else None,
        "range": axis.ends,
        "rangemode": "tozero" if axis.from_zero else None,
        "tickformat": axis.form or None,
        "nticks": axis.most_ticks,
        "dtick": axis.step,
        "tickvals": axis.ticks or None,
        "tickangle": 0,
        "ticklabelstandoff": axis.standoff or None,
        "showgrid": axis.grid,
        "automargin": True,
        "fixedrange": True,
        "gridcolor": GRID,
        "zeroline": False,
    }
    return {name: value for name, value in options.items() if value is not None}


def _place(at: At) -> Any:
    if isinstance(at, date):
        return at.isoformat()
    return literal(at) if isinstance(at, str) else at


def _bars(chart: Chart, bars: Bars) -> go.Bar:
    colour, shape = bars.style
    # "overlay" draws the pattern over the colour of the bar; else it would replace it.
    pattern = {"shape": shape, "fgcolor": MARK, "fgopacity": 1, "size": 6, "solidity": 0.25, "fillmode": "overlay"}
    places = [_place(at) for at in bars.at]
    ends = list(zip(bars.intervals, bars.lengths, strict=False))
    whiskers = {
        "type": "data", "array": [high - length for (_, high), length in ends],
        "arrayminus": [length - low for (low, _), length in ends], "color": INK, "thickness": 1.5, "width": 3,
    }  # fmt: skip
    return go.Bar(
        x=bars.lengths if chart.lying else places,
        y=places if chart.lying else bars.lengths,
        orientation="h" if chart.lying else None,
        width=[bars.width] * len(places) if bars.width else None,
        offset=None if bars.centred else 0,
        name=literal(bars.name),
        yaxis="y2" if bars.lower else None,
        marker={"color": colour, "line": {"width": 0}, "pattern": pattern if shape else {}},
        error_x=whiskers if ends else None,
        hovertext=[literal(tip) for tip in bars.tips],
        hoverinfo="text",
    )


def _lines(line: Points) -> Iterator[go.Scatter]:
    modes = [name for name, there in (("lines", line.width), ("markers", line.size), ("text", line.texts)) if there]
    stroke = {"color": line.colour, "width": line.width, "dash": line.dash or None}
    stroke |= {"shape": "hvh"} if line.stepped else {}
    common = {"x": [_place(at) for at in line.at], "mode": "+".join(modes), "cliponaxis": not line.size}
    if line.floor:
        # No edge where the band ends on the axis.
        edge = stroke if any(line.floor) else {**stroke, "width": 0}
        yield go.Scatter(**common, y=line.floor, line=edge, hoverinfo="skip", showlegend=False)
    halo = {"symbol": line.symbol, "line": {"width": line.size / 9, "color": HALO}} if line.symbol else {}
    yield go.Scatter(
        **common,
        y=line.values,
        line=stroke if line.width else None,
        marker={"size": line.size, "color": line.colour, **halo} if line.size else None,
        text=[f" {literal(text)}" for text in line.texts] or None,
        textposition="middle right" if line.texts else None,
        fill="tonexty" if line.floor else None,
        fillcolor=SHADE if line.floor else None,
        opacity=0.6 if line.faint else 1,
        name=literal(line.name),
        legendgroup=line.group or None,
        showlegend=line.keyed,
        hovertext=[literal(tip) for tip in line.tips] or None,
        hoverinfo="text" if line.tips else "skip",
    )


def _upright(upright: Upright) -> dict[str, Any]:
    look = {"dash": upright.dash, "width": upright.width, "color": upright.colour}
    return {
        "type": "line", "x0": upright.at, "x1": upright.at, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain",
        "line": look,
    }  # fmt: skip


def _upright_words(upright: Upright) -> dict[str, Any]:
    return {
        "x": upright.at,
        "y": 1.0,
        "xref": "x",
        "yref": "y domain",
        "text": literal(f"{upright.text} " if upright.left else f" {upright.text}"),
        "xanchor": "right" if upright.left else "left",
        "yanchor": "top",
        "showarrow": False,
        "font": {"size": 12, "color": upright.colour},
    }


def _note(note: Note) -> dict[str, Any]:
    text = literal(note.text)
    words = {
        "x": _place(note.x),
        "y": _place(note.y),
        "text": f"<b>{text}</b>" if note.strong else text,
        "xanchor": note.side,
        "font": {"size": 12, "color": note.colour},
    }
    if not note.up:
        return {**words, "showarrow": False, "xshift": 6}
    arrow = {"arrowcolor": note.colour, "arrowwidth": 1, "arrowhead": 0, "ax": 0, "ay": -note.up, "standoff": 8}
    return {**words, "showarrow": True, **arrow}
