"""A chart as a page has it: its legend, one SVG that is read aloud in sentences, and the script of plotly.

What becomes an id or code is our own; data reaches the script as JSON of plotly alone, `<` and `>` escaped. Where
upright bars are many, as the days of a year, a series is one shape and a column has one tooltip: each bar with a
tooltip of its own would make up a quarter of a large page. A point without a value is a gap in its line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from analyzer.analysis.charts.chart import At, Axis, Bars, Chart, Note, Points, Upright, as_number
from analyzer.readable import counted, percent
from analyzer.report.page.axes import RIGHT, Frame, frame, number, part, scale_of, stroke
from analyzer.report.page.elements import (
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
        low, high = (percent(end) if form.endswith("%") else number(end, form) for end in (min(values), max(values)))
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


_FRAGMENT = re.compile(
    r'(<div id="[a-z0-9-]+" class="plotly-graph-div"[^>]*></div>)\s*<script[^>]*>(.*)</script>', re.DOTALL
)
_LEGEND_HEIGHT = 60
"""Pixels that a figure keeps for its legend."""
_CONFIG = {"displayModeBar": False, "responsive": True, "showTips": False, "doubleClick": False}


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    swatch: Svg
    """A piece of what is drawn."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as a page shows it."""

    title: str
    note: str
    """What is left out; empty where nothing is."""
    keys: tuple[Key, ...]
    """The legend."""
    height: int
    """Pixels."""
    picture: Svg
    place: str = ""
    """The element that plotly draws into, where it does."""
    script: str = ""
    """Without its tags."""


def draw(chart: Chart, name: str, height: int | None = None, *, interactive: bool = False) -> Drawing:
    """The chart for a page; `name` becomes the id of its element. `height` in pixels, its own where None."""
    height = height or chart.height - _LEGEND_HEIGHT
    keys = tuple(Key(mark.name, swatch(mark, f"{name}-key-{place}")) for place, mark in enumerate(chart.keyed))
    drawing = Drawing(chart.title, chart.note, keys, height, picture(chart, name, height))
    return _interactive(drawing, chart, name) if interactive else drawing


def _interactive(drawing: Drawing, chart: Chart, name: str) -> Drawing:
    from analyzer.analysis.charts.figures import figure_of

    figure = figure_of(chart)
    # The page itself says title and legend above the chart, where they wrap on a phone.
    figure.update_layout(title=None, showlegend=False, height=drawing.height, margin={"t": 12})
    fragment = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=_CONFIG)
    match = _FRAGMENT.search(fragment)
    assert match is not None, "plotly's fragment is an element and a script"
    return replace(drawing, place=match[1], script=match[2])


def plotly_script() -> str:
    """The source of plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


MAX_APART = 400
"""Upright bars of a picture that are elements of their own, each with its tooltip."""
_ACROSS = 10_000
"""Units of a shape over the width of the picture; a pixel has ten in its height."""
_THINNEST = 0.0022
"""Of the width, so that a day of two years can be seen on a phone."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, or one piece of a stack, in values of its axes."""

    begin: float
    """Of its width."""
    end: float
    base: float
    top: float
    tip: str
    whisker: tuple[float, float] | None
    """Both ends of its interval."""


Stood = Sequence[tuple[Bars, Sequence[Bar]]]
"""Each series with its bars."""


def bars_of(chart: Chart) -> list[tuple[Bars, list[Bar]]]:
    """The bars of each series; the empty ones, which nothing is drawn of, are not among them."""
    series = [mark for mark in chart.marks if isinstance(mark, Bars)]
    heights: dict[tuple[bool, At], float] = defaultdict(float)
    slot = (1 - chart.gap) / (1 if chart.stacked else max(1, len(series)))
    found = []
    for place, one in enumerate(series):
        bars = []
        for nth, (at, length, tip) in enumerate(zip(one.at, one.lengths, one.tips, strict=True)):
            base = heights[one.lower, at] if chart.stacked else 0.0
            heights[one.lower, at] += length
            if chart.lying:
                begin = one.at.index(at) - (1 - chart.gap) / 2 + (0 if chart.stacked else slot * place)
                end = begin + slot
            else:
                begin = as_number(at) - (one.width / 2 if one.centred else 0)
                end = begin + one.width
            if length:
                bars.append(Bar(begin, end, base, base + length, tip, one.intervals[nth] if one.intervals else None))
        found.append((one, bars))
    return found


