"""Bars, lines, bands and symbols of a chart, and the words inside a plot.

Where upright bars are many, as the days of a year, a series is one shape and a column has one tooltip: each bar with a
tooltip of its own would make up a quarter of a large page. A point without a value is a gap in its line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from analyzer.analysis.charts.chart import At, Bars, Chart, Note, Points, Upright, as_number
from analyzer.report.page.axes import Frame, part, stroke
from analyzer.report.page.elements import BAND, DASHES, FAINT, Svg, element, paint, pixels, symbol, title

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
        for number, (at, length, tip) in enumerate(zip(one.at, one.lengths, one.tips, strict=True)):
            base = heights[one.lower, at] if chart.stacked else 0.0
            heights[one.lower, at] += length
            if chart.lying:
                begin = one.at.index(at) - (1 - chart.gap) / 2 + (0 if chart.stacked else slot * place)
                end = begin + slot
            else:
                begin = as_number(at) - (one.width / 2 if one.centred else 0)
                end = begin + one.width
            if length:
                bars.append(Bar(begin, end, base, base + length, tip, one.intervals[number] if one.intervals else None))
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
