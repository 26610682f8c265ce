"""The tests of what is no error: each signal is a row of `SIGNALS`, and is counted and judged as errors are.

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

ALPHA = 3e-4
"""P-value that a day of a name needs; a span has its part of it."""
_OFTEN_ALPHA = 1e-6
"""The same of what is usual and differs from day to day by more than chance, as failures of tools do."""
_MOST = 0.5
"""Part of a rise above which it is one caller's, where that has a rise of its own."""
_LONG = 0.1
"""Part of the waits before that were longer than what counts as long now, at most."""


class Signal(NamedTuple):
    """One signal: what is counted, against what, whose it is, and its words."""

    counted: str
    """The `signal` of its rows in `detection-signals`."""
    note: str
    """What a rise is told by; `over` says on which days."""
    by: tuple[str, ...] = ("caller",)
    """Whose it may be, the widest first: the `name` of the rows, or a `caller`; of nameless rows the callers'."""
    against: str = ""
    """`sessions` that logs report, or logged `days`; empty where the rows have an exposure of their own."""
    by_level: bool = False
    """Whether only what lies above the usual level counts."""
    alpha: float = ALPHA


SIGNALS = {
    "tool_failures": Signal(
        "tool",
        "the tool {name} failed in {sessions:,} of {exposure:,.0f} sessions that used it{over}, {count:,} times "
        "(three a session at most)",
        by=("name",),
        alpha=_OFTEN_ALPHA,
    ),
    "waits_grow": Signal(
        "wait",
        "{count:,} of {exposure:,.0f} retry chains waited for {seconds:,} s or more{over}",
        by=("name", "caller"),
        by_level=True,
    ),
    "retries_exhausted": Signal(
        "exhausted",
        "{count:,} of {exposure:,.0f} retry chains ran out of tries{over}",
        by=("name", "caller"),
    ),
    "sessions_aborted": Signal(
        "aborted",
        "people stopped {sessions:,} of {exposure:,.0f} sessions{over}, {count:,} times (three a session at most)",
        against="sessions",
    ),
    "sessions_empty": Signal(
        "empty", "{sessions:,} of {exposure:,.0f} sessions asked nothing{over}", against="sessions"
    ),
    "sessions_unanswered": Signal(
        "unanswered",
        "{sessions:,} of {exposure:,.0f} sessions ended with a failure and without an answer{over}",
        against="sessions",
    ),
    "shipped_twice": Signal(
        "copy",
        "the logs have {sessions:,} sessions twice, word for word, under other ids{over}",
        by=("name", "caller"),
        against="days",
    ),
}
"""By the finding that a rise is."""


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
    """The counts of one name by day and level."""

    days: dict[int, dict[int, _Counts]] = field(default_factory=dict)
    units: dict[int, Unit] = field(default_factory=dict)
    """By the level above which all count."""

    def rises(self, alpha: float, *, by_level: bool) -> Iterator[_Found]:
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
            rise = unit.look(day, alpha)
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


def signals(counts: pl.DataFrame, work: pl.DataFrame) -> list[Detection]:
    """The findings of `SIGNALS`, one a day and name; what a wider name tells is not told of its callers.

    `counts`: the rows of `detection-signals`. `work`: columns `day`, `caller`, `observed`: sessions that logs report.
    """
    found: list[Detection] = []
    exposures = {
        "": work.clear().select("day", "caller", exposure="observed"),
        "sessions": work.filter(pl.col("observed") > 0).select("day", "caller", exposure="observed"),
        "days": work.select("day").unique().with_columns(exposure=pl.lit(1, pl.Int64)),
    }
    for finding, signal in SIGNALS.items():
        rows = counts.filter(pl.col("signal") == signal.counted)
        rises = {
            by: [
                (name, one)
                for name, series in _series(rows.filter(pl.col(by) != ""), by, exposures[signal.against])
                for one in series.rises(signal.alpha, by_level=signal.by_level)
            ]
            for by in (signal.by if not rows.is_empty() else ())
        }
        alone = {(one.day, caller) for caller, one in rises.get("caller", ())}
        told: set[tuple[int, str]] = set()
        for name, one in rises.get("name", ()):
            callers = rows.filter(pl.col("name") == name)
            if (one.day, _mostly_of(callers, one)) not in alone:
                found.append(_detection(finding, signal, one, "name", name))
                inside = pl.col("day").is_between(date.fromordinal(one.rise.first), date.fromordinal(one.day + 3))
                seen = callers.filter(inside).select("day", "caller").iter_rows()
                told |= {(day.toordinal(), caller) for day, caller in seen}
        for caller, one in rises.get("caller", ()):
            if (one.day, caller) not in told:
                found.append(_detection(finding, signal, one, "caller", caller))
    return found


def _mostly_of(callers: pl.DataFrame, one: _Found) -> str:
    """The caller with most of a wider name's rise; empty where it is shared, or nobody else was there to be spared."""
    inside = callers.filter(pl.col("day").is_between(date.fromordinal(one.rise.first), date.fromordinal(one.day)))
    sums = inside.filter(pl.col("level") > one.level).group_by("caller").agg(pl.sum("groups"))
    most = sums.filter(pl.col("groups") > _MOST * one.rise.count)["caller"]
    return str(most[0]) if len(most) and inside["caller"].n_unique() > 1 else ""


def _series(counts: pl.DataFrame, by: str, exposure: pl.DataFrame) -> Iterator[tuple[str, _Series]]:
    """The counts by name, of names that ever had enough for a rise, with the days that had none."""
    enough = counts.group_by(by).agg(pl.sum("groups")).filter(pl.col("groups") >= LEAST_MORE).select(by)
    own = (
        counts.join(enough, on=by, how="semi")
        .group_by(by, "day", "level")
        .agg(pl.sum("sessions", "groups", "exposure"))
    )
    if not exposure.is_empty():
        whole = (
            exposure.join(enough, on="caller", how="semi")
            if by in exposure.columns
            else exposure.join(enough, how="cross")
        )
        own = whole.join(own.drop("exposure"), on=[by, "day"], how="left").fill_null(0).select(own.columns)
    series: dict[str, _Series] = {}
    for of, day, level, *known in own.sort(by, "day", "level").iter_rows():
        series.setdefault(of, _Series()).days.setdefault(day.toordinal(), {})[level] = _Counts(*known)
    yield from series.items()


def _detection(finding: str, signal: Signal, one: _Found, by: str, name: str) -> Detection:
    rise, days = one.rise, one.day - one.rise.first + 1
    note = signal.note.format(
        name=name,
        sessions=rise.sessions,
        count=rise.count,
        exposure=rise.exposure,
        seconds=2 ** (one.level + 1),
        over=" on one day" if days == 1 else f" within {days} days",
    )
    return Detection(
        day=date.fromordinal(one.day),
        caller=name if by == "caller" else None,
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
        scope=name if by == "name" else None,
        note=f"{note}, {rise.tail.expected:,.1f} expected",
    )
