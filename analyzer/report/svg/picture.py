"""A chart as one SVG that stands in a page: without a script, and read aloud in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from analyzer.analysis.charts.chart import Axis, Bars, Chart, Points, as_number
from analyzer.phrases import counted
from analyzer.report.svg.bars import Stood, bars_of, drawn_bars
from analyzer.report.svg.element import Svg, element
from analyzer.report.svg.formats import number
from analyzer.report.svg.frame import RIGHT, Frame, frame
from analyzer.report.svg.lines import drawn_lines, drawn_note, drawn_upright
from analyzer.report.svg.looks import pattern
from analyzer.report.svg.scales import scale_of

_ROOM = 1.06
"""The end of an axis that does not say where it ends, over the highest value."""


def picture(chart: Chart, name: str, height: int) -> Svg:
    """The chart, `height` pixels high and as wide as there is room; `name` begins the ids in it."""
    stood, lines = bars_of(chart), [mark for mark in chart.marks if isinstance(mark, Points)]
    drawn = _frame(chart, stood, lines, height)
    fills = [pattern(f"{name}-fill-{place}", series.style) for place, (series, _) in enumerate(stood)]
    parts: list[Svg] = [
        element("title", chart.title, id=f"{name}-title"),
        element("desc", " ".join(_sentences(chart)), id=f"{name}-desc"),
        element("defs", *(defined for _, defined in fills if defined)),
        drawn.grid(),
        *drawn_bars(drawn, stood, [fill for fill, _ in fills], name, lying=chart.lying),
        *drawn_lines(drawn, lines),
        *drawn.labels(),
        *(part for upright in chart.uprights for part in drawn_upright(drawn, upright)),
        *(part for note in chart.notes for part in drawn_note(drawn, note)),
    ]
    return element(
        "svg", *parts, id=name, class_="plot", role="img", aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc", height=height, style=f"--left:{drawn.left:.0f}px;--right:{RIGHT}px",
    )  # fmt: skip


def _frame(chart: Chart, stood: Stood, lines: Sequence[Points], height: int) -> Frame:
    along = [end for _, bars in stood for bar in bars for end in (bar.begin, bar.end)]
    if chart.lying:
        lengths = [end for _, bars in stood for bar in bars for end in (bar.top, *(bar.whisker or ()))]
        x_ends = (0.0, _ROOM * max(lengths, default=1.0) or 1.0)
    else:
        along += (as_number(at) for line in lines for at in line.at)
        x_ends = (min(along, default=0.0), max(along, default=1.0))
        if chart.x.from_zero:
            x_ends = (min(0.0, x_ends[0]), x_ends[1])
    names = tuple(dict.fromkeys(str(at) for series, _ in stood for at in series.at)) if chart.lying else ()
    scales = []
    for axis, lower in ((chart.y, False), (chart.lower, True)):
        if axis is not None:
            values = [bar.top for series, bars in stood if series.lower is lower for bar in bars]
            values += [value for line in lines if not lower for value in line.values if value is not None]
            ends = (min(0.0, *values, 0.0), (_ROOM * max(values, default=1.0)) or 1.0)
            scales.append(scale_of(axis, names, ends))
    return frame(scale_of(chart.x, (), x_ends), scales, height)


def _sentences(chart: Chart) -> Iterator[str]:
    """What is read aloud: each series with its range. The table of the numbers has the rest."""
    for mark in chart.keyed:
        found: Sequence[float | None] = mark.lengths if isinstance(mark, Bars) else mark.values
        if not (values := [value for value in found if value is not None]):
            continue
        form = _measure(chart, mark).form
        low, high = number(min(values), form), number(max(values), form)
        span = low if low == high else f"{low} to {high}"
        where = ""
        if chart.x.kind == "date":
            begin, end = (f"{at:%Y-%m-%d}" if isinstance(at, date) else str(at) for at in (mark.at[0], mark.at[-1]))
            where = f", {begin}" if begin == end else f", {begin} to {end}"
        yield f"{mark.name}: {counted(len(values), 'point')}{where}, {span}."


def _measure(chart: Chart, mark: Bars | Points) -> Axis:
    """The axis that says how much there is of a mark."""
    if chart.lying:
        return chart.x
    return chart.lower if isinstance(mark, Bars) and mark.lower and chart.lower is not None else chart.y
