"""Upright bars where they are many, as the days of a year: one shape a series, and one tooltip a column.

Each bar with a tooltip of its own would make up a quarter of a large page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.report.svg.bars import Bar, lying
from analyzer.report.svg.element import Svg, element, title
from analyzer.report.svg.formats import tooltip
from analyzer.report.svg.frame import Frame, part

MAX_APART = 400
"""Upright bars of a picture that are elements of their own, each with its tooltip."""
_ACROSS = 10_000
"""Units of a shape over the width of the picture; a pixel has ten in its height."""
_Stood = Sequence[tuple[Mapping[str, Any], Sequence[Bar]]]


def are_many(stood: _Stood) -> bool:
    """Whether the bars of all traces are too many to be elements of their own."""
    return sum(bar.top != bar.base for trace, bars in stood if not lying(trace) for bar in bars) > MAX_APART


def drawn_series(frame: Frame, trace: Mapping[str, Any], bars: Sequence[Bar], fill: str, name: str) -> Iterator[Svg]:
    """The bars of one trace as a window of an id onto its fill, so that a pattern keeps its form at any width."""
    plot = frame.plots[trace.get("yaxis", "y")]
    outline = []
    for bar in bars:
        if bar.top != bar.base:
            left, right = sorted(round(_ACROSS * frame.x.share(each)) for each in (bar.begin, bar.end))
            upper, lower = sorted(round(10 * plot.level(plot.scale.place(each))) for each in (bar.base, bar.top))
            outline.append(f"M{left} {upper}h{right - left}v{lower - upper}h{left - right}z")
    # A clip takes the units of what it clips, which is as wide as the picture: 1 by 1.
    shape = element("path", d="".join(outline), transform=f"scale({1 / _ACROSS:g} {0.1 / frame.bottom:.6g})")
    yield element("clipPath", shape, id=name, clipPathUnits="objectBoundingBox")
    yield element("rect", width="100%", height=frame.bottom, fill=fill, clip_path=f"url(#{name})")


def drawn_columns(frame: Frame, stood: _Stood) -> Svg:
    """What a pointer meets over each place that has bars: all that they say."""
    said: dict[tuple[str, float, float], list[str]] = defaultdict(list)
    for trace, bars in stood:
        for bar in bars:
            if bar.top != bar.base:
                column = (trace.get("yaxis", "y"), bar.begin, bar.end)
                said[column].append(tooltip(trace["hovertemplate"], bar.point))
    columns = []
    for (axis, *ends), texts in said.items():
        left, right = sorted(frame.x.share(end) for end in ends)
        plot = frame.plots[axis]
        text = title(_together(texts))
        columns.append(element("rect", text, x=part(left), y=plot.top, width=part(right - left), height=plot.height))
    return element("g", *columns, class_="columns", fill="transparent")


def _together(texts: Sequence[str]) -> str:
    """One text a line; what all of them begin with stands once above them."""
    heads = {text.partition(": ")[0] for text in texts}
    if len(texts) < 2 or len(heads) > 1:
        return "\n".join(texts)
    return "\n".join([*heads, *(text.partition(": ")[2] for text in texts)])
