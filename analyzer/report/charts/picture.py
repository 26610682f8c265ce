"""Draw a chart for a page: its legend, one SVG with sentences to read aloud, plotly's script.

All ids and code are our own; data reaches the script only as JSON of plotly, `<` and `>` escaped.
A point without a value is a gap in its line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, pairwise

from analyzer.analysis.charts.chart import At, Axis, Bars, Chart, Note, Points, Upright, as_number
from analyzer.frozen import frozen
from analyzer.readable import counted, percent
from analyzer.report.charts.axes import RIGHT, Frame, frame, number, part, scale_of, stroke
from analyzer.report.charts.elements import (
    BAND,
    DASHES,
    FAINT,
    Svg,
    element,
    paint,
    pattern,
    pixels,
    swatch,
    symbol,
    title,
)

_ROOM = 1.06
"""The end of an axis without ends of its own, as a multiple of the highest value."""


def picture(chart: Chart, name: str, height: int) -> Svg:
    """Draw a chart, `height` pixels high and as wide as there is room.

    `name` begins the ids in it.
    """
    drawn_series, lines = bars_of(chart), [mark for mark in chart.marks if isinstance(mark, Points)]
    drawn = _frame(chart, drawn_series, lines, height)
    fills = [pattern(f"{name}-fill-{index}", series.style) for index, (series, _) in enumerate(drawn_series)]
    parts: list[Svg] = [
        element("title", chart.title, id=f"{name}-title"),
        element("desc", " ".join(_sentences(chart)), id=f"{name}-desc"),
        element("defs", *(defined for _, defined in fills if defined)),
        drawn.grid(),
        *(
            part
            for (series, bars), (fill, _) in zip(drawn_series, fills, strict=True)
            for part in drawn_bars(drawn, series, bars, fill, lying=chart.lying)
        ),
        *(part for line in lines for part in drawn_line(drawn, line)),
        *drawn.labels(),
        *(part for upright in chart.uprights for part in drawn_upright(drawn, upright)),
        *(part for note in chart.notes for part in drawn_note(drawn, note)),
    ]
    return element(
        "svg", *parts, id=name, class_="plot", role="img", aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc", height=height, style=f"--left:{drawn.left:.0f}px;--right:{RIGHT}px",
    )  # fmt: skip


def _frame(chart: Chart, drawn_series: DrawnSeries, lines: Sequence[Points], height: int) -> Frame:
    """Lay out the plots, whose axes hold all bars and lines."""
    all_bars = [bar for _, bars in drawn_series for bar in bars]
    names: tuple[str, ...] = ()
    if chart.lying:
        lengths = [bar.top for bar in all_bars] + [end for bar in all_bars for end in bar.whisker or ()]
        x_ends = (0.0, _ROOM * max(lengths, default=1.0) or 1.0)
        names = tuple(dict.fromkeys(str(at) for series, _ in drawn_series for at in series.at))
    else:
        along = [end for bar in all_bars for end in (bar.begin, bar.end)]
        along += (as_number(at) for line in lines for at in line.at)
        x_ends = (min(along, default=0.0), max(along, default=1.0))
        if chart.x.from_zero:
            x_ends = (min(0.0, x_ends[0]), x_ends[1])
    scales = []
    for axis, lower in ((chart.y, False), (chart.lower, True)):
        if axis is not None:
            values = [bar.top for series, bars in drawn_series if series.lower is lower for bar in bars]
            values += [value for line in lines if not lower for value in line.values if value is not None]
            ends = (min(0.0, *values, 0.0), (_ROOM * max(values, default=1.0)) or 1.0)
            scales.append(scale_of(axis, names, ends))
    return frame(scale_of(chart.x, (), x_ends), scales, height)


def _sentences(chart: Chart) -> Iterator[str]:
    """Yield the sentences that are read aloud, a series each with its range.

    The table has all numbers.
    """
    for mark in chart.keyed:
        amounts: Sequence[float | None] = mark.lengths if isinstance(mark, Bars) else mark.values
        if not (values := [value for value in amounts if value is not None]):
            continue
        form = _measure(chart, mark).form
        low, high = (percent(end) if form.endswith("%") else number(end, form) for end in (min(values), max(values)))
        span = low if low == high else f"{low} to {high}"
        where = ""
        if chart.x.kind == "date":
            begin, end = (f"{at:%Y-%m-%d}" if isinstance(at, date) else str(at) for at in (mark.at[0], mark.at[-1]))
            where = f", {begin}" if begin == end else f", {begin} to {end}"
        yield f"{mark.name}: {counted(len(values), 'point')}{where}, {span}."


def _measure(chart: Chart, mark: Bars | Points) -> Axis:
    """Return the axis that measures a mark."""
    if chart.lying:
        return chart.x
    return chart.lower if isinstance(mark, Bars) and mark.lower and chart.lower is not None else chart.y


_FRAGMENT = re.compile(
    r'(<div id="[a-z0-9-]+" class="plotly-graph-div"[^>]*></div>)\s*<script[^>]*>(.*)</script>', re.DOTALL
)
_LEGEND_HEIGHT = 60
"""The height that a figure keeps for its legend, in pixels."""
_CONFIG = {"displayModeBar": False, "responsive": True, "showTips": False, "doubleClick": False}


@frozen
class Key:
    """One entry of a legend."""

    name: str
    swatch: Svg
    """A sample of the series."""


@frozen
class Drawing:
    """A chart for a page."""

    title: str
    note: str
    """The words about what is left out; empty if nothing is."""
    keys: tuple[Key, ...]
    """The legend."""
    height: int
    """The height in pixels."""
    picture: Svg
    place: str = ""
    """The element that plotly draws into; empty without plotly."""
    script: str = ""
    """The script of plotly without its tags."""
    data: str = ""
    """The figure of plotly as JSON, for a page with a script of its own; empty without one."""


def draw(chart: Chart, name: str, height: int | None = None, *, interactive: bool = False) -> Drawing:
    """Draw a chart for a page; `name` becomes the id of its element.

    `height` is in pixels; None is the chart's own height.
    """
    height = height or chart.height - _LEGEND_HEIGHT
    keys = tuple(Key(mark.name, swatch(mark, f"{name}-key-{index}")) for index, mark in enumerate(chart.keyed))
    drawing = Drawing(chart.title, chart.note, keys, height, picture(chart, name, height))
    return _interactive(drawing, chart, name) if interactive else drawing


def _interactive(drawing: Drawing, chart: Chart, name: str) -> Drawing:
    from analyzer.analysis.charts.figures import figure_of

    figure = figure_of(chart)
    # The page itself has title and legend above the chart, so that they wrap on a phone.
    figure.update_layout(title=None, showlegend=False, height=drawing.height, margin={"t": 12})
    fragment = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=_CONFIG)
    match = _FRAGMENT.search(fragment)
    assert match is not None, "plotly's fragment is an element and a script"
    return replace(drawing, place=match[1], script=match[2])


def figure_data(chart: Chart, drawing: Drawing) -> str:
    """Return the figure of a chart as JSON for a script that draws it, which lets people zoom by dragging."""
    from analyzer.analysis.charts.figures import figure_of

    figure = figure_of(chart)
    margin = {"l": 8, "r": 12, "t": 12, "b": 8}
    figure.update_layout(title=None, showlegend=False, height=drawing.height, margin=margin, dragmode="zoom")
    # As in the fragments of plotly: no text ends the element that holds it.
    return str(figure.to_json()).replace("<", "\\u003c").replace(">", "\\u003e")


def plotly_script() -> str:
    """Return the source of plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


