"""`Frame`: the plots of a figure over one horizontal axis, with their grids, ticks and titles.

Widths are percent of the plot, so that one picture fits a phone and a desk; heights and texts are pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.report.svg.element import Svg, element, pixels
from analyzer.report.svg.scales import AxisScale, Tick

TOP, RIGHT = 12, 20
_LETTER = 7.2
"""Pixels of a letter in a label, rather too many."""
_LINE, _GAP, _TITLE = 15, 8, 22
"""Heights of a line of a label, of what is between it and the plot, and of a title."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One of the plots above each other."""

    scale: AxisScale
    axis: Mapping[str, Any]
    top: float
    height: float

    def y(self, given: Any) -> float:
        """Where a value of the figure stands: pixels from the top of the picture."""
        return self.level(self.scale.share(given))

    def level(self, share: float) -> float:
        """The same of a place on the scale."""
        return self.top + (1 - share) * self.height


@dataclass(frozen=True, slots=True)
class Frame:
    """All plots."""

    x: AxisScale
    x_axis: Mapping[str, Any]
    plots: dict[str, Plot]
    """By the name that traces have for their axis, `y` or `y2`."""
    left: float
    """Pixels beside the plots, for labels and titles."""
    bottom: float
    """Pixels from the top of the picture to the end of the lowest plot."""

    def percent(self, value: Any) -> str:
        """The horizontal place of a value."""
        return part(self.x.share(value))

    def grid(self) -> Svg:
        """The lines behind what is drawn."""
        lines: list[str] = []
        for plot in self.plots.values():
            if plot.axis.get("showgrid", True):
                lines += (f"M0 {pixels(plot.level(plot.scale.place(tick.value)))}H1000" for tick in _inside(plot.scale))
            if self.x_axis.get("showgrid", True):
                places = (pixels(1000 * self.x.place(tick.value)) for tick in _inside(self.x))
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
        for plot in self.plots.values():
            away = _GAP + plot.axis.get("ticklabelstandoff", 0)
            yield element(
                "g",
                *(
                    element(
                        "text", " ".join(tick.lines), x=-away, y=plot.level(plot.scale.place(tick.value)), dy=".35em"
                    )
                    for tick in _inside(plot.scale)
                ),
                text_anchor="end",
            )
            if title := _title(plot.axis):
                middle = plot.top + plot.height / 2
                turned = f"translate({pixels(_LINE - 3 - self.left)} {pixels(middle)}) rotate(-90)"
                yield element("text", title, transform=turned, text_anchor="middle")
        lines = [
            element("text", line, x=part(self.x.place(tick.value)), y=self.bottom + _GAP + 10 + _LINE * place)
            for tick in _inside(self.x)
            for place, line in enumerate(tick.lines)
        ]
        yield element("g", *lines, text_anchor="middle")
        if title := _title(self.x_axis):
            below = self.bottom + _GAP + 10 + _LINE * _deepest(self.x.ticks) + 4
            yield element("text", title, x="50%", y=below, text_anchor="middle")


def frame(
    x: AxisScale, x_axis: Mapping[str, Any], ys: Mapping[str, tuple[AxisScale, Mapping[str, Any]]], height: int
) -> Frame:
    """The plots in a picture of so many pixels of height."""
    below = _GAP + _LINE * _deepest(x.ticks) + (_TITLE if _title(x_axis) else 4)
    bottom = height - below
    plots = {}
    for name, (scale, axis) in ys.items():
        low, high = axis.get("domain", (0, 1))
        room = bottom - TOP
        plots[name] = Plot(scale, axis, TOP + (1 - high) * room, (high - low) * room)
    longest = max((len(" ".join(tick.lines)) for scale, _ in ys.values() for tick in scale.ticks), default=0)
    standoff = max(axis.get("ticklabelstandoff", 0) for _, axis in ys.values())
    titled = any(_title(axis) for _, axis in ys.values())
    left = 6 + _LETTER * longest + _GAP + standoff + (_TITLE - 4 if titled else 0)
    return Frame(x, x_axis, plots, left, bottom)


def part(share: float) -> str:
    """A share of the width in percent."""
    return f"{round(100 * share, 2) + 0.0:g}%"


def stroke(path: str, colour: str, width: float, dashed: str | None = None, *inside: Svg, **more: object) -> Svg:
    """A line that is as thick as it says however wide the picture is."""
    return element(
        "path", *inside, d=path, fill="none", stroke=colour, stroke_width=f"{width:g}", stroke_dasharray=dashed,
        vector_effect="non-scaling-stroke", **more,
    )  # fmt: skip


def _inside(scale: AxisScale) -> list[Tick]:
    return [tick for tick in scale.ticks if -1e-9 <= scale.place(tick.value) <= 1 + 1e-9]


def _deepest(ticks: tuple[Tick, ...]) -> int:
    return max((len(tick.lines) for tick in ticks), default=1)


def _title(axis: Mapping[str, Any]) -> str:
    return str(axis.get("title", {}).get("text") or "")
