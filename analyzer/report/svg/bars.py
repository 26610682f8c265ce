"""Bars, upright by day or number and lying by category: stacked or beside each other, with whiskers and patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.report.svg.element import Svg, element, title
from analyzer.report.svg.formats import tooltip
from analyzer.report.svg.frame import Frame, part
from analyzer.report.svg.refusal import refused
from analyzer.report.svg.scales import as_number


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, or one piece of a stack, in values of its axes."""

    begin: float
    """Of its width."""
    end: float
    base: float
    top: float
    point: Mapping[str, Any]
    """What its tooltip may say."""
    whisker: tuple[float, float] | None
    """Both ends of its interval."""


def bars_of(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> list[list[Bar]]:
    """The bars of each trace.

    Raises:
        AnalyzerError: upright ones have no width, or stacked ones go below zero.
    """
    stacked = layout.get("barmode") == "stack"
    heights: dict[tuple[str, Any], float] = defaultdict(float)
    names = list(dict.fromkeys(name for trace in traces if lying(trace) for name in trace["y"]))
    found = []
    for place, trace in enumerate(traces):
        along, lengths = (trace["y"], trace["x"]) if lying(trace) else (trace["x"], trace["y"])
        errors = trace.get("error_x")
        bars = []
        for number, (at, length) in enumerate(zip(along, lengths, strict=True)):
            base = heights[trace.get("yaxis", "y"), at] if stacked else 0.0
            if stacked and length < 0:
                raise refused("a stack that goes below zero")
            heights[trace.get("yaxis", "y"), at] += length
            if lying(trace):
                slot = (1 - layout.get("bargap", 0.2)) / (1 if stacked else len(traces))
                begin = names.index(at) - (1 - layout.get("bargap", 0.2)) / 2 + (0 if stacked else slot * place)
                end = begin + slot
            elif "width" not in trace:
                raise refused("upright bars without a width")
            else:
                begin = as_number(at) + (trace["offset"] if "offset" in trace else -trace["width"][number] / 2)
                end = begin + trace["width"][number]
            point = {"x": trace["x"][number], "y": trace["y"][number]}
            if "customdata" in trace:
                point["customdata"] = trace["customdata"][number]
            whisker = (length - errors["arrayminus"][number], length + errors["array"][number]) if errors else None
            bars.append(Bar(begin, end, base, base + length, point, whisker))
        found.append(bars)
    return found


def lying(trace: Mapping[str, Any]) -> bool:
    """Whether bars go to the right."""
    return trace.get("orientation") == "h"


def drawn_bars(frame: Frame, trace: Mapping[str, Any], bars: Sequence[Bar], fill: str) -> Iterator[Svg]:
    """The bars of one trace."""
    plot = frame.plots[trace.get("yaxis", "y")]
    pieces = []
    for bar in bars:
        if bar.top == bar.base:
            continue
        shares = sorted(frame.x.share(each) for each in ((bar.base, bar.top) if lying(trace) else (bar.begin, bar.end)))
        ends = (bar.begin, bar.end) if lying(trace) else (bar.base, bar.top)
        upper, lower = sorted(plot.level(plot.scale.place(end)) for end in ends)
        said = title(tooltip(trace["hovertemplate"], bar.point))
        pieces.append(
            element("rect", said, x=part(shares[0]), y=upper, width=part(shares[1] - shares[0]), height=lower - upper)
        )
    yield element("g", *pieces, fill=fill)
    whiskers = [piece for bar in bars if bar.whisker for piece in _whisker(frame, trace, bar)]
    if whiskers:
        # In ink: they lie over bars.
        yield element("g", *whiskers, stroke="var(--ink)", stroke_width=trace["error_x"]["thickness"])


def _whisker(frame: Frame, trace: Mapping[str, Any], bar: Bar) -> Iterator[Svg]:
    assert bar.whisker is not None
    plot = frame.plots[trace.get("yaxis", "y")]
    middle = plot.level(plot.scale.place((bar.begin + bar.end) / 2))
    low, high = (frame.percent(end) for end in bar.whisker)
    yield element("line", x1=low, x2=high, y1=middle, y2=middle)
    for end in (low, high):
        yield element("line", x1=end, x2=end, y1=middle - 3, y2=middle + 3)