_THINNEST = 0.0022
"""The least share of the width for a bar, so that a day of two years can be seen on a phone."""


@frozen
class Bar:
    """One bar, or one piece of a stack, in values of its axes."""

    begin: float
    """The beginning of its width."""
    end: float
    base: float
    top: float
    tip: str
    whisker: tuple[float, float] | None
    """Both ends of its interval."""


DrawnSeries = Sequence[tuple[Bars, Sequence[Bar]]]
"""The series with their bars."""


def bars_of(chart: Chart) -> list[tuple[Bars, list[Bar]]]:
    """Return each series with its bars.

    Bars of no length, which nothing is drawn of, are left out.
    """
    all_series = [mark for mark in chart.marks if isinstance(mark, Bars)]
    heights: dict[tuple[bool, At], float] = defaultdict(float)
    slot = (1 - chart.gap) / (1 if chart.stacked else max(1, len(all_series)))
    drawn_series = []
    for index, series in enumerate(all_series):
        bars = []
        for nth, (at, length, tip) in enumerate(zip(series.at, series.lengths, series.tips, strict=True)):
            base = heights[series.lower, at] if chart.stacked else 0.0
            heights[series.lower, at] += length
            if chart.lying:
                begin = series.at.index(at) - (1 - chart.gap) / 2 + (0 if chart.stacked else slot * index)
                end = begin + slot
            else:
                begin = as_number(at) - (series.width / 2 if series.centred else 0)
                end = begin + series.width
            if length:
                whisker = series.intervals[nth] if series.intervals else None
                bars.append(Bar(begin, end, base, base + length, tip, whisker))
        drawn_series.append((series, bars))
    return drawn_series


