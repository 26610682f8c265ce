"""`Frame`: the plots of a figure over one horizontal axis, with their grids, ticks and titles.

Widths are percent of the plot, so that one picture fits a phone and a desk; heights and texts are pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzer.analysis.charts.chart import LOWER_TOP, UPPER_BOTTOM, At
from analyzer.report.svg.element import Svg, element, pixels
from analyzer.report.svg.scales import AxisScale

TOP, RIGHT = 12, 20
_LETTER = 7.2
"""Pixels of a letter in a label, rather too many."""
_LINE, _GAP, _TITLE = 15, 8, 22
"""Heights of a line of a label, of what is between it and the plot, and of a title."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One of the plots above each other."""

    scale: AxisScale
    top: float
    height: float

    def y(self, at: At) -> float:
        """Where a value stands: pixels from the top of the picture."""
        return self.level(self.scale.share(at))

    def level(self, share: float) -> float:
        """The same of a place on the scale."""
        return self.top + (1 - share) * self.height


@dataclass(frozen=True, slots=True)
class Frame:
    """All plots."""

    x: AxisScale
    plots: tuple[Plot, ...]
    """The upper one, and perhaps a lower one."""
    left: float
    """Pixels beside the plots, for labels and titles."""
    bottom: float
    """Pixels from the top of the picture to the end of the lowest plot."""

    def percent(self, at: At) -> str:
        """The horizontal place of a value."""
        return part(self.x.share(at))

    def grid(self) -> Svg:
        """The lines behind what is drawn."""
        lines: list[str] = []
        for plot in self.plots:
            if plot.scale.axis.grid:
                lines += (f"M0 {pixels(plot.level(plot.scale.place(tick.value)))}H1000" for tick in plot.scale.inside)
            if self.x.axis.grid:
                places = (pixels(1000 * self.x.place(tick.value)) for tick in self.x.inside)
                lines += (f"M{place} {pixels(plot.top)}v{pixels(plot.height)}" for place in places)
        return self.stretched(stroke("".join(lines), "var(--line)", 1))

    def stretched(self, *inside: Svg, clipped: bool = False) -> Svg:
        """Shapes whose horizontal places are thousandths of the width."""
        return element(
            "svg", *inside, width="100%", height=self.bottom, viewBox=f"0 0 1000 {pixels(self.bottom)}",
            preserveAspectRatio="none", overflow="hidden" if clipped else "visible",
        )  # fmt: skip

    def labels(self) -> Iterator[Svg]:
        """The ticks and the titles of all axes."""
        for plot in self.plots:
            axis, away = plot.scale.axis, _GAP + plot.scale.axis.standoff
            yield element(
                "g",
                *(
                    element(
                        "text", " ".join(tick.lines), x=-away, y=plot.level(plot.scale.place(tick.value)), dy=".35em"
                    )
                    for tick in plot.scale.inside
                ),
                text_anchor="end",
            )
            if axis.title:
                middle = plot.top + plot.height / 2
                turned = f"translate({pixels(_LINE - 3 - self.left)} {pixels(middle)}) rotate(-90)"
                yield element("text", axis.title, transform=turned, text_anchor="middle")
        lines = [
            element("text", line, x=part(self.x.place(tick.value)), y=self.bottom + _GAP + 10 + _LINE * place)
            for tick in self.x.inside
            for place, line in enumerate(tick.lines)
        ]
        yield element("g", *lines, text_anchor="middle")
        if self.x.axis.title:
            below = self.bottom + _GAP + 10 + _LINE * self.x.deepest + 4
            yield element("text", self.x.axis.title, x="50%", y=below, text_anchor="middle")


def frame(x: AxisScale, ys: Sequence[AxisScale], height: int) -> Frame:
    """The plots of these vertical scales, the upper one first, in a picture of so many pixels of height."""
    bottom = height - _GAP - _LINE * x.deepest - (_TITLE if x.axis.title else 4)
    room = bottom - TOP
    parts = ((0.0, 1.0),) if len(ys) == 1 else ((UPPER_BOTTOM, 1.0), (0.0, LOWER_TOP))
    plots = tuple(
        Plot(scale, TOP + (1 - high) * room, (high - low) * room) for scale, (low, high) in zip(ys, parts, strict=True)
    )
    longest = max((len(" ".join(tick.lines)) for scale in ys for tick in scale.ticks), default=0)
    standoff = max(scale.axis.standoff for scale in ys)
    titled = any(scale.axis.title for scale in ys)
    left = 6 + _LETTER * longest + _GAP + standoff + (_TITLE - 4 if titled else 0)
    return Frame(x, plots, left, bottom)


def part(share: float) -> str:
    """A share of the width in percent."""
    return f"{round(100 * share, 2) + 0.0:g}%"


def stroke(path: str, colour: str, width: float, dashed: str | None = None, *inside: Svg, **more: object) -> Svg:
    """A line that is as thick as it says however wide the picture is."""
    return element(
        "path", *inside, d=path, fill="none", stroke=colour, stroke_width=f"{width:g}", stroke_dasharray=dashed,
        vector_effect="non-scaling-stroke", **more,
    )  # fmt: skip
