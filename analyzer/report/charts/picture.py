"""Draw a chart for a page: its legend, one SVG with sentences to read aloud, plotly's script.

All ids and code are our own; data reaches the script only as JSON of plotly, `<` and `>` escaped.
If upright bars are many, as the days of a year, a series is one shape and a column has one tooltip:
tooltips of single bars would make up a quarter of a large page. A point without a value is a gap in
its line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, pairwise

from analyzer.analysis.charts.chart import At, Axis, Bars, Chart, Note, Points, Upright, as_number
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
        *drawn_bars(drawn, drawn_series, [fill for fill, _ in fills], name, lying=chart.lying),
        *drawn_lines(drawn, lines),
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


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    swatch: Svg
    """A sample of the series."""


@dataclass(frozen=True, slots=True)
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


def plotly_script() -> str:
    """Return the source of plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


MAX_APART = 400
"""The most upright bars of a picture that are elements of their own, each with its tooltip."""
_ACROSS = 10_000
"""The units of a shape over the width of the picture; in its height a pixel has ten units."""
_THINNEST = 0.0022
"""The least share of the width for a bar, so that a day of two years can be seen on a phone."""


@dataclass(frozen=True, slots=True)
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


def drawn_bars(
    frame: Frame, drawn_series: DrawnSeries, fills: Sequence[str], name: str, *, lying: bool
) -> Iterator[Svg]:
    """Draw all bars; `name` begins the ids in them."""
    many = not lying and sum(len(bars) for _, bars in drawn_series) > MAX_APART
    for index, ((series, bars), fill) in enumerate(zip(drawn_series, fills, strict=True)):
        if many:
            yield from _series(frame, series, bars, fill, f"{name}-bars-{index}")
        else:
            yield from _apart(frame, series, bars, fill, lying=lying)
    if many:
        yield _columns(frame, drawn_series)


def _across(frame: Frame, bar: Bar) -> tuple[float, float]:
    """Return both sides of an upright bar, as shares of the width."""
    left, right = sorted(map(frame.x.place, (bar.begin, bar.end)))
    return left, max(right, left + _THINNEST)


def _apart(frame: Frame, series: Bars, bars: Sequence[Bar], fill: str, *, lying: bool) -> Iterator[Svg]:
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


def _series(frame: Frame, series: Bars, bars: Sequence[Bar], fill: str, name: str) -> Iterator[Svg]:
    """Draw the bars of a series as a clip of its fill; a pattern keeps its form at any width."""
    plot = frame.plots[series.lower]
    outline = []
    for bar in bars:
        left, right = (round(_ACROSS * end) for end in _across(frame, bar))
        upper, lower = sorted(round(10 * plot.level(plot.scale.place(end))) for end in (bar.base, bar.top))
        outline.append(f"M{left} {upper}h{right - left}v{lower - upper}h{left - right}z")
    # A clip has the units of the clipped element, which is as wide as the picture: 1 by 1.
    shape = element("path", d="".join(outline), transform=f"scale({1 / _ACROSS:g} {0.1 / frame.bottom:.6g})")
    yield element("clipPath", shape, id=name, clipPathUnits="objectBoundingBox")
    yield element("rect", width="100%", height=frame.bottom, fill=fill, clip_path=f"url(#{name})")


def _columns(frame: Frame, drawn_series: DrawnSeries) -> Svg:
    """Lay a transparent column with the tooltips of all its bars over each place that has bars."""
    tips: dict[tuple[bool, float, float], list[str]] = defaultdict(list)
    for series, bars in drawn_series:
        for bar in bars:
            tips[series.lower, *_across(frame, bar)].append(bar.tip)
    columns = []
    for (lower, left, right), texts in tips.items():
        plot, text = frame.plots[lower], title(_together(texts))
        columns.append(element("rect", text, x=part(left), y=plot.top, width=part(right - left), height=plot.height))
    return element("g", *columns, class_="columns", fill="transparent")


def _together(texts: Sequence[str]) -> str:
    """Join the texts of tooltips, one a line.

    If all begin with the same words before a colon, these are written once above them.
    """
    heads = {text.partition(": ")[0] for text in texts}
    if len(texts) < 2 or len(heads) > 1:
        return "\n".join(texts)
    return "\n".join([*heads, *(text.partition(": ")[2] for text in texts)])


MAX_TOOLTIPS = 1_500
"""The most points with tooltips of their own; other points share the tooltip of their line."""
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_HALF = 7
"""Half the height of a line of text, in pixels."""
_Run = list[tuple[float, float]]


def drawn_lines(frame: Frame, lines: Sequence[Points]) -> Iterator[Svg]:
    """Draw all lines, with tooltips for at most `MAX_TOOLTIPS` points.

    The last line lies on top, and is the first that gets them.
    """
    with_tooltips, left = set(), MAX_TOOLTIPS
    for index, line in reversed(list(enumerate(lines))):
        left -= len(line.at) if line.size else 0
        if left >= 0:
            with_tooltips.add(index)
    for index, line in enumerate(lines):
        yield from _line(frame, line, tooltips=index in with_tooltips)


def _line(frame: Frame, line: Points, *, tooltips: bool) -> Iterator[Svg]:
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
    if line.size and tooltips:
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
