"""Bars: upright by day or number, lying by category; stacked or side by side, with whiskers and patterns.

Where upright ones are many, as the days of a year, a series is one shape and a column has one tooltip: each bar with a
tooltip of its own would make up a quarter of a large page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzer.analysis.charts.chart import At, Bars, Chart, as_number
from analyzer.report.svg.element import Svg, element, title
from analyzer.report.svg.frame import Frame, part

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