def drawn_bars(frame: Frame, stood: Stood, fills: Sequence[str], name: str, *, lying: bool) -> Iterator[Svg]:
    """All bars; `name` begins the ids in them."""
    many = not lying and sum(len(bars) for _, bars in stood) > MAX_APART
    for place, ((series, bars), fill) in enumerate(zip(stood, fills, strict=True)):
        if many:
            yield from _series(frame, series, bars, fill, f"{name}-bars-{place}")
        else:
            yield from _apart(frame, series, bars, fill, lying=lying)
    if many:
        yield _columns(frame, stood)


def _across(frame: Frame, bar: Bar) -> tuple[float, float]:
    """Both sides of an upright bar, as shares of the width."""
    left, right = sorted(map(frame.x.place, (bar.begin, bar.end)))
    return left, max(right, left + _THINNEST)


def _apart(frame: Frame, series: Bars, bars: Sequence[Bar], fill: str, *, lying: bool) -> Iterator[Svg]:
    plot = frame.plots[series.lower]
    pieces, whiskers = [], []
    for bar in bars:
        left, right = sorted(map(frame.x.place, (bar.base, bar.top))) if lying else _across(frame, bar)
        ends = (bar.begin, bar.end) if lying else (bar.base, bar.top)
        upper, lower = sorted(plot.level(plot.scale.place(end)) for end in ends)
        said = title(bar.tip)
        pieces.append(element("rect", said, x=part(left), y=upper, width=part(right - left), height=lower - upper))
        if bar.whisker:
            middle, (low, high) = (upper + lower) / 2, map(frame.percent, bar.whisker)
            whiskers.append(element("line", x1=low, x2=high, y1=middle, y2=middle))
            whiskers += (element("line", x1=end, x2=end, y1=middle - 3, y2=middle + 3) for end in (low, high))
    yield element("g", *pieces, fill=fill)
    if whiskers:
        # In ink: they lie over bars.
        yield element("g", *whiskers, stroke="var(--ink)", stroke_width=1.5)


def _series(frame: Frame, series: Bars, bars: Sequence[Bar], fill: str, name: str) -> Iterator[Svg]:
    """The bars of one series as a window of an id onto its fill, so that a pattern keeps its form at any width."""
    plot = frame.plots[series.lower]
    outline = []
    for bar in bars:
        left, right = (round(_ACROSS * each) for each in _across(frame, bar))
        upper, lower = sorted(round(10 * plot.level(plot.scale.place(each))) for each in (bar.base, bar.top))
        outline.append(f"M{left} {upper}h{right - left}v{lower - upper}h{left - right}z")
    # A clip takes the units of what it clips, which is as wide as the picture: 1 by 1.
    shape = element("path", d="".join(outline), transform=f"scale({1 / _ACROSS:g} {0.1 / frame.bottom:.6g})")
    yield element("clipPath", shape, id=name, clipPathUnits="objectBoundingBox")
    yield element("rect", width="100%", height=frame.bottom, fill=fill, clip_path=f"url(#{name})")


def _columns(frame: Frame, stood: Stood) -> Svg:
    """What a pointer meets over each place that has bars: all that they say."""
    said: dict[tuple[bool, float, float], list[str]] = defaultdict(list)
    for series, bars in stood:
        for bar in bars:
            said[series.lower, *_across(frame, bar)].append(bar.tip)
    columns = []
    for (lower, left, right), texts in said.items():
        plot, text = frame.plots[lower], title(_together(texts))
        columns.append(element("rect", text, x=part(left), y=plot.top, width=part(right - left), height=plot.height))
    return element("g", *columns, class_="columns", fill="transparent")


def _together(texts: Sequence[str]) -> str:
    """One text a line; what all of them begin with stands once above them."""
    heads = {text.partition(": ")[0] for text in texts}
    if len(texts) < 2 or len(heads) > 1:
        return "\n".join(texts)
    return "\n".join([*heads, *(text.partition(": ")[2] for text in texts)])


MAX_TOLD = 1_500
"""Points of lines with a tooltip of their own; of the others the line has one."""
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_HALF = 7
"""Pixels of half the height of a line of text."""
_Run = list[tuple[float, float]]


def drawn_lines(frame: Frame, lines: Sequence[Points]) -> Iterator[Svg]:
    """All lines; the last ones, which lie on top, tell their points, as many as go."""
    told, left = set(), MAX_TOLD
    for place, line in reversed(list(enumerate(lines))):
        left -= len(line.at) if line.size else 0
        if left >= 0:
            told.add(place)
    for place, line in enumerate(lines):
        yield from _line(frame, line, told=place in told)