def _across(frame: Frame, bar: Bar) -> tuple[float, float]:
    """Return both sides of an upright bar, as shares of the width."""
    left, right = sorted(map(frame.x.place, (bar.begin, bar.end)))
    return left, max(right, left + _THINNEST)


def drawn_bars(frame: Frame, series: Bars, bars: Sequence[Bar], fill: str, *, lying: bool) -> Iterator[Svg]:
    """Draw the bars of a series, each with its tooltip and its whisker."""
    plot = frame.plots[series.lower]
    pieces, whiskers = [], []
    for bar in bars:
        left, right = sorted(map(frame.x.place, (bar.base, bar.top))) if lying else _across(frame, bar)
        ends = (bar.begin, bar.end) if lying else (bar.base, bar.top)
        upper, lower = sorted(plot.level(plot.scale.place(end)) for end in ends)
        tooltip = title(bar.tip)
        pieces.append(element("rect", tooltip, x=part(left), y=upper, width=part(right - left), height=lower - upper))
        if bar.whisker:
            middle, (low, high) = (upper + lower) / 2, map(frame.percent, bar.whisker)
            whiskers.append(element("line", x1=low, x2=high, y1=middle, y2=middle))
            whiskers += (element("line", x1=end, x2=end, y1=middle - 3, y2=middle + 3) for end in (low, high))
    yield element("g", *pieces, fill=fill)
    if whiskers:
        # In ink: they lie over bars.
        yield element("g", *whiskers, stroke="var(--ink)", stroke_width=1.5)


MAX_TOOLTIPS = 150
"""The most points of a line with tooltips of their own; those of a longer one share one."""
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_HALF = 7
"""Half the height of a line of text, in pixels."""
_Run = list[tuple[float, float]]


