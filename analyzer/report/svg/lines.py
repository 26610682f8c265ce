"""Lines, bands and symbols, and the words inside a plot; a point without a value is a gap in its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from analyzer.analysis.charts.chart import Note, Points, Upright
from analyzer.report.svg.element import Svg, element, pixels, title
from analyzer.report.svg.frame import Frame, stroke
from analyzer.report.svg.looks import BAND, DASHES, FAINT, paint, symbol

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
