"""`AxisScale`: where a value stands along an axis, and the ticks there: round numbers, midnights, first days of months.

Values are numbers; a moment is milliseconds since 1970, as in plotly, and a category its place in the order of sight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from analyzer.report.svg.formats import moment, number, plain

SECOND, DAY = 1_000, 86_400_000
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

    low: float
    high: float
    kind: str
    """`number`, `date` or `category`."""
    ticks: tuple[Tick, ...]
    categories: tuple[str, ...] = ()

    def place(self, value: float) -> float:
        """The place of a number on it, 0 at the low end and 1 at the high one; beyond them where it is outside."""
        return (value - self.low) / (self.high - self.low)

    def share(self, given: Any) -> float:
        """The place of a value of the figure."""
        return self.place(self.categories.index(given) if self.kind == "category" else as_number(given))


def as_number(given: Any) -> float:
    """A number, or a day or a moment as milliseconds."""
    if isinstance(given, str):
        return (datetime.fromisoformat(given) - _EPOCH) / timedelta(milliseconds=1)
    return float(given)


def scale_of(axis: Mapping[str, Any], given: Sequence[Any], ends: tuple[float, float]) -> AxisScale:
    """The scale of an axis of a figure; `given` are the values along it, `ends` what is drawn needs."""
    if axis.get("type") == "category":
        names = tuple(dict.fromkeys(given))
        ticks = tuple(Tick(place, (plain(name),)) for place, name in enumerate(names))
        low, high = -0.5, max(1, len(names)) - 0.5
        flip = axis.get("autorange") == "reversed"
        return AxisScale(*((high, low) if flip else (low, high)), "category", ticks, names)
    low, high = axis.get("range") or ends
    if low == high:  # A single value stands in the middle.
        low, high = low - 1, high + 1
    if axis.get("type") == "date":
        return AxisScale(low, high, "date", tuple(_dates(low, high, axis)))
    return AxisScale(low, high, "number", tuple(_numbers(low, high, axis)))


def _numbers(low: float, high: float, axis: Mapping[str, Any]) -> Iterator[Tick]:
    form = axis.get("tickformat", "")
    values: Iterable[float] = axis.get("tickvals") or ()
    if not values:
        least = {",d": 1.0, ",~r": 1.0, ".0%": 0.01}.get(form, 0.0)
        step = axis.get("dtick") or max(least, _round_step((high - low) / axis.get("nticks", _MOST)))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [place * step for place in range(first, last + 1)]
    for value in values:
        yield Tick(value, (number(value, form),))


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5 and their tenfolds that is not below."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(step * size for step in (1.0, 2.0, 5.0, 10.0) if step * size >= least * (1 - 1e-9))


def _dates(low: float, high: float, axis: Mapping[str, Any]) -> Iterator[Tick]:
    before: tuple[str, ...] = ()
    for value in _moments(low, high, axis):
        lines = tuple(moment(_EPOCH + timedelta(milliseconds=value), axis["tickformat"]).split("\n"))
        # What is the same as at the tick before, the year most of the time, is said once.
        yield Tick(value, lines if lines[1:] != before else lines[:1])
        before = lines[1:]


def _moments(low: float, high: float, axis: Mapping[str, Any]) -> list[float]:
    most = axis.get("nticks", _MOST)
    if axis.get("dtick"):
        return _every(axis["dtick"], low, high, math.ceil(low / DAY) * DAY)
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
    first, last = (_month(max(low, as_number("0001-01-01"))), _month(min(high, as_number("9999-12-31"))))
    step = next(each for each in _steps() if last // each - (first - 1) // each <= most)
    begins = (f"{month // 12:04}-{month % 12 + 1:02}-01" for month in range(-(-first // step) * step, last + 1, step))
    return [value for begin in begins if low <= (value := as_number(begin)) <= high]


def _month(value: float) -> int:
    at = _EPOCH + timedelta(milliseconds=value)
    return at.year * 12 + at.month - 1


def _steps() -> Iterator[int]:
    yield from _MONTHS
    years = 1
    while True:
        yield from (12 * years, 24 * years, 60 * years)
        years *= 10