def drawn_line(frame: Frame, line: Points) -> Iterator[Svg]:
    """Draw a line; its points have tooltips of their own if they are at most `MAX_TOOLTIPS`."""
    runs = _runs(frame, line, line.values)
    colour, opacity = paint(line.colour), FAINT if line.faint else None
    path = "".join(map(_path, runs))
    clipped = not line.size  # the line of expected values goes on beyond the days that are shown
    if line.floor:
        floor = _runs(frame, line, line.floor)
        outline = [*chain.from_iterable(runs), *reversed(list(chain.from_iterable(floor)))]
        yield frame.stretched(element("path", d=_path(outline) + "Z", fill=colour, fill_opacity=BAND), clipped=clipped)
        # No edge along the axis itself.
        path += "".join(map(_path, floor)) if any(line.floor) else ""
    if line.width:
        look = {"stroke_linejoin": "round", "opacity": opacity}
        yield frame.stretched(stroke(path, colour, line.width, DASHES[line.dash], **look), clipped=clipped)
    if line.size and len(line.at) <= MAX_TOOLTIPS:
        yield element("g", *_marks(frame, line), fill=colour, opacity=opacity)
    elif line.size:
        dots = "".join(f"M{pixels(x)} {pixels(y)}h0" for points in runs for x, y in points)
        tooltip = title(line.opening or line.name)
        yield frame.stretched(stroke(dots, colour, line.size, None, tooltip, opacity=opacity, stroke_linecap="round"))


def _runs(frame: Frame, line: Points, values: Sequence[float | None]) -> list[_Run]:
    """Return the stretches of a line without a gap.

    x is in thousandths of the width, y in pixels.
    """
    runs: list[_Run] = [[]]
    for at, value in zip(line.at, values, strict=True):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((1000 * frame.x.share(at), frame.plots[0].y(value)))
    return [_stairs(points) if line.stepped else points for points in runs if points]


def _stairs(points: _Run) -> _Run:
    """Return the corners of a line that changes its height half-way between two points."""
    corners = points[:1]
    for (x, y), (later, height) in pairwise(points):
        middle = (x + later) / 2
        corners += [(middle, y), (middle, height)]
    return [*corners, points[-1]]


def _marks(frame: Frame, line: Points) -> Iterator[Svg]:
    for index, (at, value) in enumerate(zip(line.at, line.values, strict=True)):
        if value is None:
            continue
        tooltip, x, y = title(line.tips[index]), frame.percent(at), frame.plots[0].y(value)
        if line.symbol:
            yield symbol(line, tooltip, x=x, y=y)
        else:
            yield element("circle", tooltip, cx=x, cy=y, r=line.size / 2)
        if line.texts:
            yield element("text", line.texts[index], x=x, y=y, dx=10, dy=".35em", class_="said", fill="var(--soft)")


def _path(points: _Run) -> str:
    return "".join(f"{'L' if index else 'M'}{pixels(x)} {pixels(y)}" for index, (x, y) in enumerate(points))


def drawn_upright(frame: Frame, upright: Upright) -> Iterator[Svg]:
    """Draw an upright line through the upper plot, and its words."""
    plot, at = frame.plots[0], frame.percent(upright.at)
    yield element(
        "line", x1=at, x2=at, y1=plot.top, y2=plot.top + plot.height, stroke=paint(upright.colour),
        stroke_width=f"{upright.width:g}", stroke_dasharray=DASHES[upright.dash],
    )  # fmt: skip
    aside, anchor = (-5, "end") if upright.left else (5, "start")
    look = {"class_": "said", "style": f"--said:{paint(upright.colour)}"}
    yield element("text", upright.text, x=at, y=plot.top, dx=aside, dy=".9em", text_anchor=anchor, **look)


def drawn_note(frame: Frame, note: Note) -> Iterator[Svg]:
    """Draw a text at a point, or above it with a stroke that leads to it."""
    at, y = frame.percent(note.x), frame.plots[0].y(note.y)
    if note.up:
        colour = paint(note.colour)
        yield element("line", x1=at, x2=at, y1=y - note.up + _HALF, y2=y - 8, stroke=colour)
    look = {"class_": "said strong" if note.strong else "said", "style": f"--said:{paint(note.colour)}"}
    aside = None if note.up else 6
    anchor = _ANCHORS[note.side]
    yield element("text", note.text, x=at, y=y - note.up, dx=aside, dy=".35em", text_anchor=anchor, **look)
