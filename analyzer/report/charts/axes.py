"""Lay out the plots of a figure over one horizontal axis: scales, grids, ticks, titles.

Widths are in percent of the plot, so that one picture fits a phone and a desk; heights and texts
are in pixels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta

import polars as pl

from analyzer.analysis.charts.chart import DAY_MILLISECONDS as DAY
from analyzer.analysis.charts.chart import LOWER_TOP, UPPER_BOTTOM, At, Axis, as_number, milliseconds, round_step
from analyzer.frozen import frozen
from analyzer.report.charts.elements import Svg, element, pixels

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float, form: str) -> str:
    """Write a number by a format of d3: empty, `,d`, `,~r`, `~s`, or a share as `.0%`.

    A share may have any number of digits.
    """
    if form.endswith("%"):
        return f"{value:{form}}"
    if form == "~s":
        size, sign = next(((size, sign) for size, sign in _PREFIXES if abs(value) >= size), (1.0, ""))
        return f"{value / size:.3g}{sign}"
    if form == ",d":
        return f"{round(value):,}"
    assert form in {"", ",~r"}, form
    return f"{round(value, 6):,.6f}".rstrip("0").rstrip(".")


def moment(at: datetime, form: str) -> str:
    """Write a moment by a format of strftime, with the months in English."""
    day = form.replace("%-d", str(at.day)).replace("%b", _MONTHS[at.month - 1]).replace("%Y", str(at.year))
    return re.sub(r"%([HM])", lambda part: f"{at.hour if part[1] == 'H' else at.minute:02}", day).replace(
        "%S", f"{at.second:02}"
    )


SECOND = 1_000
_EPOCH = datetime.fromisoformat("1970-01-01")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "mo": 2_592_000, "y": 31_536_000}
_STEPS = tuple(
    (f"{number}{unit}", number * _UNITS[unit])
    for unit, numbers in {
        "s": (1, 2, 5, 10, 15, 30),
        "m": (1, 2, 5, 10, 15, 30),
        "h": (1, 2, 3, 6, 12),
        "d": (1, 2),
        "w": (1, 2),
        "mo": (1, 2, 3, 6),
        "y": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
    }.items()
    for number in numbers
)
"""The distances of ticks in time, as polars names them, with their least seconds."""
_MOST = 6
"""The most ticks, unless the axis has a number of its own."""


@frozen
class Tick:
    """A value of an axis with the lines of its label."""

    value: float
    lines: tuple[str, ...]


@frozen
class AxisScale:
    """An axis with its range and its ticks."""

    axis: Axis
    low: float
    high: float
    ticks: tuple[Tick, ...]
    categories: tuple[str, ...] = ()

    def place(self, value: float) -> float:
        """Return the position of a number: 0 is the low end, 1 the high one.

        A number outside of the range is below 0 or above 1.
        """
        return (value - self.low) / (self.high - self.low)

    def share(self, at: At) -> float:
        """Return the position of a mark, whose value may be a category, a date or a number."""
        return self.place(self.categories.index(at) if isinstance(at, str) else as_number(at))

    @property
    def inside(self) -> list[Tick]:
        """The ticks within the range."""
        return [tick for tick in self.ticks if -1e-9 <= self.place(tick.value) <= 1 + 1e-9]

    @property
    def deepest(self) -> int:
        """The most lines of a tick's label."""
        return max((len(tick.lines) for tick in self.ticks), default=1)


def scale_of(axis: Axis, names: Sequence[str], ends: tuple[float, float]) -> AxisScale:
    """Return the scale of an axis.

    `names` are its categories from the top, `ends` the range of the drawn values.
    """
    if axis.kind == "category":
        ticks = tuple(Tick(index, (name,)) for index, name in enumerate(names))
        return AxisScale(axis, max(1, len(names)) - 0.5, -0.5, ticks, tuple(names))
    low, high = axis.ends or ends
    if low == high:  # A single value is in the middle.
        low, high = low - 1, high + 1
    ticks = tuple((_dates if axis.kind == "date" else _numbers)(low, high, axis))
    return AxisScale(axis, low, high, ticks)


def _numbers(low: float, high: float, axis: Axis) -> Iterator[Tick]:
    values: Iterable[float] = axis.ticks
    if not values:
        least = {",d": 1.0, ",~r": 1.0, ".0%": 0.01}.get(axis.form, 0.0)
        step = axis.step or max(least, round_step((high - low) / (axis.most_ticks or _MOST)))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [multiple * step for multiple in range(first, last + 1)]
    for value in values:
        yield Tick(value, (number(value, axis.form),))


def _dates(low: float, high: float, axis: Axis) -> Iterator[Tick]:
    before: tuple[str, ...] = ()
    for value in _moments(low, high, axis):
        lines = tuple(moment(_EPOCH + timedelta(milliseconds=value), axis.form).split("\n"))
        # What is the same as at the tick before, the year most of the time, is said once.
        yield Tick(value, lines if lines[1:] != before else lines[:1])
        before = lines[1:]


