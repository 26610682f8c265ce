"""What series look like: colours as properties of the page, patterns on bars, symbols, and the swatches of a legend.

Invariant: no colour is written into a picture; each is a custom property, which the page sets for light and for dark.
"""

from __future__ import annotations

import re
from typing import Any

from analyzer.analysis.charts.colours import DARK, GRID, HALO, INK, MARK
from analyzer.report.svg.element import Svg, element
from analyzer.report.svg.refusal import refused

SWATCH_WIDTH, SWATCH_HEIGHT = 22, 12
_OWN = {INK: "var(--soft)", HALO: "var(--card)", MARK: "var(--card)", GRID: "var(--line)"}
"""Colours of the page itself."""
_PATTERNS = {
    "/": "M-1 1L1-1M0 6L6 0M5 7L7 5",
    "\\": "M-1 5L1 7M0 0L6 6M5-1L7 1",
    "x": "M0 6L6 0M0 0L6 6",
    "-": "M0 3H6",
    "|": "M3 0V6",
    "+": "M0 3H6M3 0V6",
    ".": "M3 3h0",
}
_WEIGHTS = {".": 2.4, "x": 0.9, "+": 0.9}
_SYMBOLS = {
    "circle": "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1-5 0Z",
    "diamond": "M0-6.5L6.5 0L0 6.5L-6.5 0Z",
    "square": "M-5-5H5V5H-5Z",
    "triangle-up": "M0-6L5.8 4.5H-5.8Z",
    "star": "M0-7L1.7-2.3L6.7-2.2L2.7.9L4.1 5.7L0 2.9L-4.1 5.7L-2.7.9L-6.7-2.2L-1.7-2.3Z",
    "cross": "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",
    "hexagon": "M0-6L5.2-3V3L0 6L-5.2 3V-3Z",
    "x": "M-6-3.5L-3.5-6L0-2.5L3.5-6L6-3.5L2.5 0L6 3.5L3.5 6L0 2.5L-3.5 6L-6 3.5L-2.5 0Z",
}
"""Outlines around the middle, ten units wide or a little more."""
_DASHES = {"dash": "6 4", "dot": "2 3"}


def paint(colour: str) -> str:
    """The colour as a property of the page.

    Raises:
        AnalyzerError: the page has none of it.
    """
    if colour in _OWN:
        return _OWN[colour]
    if colour not in DARK:
        raise refused(f"the colour {colour}")
    return f"var(--c-{colour[1:]})"


def translucent(colour: str) -> tuple[str, str]:
    """A colour with its opacity, `rgba(47,143,208,.22)`, as a property of the page and the opacity."""
    match = re.fullmatch(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)", colour)
    if match is None:
        raise refused(f"the colour {colour}")
    return paint("#" + "".join(f"{int(part):02x}" for part in match.groups()[:3])), match[4]


def palette() -> str:
    """The style that sets the colours of all series, for light paper and for dark."""
    light = "".join(f"--c-{colour[1:]}:{colour};" for colour in DARK)
    dark = "".join(f"--c-{colour[1:]}:{other};" for colour, other in DARK.items())
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def dashes(line: Any) -> str | None:
    """The dashes of a line; None where it has none."""
    return _DASHES[line["dash"]] if line.get("dash") else None


def pattern(name: str, marker: Any) -> tuple[str, Svg]:
    """How a bar is filled, and what `name` stands for in its picture; empty where it is one colour."""
    shape, colour = marker.get("pattern", {}).get("shape", ""), paint(marker["color"])
    if not shape:
        return colour, Svg("")
    drawn = element(
        "pattern",
        element("path", d="M0 0H6V6H0Z", fill=colour),
        element(
            "path",
            d=_PATTERNS[shape],
            fill="none",
            stroke=paint(marker["pattern"]["fgcolor"]),
            stroke_width=_WEIGHTS.get(shape, 1.3),
            stroke_linecap="round" if shape == "." else None,
            stroke_opacity=0.75,
        ),
        id=name,
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    )
    return f"url(#{name})", drawn


def symbol(marker: Any, *inside: Svg, **placed: object) -> Svg:
    """A symbol in its size, around the middle of where it is placed."""
    name, scale = marker.get("symbol", "circle"), marker["size"] / 12
    if name not in _SYMBOLS:
        raise refused(f"the symbol {name}")
    edge = marker.get("line", {})
    path = element(
        "path",
        *inside,
        d=_SYMBOLS[name],
        fill=paint(marker["color"]),
        transform=None if scale == 1 else f"scale({scale:.3g})",
        stroke=paint(edge["color"]) if edge.get("width") else None,
        stroke_width=edge.get("width") or None,
    )
    return element("svg", path, overflow="visible", **placed)


def swatch(trace: Any, name: str) -> Svg:
    """A piece of a series for its entry in a legend; `name` becomes the id of its pattern."""
    middle = SWATCH_HEIGHT / 2
    parts: list[Svg] = []
    if trace["type"] == "bar":
        fill, defined = pattern(name, trace["marker"])
        parts = [defined, element("path", d=f"M4 0H18V{SWATCH_HEIGHT}H4Z", fill=fill)]
    elif trace.get("fill"):
        colour, opacity = translucent(trace["fillcolor"])
        parts.append(element("path", d=f"M0 0H{SWATCH_WIDTH}V{SWATCH_HEIGHT}H0Z", fill=colour, fill_opacity=opacity))
    if "lines" in trace.get("mode", ""):
        line = trace["line"]
        path = f"M0 {middle:g}H{SWATCH_WIDTH}"
        if trace.get("fill"):
            path = f"M0 .5H{SWATCH_WIDTH}M0 {SWATCH_HEIGHT - 0.5}H{SWATCH_WIDTH}"
        parts.append(
            element(
                "path", d=path, stroke=paint(line["color"]), stroke_width=line["width"], stroke_dasharray=dashes(line),
                stroke_opacity=trace.get("opacity"),
            )
        )  # fmt: skip
    if "markers" in trace.get("mode", ""):
        parts.append(symbol(trace["marker"], x=SWATCH_WIDTH / 2, y=middle))
    return element(
        "svg", *parts, class_="key", width=SWATCH_WIDTH, height=SWATCH_HEIGHT, aria_hidden="true",
    )  # fmt: skip
