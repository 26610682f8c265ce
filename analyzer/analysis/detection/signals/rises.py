"""The tests of what is no error: tools that fail, and waits for retries, counted and judged as errors are.

A signal is a row of counts against exposure, and the test of numbers of errors judges it: the same spans, the same
baseline, the same rule of when it is over. Each day is judged from that day and the days before it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, Detection
from analyzer.analysis.detection.statistics.rates import CountedDay
from analyzer.analysis.detection.volume_units import LEAST_MORE, Rise, Unit

ALPHA = 3e-5
"""P-value that a day of a tool, a provider or a caller needs; a span has its part of it."""
_LONG = 0.1
"""Part of the waits before that were longer than what counts as long now, at most."""


class _Counts(NamedTuple):
    """A row of the signal's counts."""

    sessions: int
    groups: int
    exposure: int


class _Found(NamedTuple):
    """The rise of a day."""

    day: int
    rise: Rise
    level: int
    """Waits of more than two to the power of it, in seconds, counted."""


@dataclass(slots=True)
class _Series:
    """The counts of a tool, or of the waits of a provider or caller, by day and level."""

    days: dict[int, dict[int, _Counts]] = field(default_factory=dict)
    units: dict[int, Unit] = field(default_factory=dict)
    """By the level above which all count."""

    def rises(self, *, by_level: bool) -> Iterator[_Found]:
        """The rises day by day, of all counts or of those above the usual level."""
        away: set[int] = set()
        for day in sorted(self.days):
            level = self._usual(day, away) if by_level else -1
            if level is None:
                continue
            if level not in self.units:
                self.units[level] = self._unit(level)
            unit = self.units[level]
            unit.excluded |= away
            rise = unit.look(day, ALPHA)
            unit.settle(day, rise)
            away |= unit.excluded
            if rise is not None:
                yield _Found(day, rise, level)

    def _usual(self, day: int, away: set[int]) -> int | None:
        """The level that the most of what came in the days before did not pass."""
        counts: dict[int, int] = {}
        for each in range(day - BASELINE_DAYS, day):
            if each not in away:
                for level, known in self.days.get(each, {}).items():
                    counts[level] = counts.get(level, 0) + known.exposure
        above, most = sum(counts.values()), _LONG * sum(counts.values())
        for level in sorted(counts):
            above -= counts[level]
            if above <= most:
                return level
        return None

    def _unit(self, level: int) -> Unit:
        unit = Unit(begins=min(self.days))
        for day, levels in self.days.items():
            above = [known for each, known in levels.items() if each > level]
            unit.days[day] = CountedDay(
                day, sum(each.groups for each in above), float(sum(each.exposure for each in levels.values()))
            )
            unit.sessions[day] = sum(each.sessions for each in above)
        unit.near = unit.clear = set(unit.days)
        return unit


def signals(counts: pl.DataFrame) -> list[Detection]:
    """Findings `tool_failures` of tools, and `waits_grow` of providers and callers, one a day and name.

    `counts`: the rows of `detection-signals`.
    """
    found: list[Detection] = []
    for tool, series in _series(counts.filter(pl.col("signal") == "tool"), "name"):
        rises = series.rises(by_level=False)
        found.extend(_detection("tool_failures", one, None, tool, _tool_note(tool, one)) for one in rises)
    waits = counts.filter(pl.col("signal") == "wait")
    told: set[tuple[int, str]] = set()
    for provider, series in _series(waits.filter(pl.col("name") != ""), "name"):
        of_provider = waits.filter(pl.col("name") == provider).select("day", "caller")
        for one in series.rises(by_level=True):
            found.append(_detection("waits_grow", one, None, provider, _wait_note(one)))
            inside = pl.col("day").is_between(date.fromordinal(one.rise.first), date.fromordinal(one.day + 3))
            told |= {(day.toordinal(), caller) for day, caller in of_provider.filter(inside).iter_rows()}
    for caller, series in _series(waits, "caller"):
        own = (one for one in series.rises(by_level=True) if (one.day, caller) not in told)
        found.extend(_detection("waits_grow", one, caller, None, _wait_note(one)) for one in own)
    return found


def _series(counts: pl.DataFrame, name: str) -> Iterator[tuple[str, _Series]]:
    """The counts by name, of names that ever had enough for a rise."""
    enough = counts.group_by(name).agg(pl.sum("groups")).filter(pl.col("groups") >= LEAST_MORE).select(name)
    rows = (
        counts.join(enough, on=name, how="semi")
        .group_by(name, "day", "level")
        .agg(pl.sum("sessions", "groups", "exposure"))
    )
    series: dict[str, _Series] = {}
    for of, day, level, *known in rows.sort(name, "day", "level").iter_rows():
        series.setdefault(of, _Series()).days.setdefault(day.toordinal(), {})[level] = _Counts(*known)
    yield from series.items()


def _exposure(one: _Found) -> int:
    """The exposure of a rise as a whole number."""
    return round(one.rise.exposure)


def _over(one: _Found) -> str:
    days = one.day - one.rise.first + 1
    return " on one day" if days == 1 else f" within {days} days"


def _tool_note(tool: str, one: _Found) -> str:
    rise, of = one.rise, f"of {_exposure(one):,} sessions that used it"
    failed = f"the tool {tool} failed in {rise.sessions:,} {of}{_over(one)}"
    return f"{failed}, {rise.count:,} times, {rise.tail.expected:,.1f} expected"


def _wait_note(one: _Found) -> str:
    rise, seconds = one.rise, 2 ** (one.level + 1)
    text = f"{rise.count:,} of {_exposure(one):,} retry chains waited for {seconds:,} s or more{_over(one)}"
    return f"{text}, {rise.tail.expected:,.1f} expected"


def _detection(finding: str, one: _Found, caller: str | None, scope: str | None, note: str) -> Detection:
    rise = one.rise
    return Detection(
        day=date.fromordinal(one.day),
        caller=caller,
        finding=finding,
        onset=date.fromordinal(rise.first),
        observed=float(rise.count),
        expected=rise.tail.expected,
        low=0.0,
        high=rise.tail.high,
        p_value=rise.tail.p_value,
        statistic=rise.count / rise.tail.expected,
        sessions=rise.sessions,
        groups=rise.count,
        scope=scope,
        note=note,
    )
