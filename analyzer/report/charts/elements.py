"""`Svg`, markup for the page, and the looks of series: colours, patterns, symbols.

Any other text is escaped, and its invisible characters become codes. No colour is written into a
picture: each is a custom property, which the page sets for light and for dark.
"""

from __future__ import annotations

import html

from analyzer.analysis.charts.chart import DARK, HALO, INK, MARK, Bars, Mark, Points, Style
from analyzer.report.escape import terminal_safe


class Svg(str):
    """Markup, which templates do not escape."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: str, **attributes: object) -> Svg:
    """Make an element; `_` in the name of an attribute becomes `-`, and is dropped at the end.

    An attribute that is None is left out.
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, Svg) else _text(child) for child in children)
    return Svg(f"<{tag}{named}>{inner}</{tag}>" if children else f"<{tag}{named}/>")


def title(text: str) -> Svg:
    """Make the tooltip of the element that contains it.

    The line breaks of the text are our own, and stay.
    """
    return Svg(f"<title>{html.escape(terminal_safe(text, keep=chr(10)))}</title>")


def pixels(value: float) -> str:
    """Write a length or a coordinate to a tenth of a pixel, without a zero at its end."""
    # Adding zero takes the sign from a zero.
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def _text(value: object) -> str:
    return html.escape(pixels(value) if isinstance(value, float) else terminal_safe(str(value)))


SWATCH_WIDTH, SWATCH_HEIGHT = 22, 12
_OWN = {INK: "var(--soft)", HALO: "var(--card)", MARK: "var(--card)"}
"""The colours of the page itself."""
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
"""The outlines of symbols around their middle, ten units wide or a little more."""
DASHES = {"": None, "dash": "6 4", "dot": "2 3"}
BAND, FAINT = ".22", "0.6"
"""The opacities of a band and of a series in the background."""


def paint(colour: str) -> str:
    """Return the custom property of the page that holds a colour."""
    assert colour in _OWN or colour in DARK, f"the page has no colour {colour}"
    return _OWN.get(colour) or f"var(--c-{colour[1:]})"


def palette() -> str:
    """Return the style that sets the colours of all series, for light paper and for dark."""
    light = "".join(f"--c-{colour[1:]}:{colour};" for colour in DARK)
    dark = "".join(f"--c-{colour[1:]}:{other};" for colour, other in DARK.items())
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def pattern(name: str, style: Style) -> tuple[str, Svg]:
    """Return the fill of a bar, and the pattern with the id `name` that it uses.

    Empty for a plain colour.
    """
    colour, shape = paint(style[0]), style[1]
    if not shape:
        return colour, Svg("")
    strokes = element(
        "path", d=_PATTERNS[shape], fill="none", stroke=paint(MARK), stroke_width=_WEIGHTS.get(shape, 1.3),
        stroke_linecap="round" if shape == "." else None, stroke_opacity=0.75,
    )  # fmt: skip
    whole = element("path", d="M0 0H6V6H0Z", fill=colour)
    return f"url(#{name})", element(
        "pattern", whole, strokes, id=name, width=6, height=6, patternUnits="userSpaceOnUse"
    )


def symbol(line: Points, *inside: Svg, **placed: object) -> Svg:
    """Draw a mark of a line in its size; `placed` are the coordinates of its middle."""
    halo = {"stroke": paint(HALO), "stroke_width": f"{line.size / 9:.3g}"} if line.symbol else {}
    scale = line.size / 12
    transform = None if scale == 1 else f"scale({scale:.3g})"
    outline = _SYMBOLS[line.symbol or "circle"]
    path = element("path", *inside, d=outline, fill=paint(line.colour), transform=transform, **halo)
    return element("svg", path, overflow="visible", **placed)


def swatch(mark: Mark, name: str) -> Svg:
    """Draw the sample of a series for its entry in a legend.

    `name` becomes the id of its pattern.
    """
    middle = SWATCH_HEIGHT / 2
    parts: list[Svg] = []
    if isinstance(mark, Bars):
        fill, defined = pattern(name, mark.style)
        parts = [defined, element("path", d=f"M4 0H18V{SWATCH_HEIGHT}H4Z", fill=fill)]
    else:
        path = f"M0 {middle:g}H{SWATCH_WIDTH}"
        if mark.floor:
            path = f"M0 .5H{SWATCH_WIDTH}M0 {SWATCH_HEIGHT - 0.5}H{SWATCH_WIDTH}"
            whole = f"M0 0H{SWATCH_WIDTH}V{SWATCH_HEIGHT}H0Z"
            parts.append(element("path", d=whole, fill=paint(mark.colour), fill_opacity=BAND))
        if mark.width:
            parts.append(
                element(
                    "path", d=path, stroke=paint(mark.colour), stroke_width=mark.width,
                    stroke_dasharray=DASHES[mark.dash], stroke_opacity=FAINT if mark.faint else None,
                )
            )  # fmt: skip
        if mark.size:
            parts.append(symbol(mark, x=SWATCH_WIDTH / 2, y=middle))
    return element("svg", *parts, class_="key", width=SWATCH_WIDTH, height=SWATCH_HEIGHT, aria_hidden="true")
