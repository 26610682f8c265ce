"""Lines, bands between two lines, and symbols; a point without a value is a gap in its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from analyzer.report.svg.element import Svg, element, pixels, title
from analyzer.report.svg.formats import plain, tooltip
from analyzer.report.svg.frame import Frame, stroke
from analyzer.report.svg.looks import dashes, paint, symbol, translucent

_Points = list[tuple[float, float]]


def runs(frame: Frame, trace: Mapping[str, Any]) -> list[_Points]:
    """The stretches of a line without a gap, in thousandths of the width and in pixels."""
    plot = frame.plots[trace.get("yaxis", "y")]
    found: list[_Points] = [[]]
    for x, y in zip(trace["x"], trace["y"], strict=True):
        if y is None:
            found.append([])
        else:
            found[-1].append((1000 * frame.x.share(x), plot.y(y)))
    steps = trace.get("line", {}).get("shape") == "hvh"
    return [_stairs(points) if steps else points for points in found if points]


def _stairs(points: _Points) -> _Points:
    """The corners of a line that changes its height half-way between two points."""
    corners = points[:1]
    for (x, y), (later, height) in pairwise(points):
        middle = (x + later) / 2
        corners += [(middle, y), (middle, height)]
    return [*corners, points[-1]]


def drawn_line(frame: Frame, trace: Mapping[str, Any], below: Mapping[str, Any] | None, *, told: bool) -> Iterator[Svg]:
    """One trace; `below` is the one before it, to which a band goes. Where points are many they are not `told`: the
    line has one tooltip for all."""
    lines = runs(frame, trace)
    opacity = trace.get("opacity")
    shown = f"{opacity:g}" if opacity not in (None, 1) else None
    clipped = trace.get("cliponaxis", True)
    if trace.get("fill") and below is not None:
        colour, share = translucent(trace["fillcolor"])
        outline = [*_all(lines), *reversed(_all(runs(frame, below)))]
        yield frame.stretched(element("path", d=_path(outline) + "Z", fill=colour, fill_opacity=share), clipped=clipped)
    if "lines" in trace["mode"] and (width := trace["line"].get("width")):
        path = "".join(map(_path, lines))
        line = stroke(
            path, paint(trace["line"]["color"]), width, dashes(trace["line"]), stroke_linejoin="round", opacity=shown
        )
        yield frame.stretched(line, clipped=clipped)
    if "markers" in trace["mode"] and told:
        yield element("g", *_marks(frame, trace), fill=paint(trace["marker"]["color"]), opacity=shown)
    elif "markers" in trace["mode"]:
        dots = "".join(f"M{pixels(x)} {pixels(y)}h0" for points in lines for x, y in points)
        colour, said = paint(trace["marker"]["color"]), title(_name(trace))
        dotted = stroke(dots, colour, trace["marker"]["size"], None, said, opacity=shown, stroke_linecap="round")
        yield frame.stretched(dotted)


def _marks(frame: Frame, trace: Mapping[str, Any]) -> Iterator[Svg]:
    plot, marker = frame.plots[trace.get("yaxis", "y")], trace["marker"]
    for place, (x, y) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        if y is None:
            continue
        point = {"x": x, "y": y, **({"customdata": trace["customdata"][place]} if "customdata" in trace else {})}
        said = title(tooltip(trace["hovertemplate"], point))
        if marker.get("symbol"):
            yield symbol(marker, said, x=frame.percent(x), y=plot.y(y))
        else:
            yield element("circle", said, cx=frame.percent(x), cy=plot.y(y), r=marker["size"] / 2)
        if "text" in trace["mode"]:
            yield element(
                "text", trace["text"][place].strip(), x=frame.percent(x), y=plot.y(y), dx=10, dy=".35em", class_="said",
                fill="var(--soft)",
            )  # fmt: skip


def _name(trace: Mapping[str, Any]) -> str:
    """What a trace is called where its points are not told: what its tooltips begin with, else its name."""
    begin = plain(str(trace.get("hovertemplate", "")).split("%{", 1)[0]).strip()
    return begin or plain(str(trace["name"]))


def _all(lines: list[_Points]) -> _Points:
    return [point for points in lines for point in points]


def _path(points: _Points) -> str:
    return "".join(f"{'L' if place else 'M'}{pixels(x)} {pixels(y)}" for place, (x, y) in enumerate(points))
