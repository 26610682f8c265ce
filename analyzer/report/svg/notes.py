"""What a figure says inside its plots: texts, some with a stroke to their point, and upright lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.report.svg.element import Svg, element
from analyzer.report.svg.formats import plain
from analyzer.report.svg.frame import Frame
from analyzer.report.svg.looks import dashes, paint

_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_HALF = 7
"""Pixels of half the height of a line of text."""


def drawn_shape(frame: Frame, shape: Mapping[str, Any]) -> Svg:
    """An upright line through the upper plot."""
    plot, at, line = frame.plots["y"], frame.percent(shape["x0"]), shape["line"]
    return element(
        "line", x1=at, x2=at, y1=plot.top, y2=plot.top + plot.height, stroke=paint(line["color"]),
        stroke_width=f"{line['width']:g}", stroke_dasharray=dashes(line),
    )  # fmt: skip


def drawn_note(frame: Frame, note: Mapping[str, Any]) -> Iterator[Svg]:
    """A text at a point or above it; a stroke leads to the point where there is an arrow."""
    plot, at = frame.plots["y"], frame.percent(note["x"])
    y = plot.level(note["y"]) if note.get("yref") == "y domain" else plot.y(note["y"])
    text = plain(note["text"])
    anchor = _ANCHORS[note.get("xanchor", "center")]
    aside = note.get("xshift", 0) or {"start": 5, "end": -5}.get(anchor, 0) * (text != text.strip())
    colour = note.get("font", {}).get("color")
    look = {
        "class_": "said strong" if "<b>" in note["text"] else "said",
        "style": f"--said:{paint(colour)}" if colour else None,
    }
    if note.get("showarrow"):
        end = y - note.get("standoff", 0)
        tail = y + note["ay"]
        yield element("line", x1=at, x2=at, y1=tail + _HALF, y2=end, stroke=paint(note["arrowcolor"]))
        y, down = tail, ".35em"
    else:
        down = ".9em" if note.get("yanchor") == "top" else ".35em"
    yield element("text", text.strip(), x=at, y=y, dx=aside or None, dy=down, text_anchor=anchor, **look)
