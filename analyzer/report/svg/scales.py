"""`AxisScale`: where a value stands along an axis, and the ticks there: round numbers, midnights, first days of months.

Values are numbers; a moment is milliseconds since 1970, and a category its place in the order of sight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from analyzer.analysis.charts.chart import DAY_MILLISECONDS as DAY
from analyzer.analysis.charts.chart import At, Axis, as_number, milliseconds
from analyzer.report.svg.formats import moment, number

SECOND = 1_000
_EPOCH = datetime.fromisoformat("1970-01-01")
_CLOCK = tuple(
    SECOND * each for each in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
)
_DAYS = (1, 2, 7, 14)
_MONDAY = 4
"""Days from 1 January 1970, a Thursday, to the Monday after it."""
_MONTHS = (1, 2, 3, 6)
_MOST = 6
"""Ticks where the axis does not say how many."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A value with its words."""

    value: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AxisScale:
    """One axis."""

    axis: Axis
    low: float
    high: float
    ticks: tuple[Tick, ...]
    categories: tuple[str, ...] = ()

    def place(self, value: float) -> float:
        """The place of a number on it, 0 at the low end and 1 at the high one; beyond them where it is outside."""
        return (value - self.low) / (self.high - self.low)

    def share(self, at: At) -> float:
        """The place of what a mark stands at."""
        return self.place(self.categories.index(at) if isinstance(at, str) else as_number(at))

    @property
    def inside(self) -> list[Tick]:
        """The ticks that are not beyond its ends."""
        return [tick for tick in self.ticks if -1e-9 <= self.place(tick.value) <= 1 + 1e-9]

    @property
    def deepest(self) -> int:
        """The lines of the tick that has most."""
        return max((len(tick.lines) for tick in self.ticks), default=1)


def scale_of(axis: Axis, names: Sequence[str], ends: tuple[float, float]) -> AxisScale:
    """The scale of an axis; `names` are its categories, from the top, `ends` what is drawn needs."""
    if axis.kind == "category":
        ticks = tuple(Tick(place, (name,)) for place, name in enumerate(names))
        return AxisScale(axis, max(1, len(names)) - 0.5, -0.5, ticks, tuple(names))
    low, high = axis.ends or ends
    if low == high:  # A single value stands in the middle.
        low, high = low - 1, high + 1
    ticks = tuple((_dates if axis.kind == "date" else _numbers)(low, high, axis))
    return AxisScale(axis, low, high, ticks)


def _numbers(low: float, high: float, axis: Axis) -> Iterator[Tick]:
    values: Iterable[float] = axis.ticks
    if not values:
        least = {",d": 1.0, ",~r": 1.0, ".0%": 0.01}.get(axis.form, 0.0)
        step = axis.step or max(least, _round_step((high - low) / (axis.most_ticks or _MOST)))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [place * step for place in range(first, last + 1)]
    for value in values:
        yield Tick(value, (number(value, axis.form),))


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5 and their tenfolds that is not below."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(step * size for step in (1.0, 2.0, 5.0, 10.0) if step * size >= least * (1 - 1e-9))


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
        return _every(axis.step, low, high, math.ceil(low / DAY) * DAY)
    for step in _CLOCK:
        if len(found := _every(step, low, high)) <= most:
            return found
    for days in _DAYS:
        if len(found := _every(days * DAY, low, high, _MONDAY * DAY if days > 2 else 0)) <= most:
            return found
    return _firsts(low, high, most)


def _every(step: float, low: float, high: float, begin: float = 0) -> list[float]:
    first, last = math.ceil((low - begin) / step), math.floor((high - begin) / step)
    # Of very many the number says enough.
    return [begin + place * step for place in range(first, min(last, first + 1000) + 1)]


def _firsts(low: float, high: float, most: int) -> list[float]:
    """First days of months or years, as many as go."""
    first, last = _month(max(low, milliseconds(date.min))), _month(min(high, milliseconds(date.max)))
    step = next(each for each in _steps() if last // each - (first - 1) // each <= most)
    begins = (date(month // 12, month % 12 + 1, 1) for month in range(-(-first // step) * step, last + 1, step))
    return [value for begin in begins if low <= (value := milliseconds(begin)) <= high]


def _month(value: float) -> int:
    at = _EPOCH + timedelta(milliseconds=value)
    return at.year * 12 + at.month - 1


def _steps() -> Iterator[int]:
    yield from _MONTHS
    years = 1
    while True:
        yield from (12 * years, 24 * years, 60 * years)
        years *= 10