def _moments(low: float, high: float, axis: Axis) -> list[float]:
    most = axis.most_ticks or _MOST
    if axis.step:
        begin = math.ceil(low / DAY) * DAY
        return [begin + multiple * axis.step for multiple in range(math.floor((high - begin) / axis.step) + 1)]
    first, last = max(low, milliseconds(date.min)), min(high, milliseconds(date.max))
    start, end = (_EPOCH + timedelta(milliseconds=value) for value in (first, last))
    for every, seconds in _STEPS:
        if (last - first) / SECOND / seconds > most:
            continue
        # In polars itself, since the first step may begin before the first year of Python's.
        moments = pl.datetime_range(pl.lit(start).dt.truncate(every), end, every).dt.timestamp("ms")
        values = [value for value in pl.select(moments).to_series() if value >= first]
        if len(values) <= most:
            return values
    return []


TOP, RIGHT = 12, 20
_LETTER = 7.2
"""The width of a letter in a label, in pixels, rather too much."""
_LINE, _GAP, _TITLE = 15, 8, 22
"""The heights of a label's line, of the gap between label and plot, and of a title, in pixels."""


@frozen
class Plot:
    """One of the plots above each other; sizes are in pixels."""

    scale: AxisScale
    top: float
    height: float

    def y(self, at: At) -> float:
        """Return the height of a value, in pixels from the top of the picture."""
        return self.level(self.scale.share(at))

    def level(self, share: float) -> float:
        """Return the height of a position on the scale, in pixels from the top of the picture."""
        return self.top + (1 - share) * self.height


@frozen
class Frame:
    """All plots of a picture over their horizontal scale."""

    x: AxisScale
    plots: tuple[Plot, ...]
    """The upper plot, and the lower one if there is one."""
    left: float
    """The pixels beside the plots, for labels and titles."""
    bottom: float
    """The pixels from the top of the picture to the end of the lowest plot."""

    def percent(self, at: At) -> str:
        """Return the horizontal position of a value in percent."""
        return part(self.x.share(at))

    def grid(self) -> Svg:
        """Draw the grid lines."""
        lines: list[str] = []
        for plot in self.plots:
            if plot.scale.axis.grid:
                lines += (f"M0 {pixels(plot.level(plot.scale.place(tick.value)))}H1000" for tick in plot.scale.inside)
            if self.x.axis.grid:
                xs = (pixels(1000 * self.x.place(tick.value)) for tick in self.x.inside)
                lines += (f"M{x} {pixels(plot.top)}v{pixels(plot.height)}" for x in xs)
        return self.stretched(stroke("".join(lines), "var(--line)", 1))

    def stretched(self, *inside: Svg, clipped: bool = False) -> Svg:
        """Stretch shapes, whose horizontal positions are thousandths, over the width."""
        return element(
            "svg", *inside, width="100%", height=self.bottom, viewBox=f"0 0 1000 {pixels(self.bottom)}",
            preserveAspectRatio="none", overflow="hidden" if clipped else "visible",
        )  # fmt: skip

    def labels(self) -> Iterator[Svg]:
        """Draw the labels of the ticks and the titles of all axes."""
        for plot in self.plots:
            axis, away = plot.scale.axis, _GAP + plot.scale.axis.standoff
            texts = []
            for tick in plot.scale.inside:
                y = plot.level(plot.scale.place(tick.value))
                texts.append(element("text", " ".join(tick.lines), x=-away, y=y, dy=".35em"))
            yield element("g", *texts, text_anchor="end")
            if axis.title:
                middle = plot.top + plot.height / 2
                turned = f"translate({pixels(_LINE - 3 - self.left)} {pixels(middle)}) rotate(-90)"
                yield element("text", axis.title, transform=turned, text_anchor="middle")
        lines = [
            element("text", line, x=part(self.x.place(tick.value)), y=self.bottom + _GAP + 10 + _LINE * index)
            for tick in self.x.inside
            for index, line in enumerate(tick.lines)
        ]
        yield element("g", *lines, text_anchor="middle")
        if self.x.axis.title:
            below = self.bottom + _GAP + 10 + _LINE * self.x.deepest + 4
            yield element("text", self.x.axis.title, x="50%", y=below, text_anchor="middle")


def frame(x: AxisScale, ys: Sequence[AxisScale], height: int) -> Frame:
    """Lay out plots by their vertical scales, the upper first, `height` pixels high."""
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
    """Write a share of the width in percent."""
    return f"{round(100 * share, 2) + 0.0:g}%"


def stroke(path: str, colour: str, width: float, dashed: str | None = None, *inside: Svg, **more: object) -> Svg:
    """Draw a line of `width` pixels, however far the picture is stretched."""
    return element(
        "path", *inside, d=path, fill="none", stroke=colour, stroke_width=f"{width:g}", stroke_dasharray=dashed,
        vector_effect="non-scaling-stroke", **more,
    )  # fmt: skip