def _line(frame: Frame, line: Points, *, told: bool) -> Iterator[Svg]:
    runs = _runs(frame, line, line.values)
    colour, opacity = paint(line.colour), FAINT if line.faint else None
    path = "".join(map(_path, runs))
    clipped = not line.size  # what was expected goes on beyond the days that are shown
    if line.floor:
        floor = _runs(frame, line, line.floor)
        outline = [*_all(runs), *reversed(_all(floor))]
        yield frame.stretched(element("path", d=_path(outline) + "Z", fill=colour, fill_opacity=BAND), clipped=clipped)
        # No edge along the axis itself.
        path += "".join(map(_path, floor)) if any(line.floor) else ""
    if line.width:
        look = {"stroke_linejoin": "round", "opacity": opacity}
        yield frame.stretched(stroke(path, colour, line.width, DASHES[line.dash], **look), clipped=clipped)
    if line.size and told:
        yield element("g", *_marks(frame, line), fill=colour, opacity=opacity)
    elif line.size:
        dots = "".join(f"M{pixels(x)} {pixels(y)}h0" for points in runs for x, y in points)
        said = title(line.opening or line.name)
        yield frame.stretched(stroke(dots, colour, line.size, None, said, opacity=opacity, stroke_linecap="round"))


def _runs(frame: Frame, line: Points, values: Sequence[float | None]) -> list[_Run]:
    """The stretches of a line without a gap, in thousandths of the width and in pixels."""
    found: list[_Run] = [[]]
    for at, value in zip(line.at, values, strict=True):
        if value is None:
            found.append([])
        else:
            found[-1].append((1000 * frame.x.share(at), frame.plots[0].y(value)))
    return [_stairs(points) if line.stepped else points for points in found if points]


def _stairs(points: _Run) -> _Run:
    """The corners of a line that changes its height half-way between two points."""
    corners = points[:1]
    for (x, y), (later, height) in pairwise(points):
        middle = (x + later) / 2
        corners += [(middle, y), (middle, height)]
    return [*corners, points[-1]]


def _marks(frame: Frame, line: Points) -> Iterator[Svg]:
    for place, (at, value) in enumerate(zip(line.at, line.values, strict=True)):
        if value is None:
            continue
        said, x, y = title(line.tips[place]), frame.percent(at), frame.plots[0].y(value)
        if line.symbol:
            yield symbol(line, said, x=x, y=y)
        else:
            yield element("circle", said, cx=x, cy=y, r=line.size / 2)
        if line.texts:
            yield element("text", line.texts[place], x=x, y=y, dx=10, dy=".35em", class_="said", fill="var(--soft)")


def _all(runs: list[_Run]) -> _Run:
    return [point for points in runs for point in points]


def _path(points: _Run) -> str:
    return "".join(f"{'L' if place else 'M'}{pixels(x)} {pixels(y)}" for place, (x, y) in enumerate(points))


def drawn_upright(frame: Frame, upright: Upright) -> Iterator[Svg]:
    """An upright line through the upper plot, and its words."""
    plot, at = frame.plots[0], frame.percent(upright.at)
    yield element(
        "line", x1=at, x2=at, y1=plot.top, y2=plot.top + plot.height, stroke=paint(upright.colour),
        stroke_width=f"{upright.width:g}", stroke_dasharray=DASHES[upright.dash],
    )  # fmt: skip
    aside, anchor = (-5, "end") if upright.left else (5, "start")
    look = {"class_": "said", "style": f"--said:{paint(upright.colour)}"}
    yield element("text", upright.text, x=at, y=plot.top, dx=aside, dy=".9em", text_anchor=anchor, **look)


def drawn_note(frame: Frame, note: Note) -> Iterator[Svg]:
    """A text at a point or above it, to which a stroke leads."""
    at, y = frame.percent(note.x), frame.plots[0].y(note.y)
    if note.up:
        colour = paint(note.colour)
        yield element("line", x1=at, x2=at, y1=y - note.up + _HALF, y2=y - 8, stroke=colour)
    look = {"class_": "said strong" if note.strong else "said", "style": f"--said:{paint(note.colour)}"}
    aside = None if note.up else 6
    anchor = _ANCHORS[note.side]
    yield element("text", note.text, x=at, y=y - note.up, dx=aside, dy=".35em", text_anchor=anchor, **look)
