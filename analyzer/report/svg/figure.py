"""A plotly figure as one SVG that stands in a page: the same numbers, scales and words, without a script.

Invariant: what a figure has and this does not know is refused, never left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzer.phrases import counted
from analyzer.report.svg.bars import Bar, bars_of, drawn_bars, lying
from analyzer.report.svg.columns import are_many, drawn_columns, drawn_series
from analyzer.report.svg.element import Svg, element
from analyzer.report.svg.formats import moment, number, plain
from analyzer.report.svg.frame import RIGHT, Frame, frame
from analyzer.report.svg.lines import drawn_line
from analyzer.report.svg.looks import pattern
from analyzer.report.svg.notes import drawn_note, drawn_shape
from analyzer.report.svg.refusal import refuse_unknown
from analyzer.report.svg.scales import AxisScale, as_number, scale_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_TOLD = 1_500
"""Points of lines with a tooltip of their own; of the others the line has one."""
_ROOM = 1.06
"""The end of an axis that does not say where it ends, over the highest value."""


def picture(figure: Figure, name: str, height: int) -> Svg:
    """The figure, `height` pixels high and as wide as there is room; `name` begins the ids in it.

    Raises:
        AnalyzerError: it has a trace, a feature or a colour that is not known here.
    """
    given = figure.to_dict()
    refuse_unknown(given)
    data, layout = given["data"], given["layout"]
    bars = [trace for trace in data if trace["type"] == "bar"]
    lines = [trace for trace in data if trace["type"] == "scatter"]
    stood = bars_of(bars, layout)
    drawn = _frame(data, bars, stood, layout, height)
    fills = [pattern(f"{name}-fill-{place}", trace["marker"]) for place, trace in enumerate(bars)]
    title = str(layout["title"]["text"])
    parts: list[Svg] = [
        element("title", title, id=f"{name}-title"),
        element("desc", " ".join(_sentences(data, drawn)), id=f"{name}-desc"),
        element("defs", *(defined for _, defined in fills if defined)),
        drawn.grid(),
    ]
    pairs = list(zip(bars, stood, strict=True))
    many = are_many(pairs)
    for place, ((trace, own), (fill, _)) in enumerate(zip(pairs, fills, strict=True)):
        series = drawn_series(drawn, trace, own, fill, f"{name}-bars-{place}") if many else None
        parts += series or drawn_bars(drawn, trace, own, fill)
    if many:
        parts.append(drawn_columns(drawn, pairs))
    told = _told(lines)
    for place, trace in enumerate(lines):
        parts += drawn_line(drawn, trace, lines[place - 1] if place else None, told=place in told)
    parts += (drawn_shape(drawn, shape) for shape in layout.get("shapes", ()))
    parts += drawn.labels()
    for note in layout.get("annotations", ()):
        parts += drawn_note(drawn, note)
    return element(
        "svg", *parts, id=name, class_="plot", role="img", aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc", height=height, style=f"--left:{drawn.left:.0f}px;--right:{RIGHT}px",
    )  # fmt: skip


def _frame(
    data: Sequence[Mapping[str, Any]], bars: Sequence[Mapping[str, Any]], stood: Sequence[Sequence[Bar]],
    layout: Mapping[str, Any], height: int,
) -> Frame:  # fmt: skip
    x_axis = layout["xaxis"]
    flat = any(lying(trace) for trace in bars)
    along = [end for own in stood for bar in own for end in (bar.begin, bar.end)]
    lengths = [end for own in stood for bar in own for end in (bar.top, *(bar.whisker or ()))]
    points = [as_number(x) for trace in data if trace["type"] == "scatter" for x in trace["x"]]
    if flat:
        x_ends = (0.0, _ROOM * max(lengths, default=1.0) or 1.0)
    else:
        x_ends = (min([*along, *points], default=0.0), max([*along, *points], default=1.0))
        if x_axis.get("rangemode") == "tozero":
            x_ends = (min(0.0, x_ends[0]), x_ends[1])
    ys: dict[str, tuple[AxisScale, Mapping[str, Any]]] = {}
    for axis_name, name in (("yaxis", "y"), ("yaxis2", "y2")):
        if axis_name not in layout:
            continue
        axis = layout[axis_name]
        own = [trace for trace in data if trace.get("yaxis", "y") == name]
        values = [y for trace in own if trace["type"] == "scatter" for y in trace["y"] if y is not None]
        if not flat:
            pairs = zip(bars, stood, strict=True)
            values += [bar.top for trace, each in pairs if trace.get("yaxis", "y") == name for bar in each]
        ends = (min(0.0, *values, 0.0), (_ROOM * max(values, default=1.0)) or 1.0)
        names = [y for trace in own for y in trace["y"]] if flat else []
        ys[name] = (scale_of(axis, names, ends), axis)
    return frame(scale_of(x_axis, (), x_ends), x_axis, ys, height)


def _told(lines: Sequence[Mapping[str, Any]]) -> set[int]:
    """The traces whose points have tooltips: from the last, which lies on top, as many as go."""
    told, left = set(), MAX_TOLD
    for place, trace in reversed(list(enumerate(lines))):
        left -= len(trace["x"]) if "markers" in trace["mode"] else 0
        if left >= 0:
            told.add(place)
    return told


def _sentences(data: Sequence[Mapping[str, Any]], drawn: Frame) -> Iterator[str]:
    """What is read aloud: each series with its range. The table of the numbers has the rest."""
    for trace in data:
        if trace.get("showlegend") is False or not trace["x"]:
            continue
        flat = trace["type"] == "bar" and lying(trace)
        values = [value for value in (trace["x"] if flat else trace["y"]) if value is not None]
        axis = drawn.x_axis if flat else drawn.plots[trace.get("yaxis", "y")].axis
        form = axis.get("tickformat", "")
        if not values:
            continue
        low, high = number(min(values), form), number(max(values), form)
        span = low if low == high else f"{low} to {high}"
        where = ""
        if drawn.x.kind == "date":
            begin, end = (moment(datetime.fromisoformat(at), "%Y-%m-%d") for at in (trace["x"][0], trace["x"][-1]))
            where = f", {begin}" if begin == end else f", {begin} to {end}"
        yield f"{plain(str(trace['name']))}: {counted(len(values), 'point')}{where}, {span}."
