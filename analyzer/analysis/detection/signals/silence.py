"""The test of silence: is a caller, whose sessions came day by day, no longer heard of, or is nobody?

It is the lower tail of the count of sessions of a day, and of the fleet of half a day or a whole one in quarters of
days, by the model of all counts. Days on which all others have less are nobody's silence, and each is judged from
itself and the days before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import polars as pl

from analyzer.analysis.detection.detection import ORDINAL, Detection
from analyzer.analysis.detection.statistics.rates import CountedDay, is_weekend, rate_fall

ALPHA = 1e-3
"""P-value that a stretch with so few sessions needs, of those that are as steady as is asked for."""
TELLING_DAYS = 7
"""Days of silence in a row that are told: who stays away for longer has gone."""
_QUARTER = 6
"""Hours that stretches are made of."""
_LENGTHS = (4, 2)
"""Quarters that are judged together, of the fleet at every hour; callers are judged by the day."""
_LEAST = 3.0
"""Sessions that a stretch lets expect at least; of less nobody can tell whether they are missing."""
_AT_MOST = {True: 0.1, False: 0.34}
"""Part of the expected sessions from which on the fleet, or a caller, is heard of: holidays leave some work."""
_ALIKE = {False: 10, True: 4}
"""Weekdays, or days of weekends, of the four weeks before on all of which there must have been work at these hours."""
_BACK = 28
_TOGETHER = 3
"""Callers silent from the same day on that are one finding."""


@dataclass(slots=True)
class _Series:
    """The sessions of a caller, or of all together, by quarters of days as they are numbered through."""

    name: str | None
    sessions: dict[int, int] = field(default_factory=dict)
    away: set[int] = field(default_factory=set)
    """Quarters of a silence."""

    def count(self, end: int, length: int) -> int:
        """The sessions of a stretch."""
        return sum(self.sessions.get(each, 0) for each in range(end - length, end))

    def before(self, end: int, length: int, logged: set[int]) -> list[CountedDay]:
        """The same quarters of the four weeks before, without silent ones and days without any log."""
        first, found = min(self.sessions), []
        for back in range(_BACK, 0, -1):
            last = end - 4 * back
            quarters = range(last - length, last)
            if first <= quarters[0] and (last - 1) // 4 in logged and self.away.isdisjoint(quarters):
                found.append(CountedDay((last - 1) // 4, self.count(last, length), 1.0))
        return found


class _Missing(NamedTuple):
    """The sessions that a stretch lacks."""

    p_value: float
    end: int
    length: int
    number: int
    expected: float


def silences(work: pl.DataFrame) -> list[Detection]:
    """Findings `silence`, one a day and caller, or of the fleet where several fell silent on the same day.

    `work`: columns `day`, `hour`, `caller`, `sessions`, `observed` (those that logs report with errors or without).
    Callers of which logs show sessions with errors alone are left out: they may be silent because all is well.
    """
    seen = work.filter(pl.col("observed") > 0)
    if seen.is_empty():
        return []
    quarter = ORDINAL * 4 + pl.col("hour") // _QUARTER
    rows = seen.group_by("caller", quarter.cast(pl.Int64).alias("quarter")).agg(pl.sum("sessions"))
    days = seen.group_by("caller").agg(pl.sum("sessions"), pl.col("day").n_unique().alias("days"))
    steady = days.filter((pl.col("days") >= _ALIKE[False]) & (pl.col("sessions") >= _LEAST * pl.col("days")))
    fleet, callers = _Series(None), dict[str, _Series]()
    for at, sessions in rows.group_by("quarter").agg(pl.sum("sessions")).iter_rows():
        fleet.sessions[at] = sessions
    for caller, at, sessions in rows.join(steady.select("caller"), on="caller", how="semi").iter_rows():
        callers.setdefault(caller, _Series(caller)).sessions[at] = sessions
    logged = {at // 4 for at in fleet.sessions}
    found = list(_of(fleet, logged, None))
    told = {each.day for each in found}
    silent: dict[tuple[date, date | None], list[Detection]] = {}
    for _, series in sorted(callers.items()):
        for each in _of(series, logged, fleet):
            if each.day not in told:
                silent.setdefault((each.day, each.onset), []).append(each)
    return [*found, *(each for _, ones in sorted(silent.items()) for each in _told(ones))]


def _of(series: _Series, logged: set[int], fleet: _Series | None) -> Iterator[Detection]:
    """The silences of a series, day by day."""
    onset = 0
    usual = sum(series.sessions.values()) / (max(series.sessions) + 1 - min(series.sessions))
    for day in range(min(series.sessions) // 4 + 7, max(logged) + 1):
        found: list[_Missing] = []
        for end in range(4 * day + 1 if fleet is None else 4 * day + 4, 4 * day + 5):
            for length in _LENGTHS if fleet is None else (4,):
                # Of a stretch over midnight the hours after it must have had work, else they say nothing of the day.
                after = series.before(end, min(length, end - 4 * day), logged)
                if series.count(end, length) <= length * usual and any(each.number for each in after):
                    found += _missing(series, end, length, logged, fleet)
        if not found:
            continue
        begins = min((each.end - each.length) // 4 for each in found)
        since = max(series.away, default=0)
        if not series.away or any(series.sessions.get(each) for each in range(since + 1, 4 * begins)):
            onset = begins
        for each in found:
            series.away.update(range(each.end - each.length, each.end))
        if day - onset < TELLING_DAYS:
            yield _detection(series.name, day, onset, min(found))


def _missing(series: _Series, end: int, length: int, logged: set[int], fleet: _Series | None) -> Iterable[_Missing]:
    count, history = series.count(end, length), series.before(end, length, logged)
    alike = [each.number for each in history if is_weekend(each.day) == is_weekend((end - 1) // 4)]
    if len(alike) < _ALIKE[is_weekend((end - 1) // 4)] or not all(alike):
        return ()
    exposure = 1.0
    if fleet is not None:  # on a holiday all have less
        others = [each.number for each in fleet.before(end, length, logged)]
        usual = sum(others) / max(1, len(others)) - sum(each.number for each in history) / len(history)
        exposure = max(0.05, min(1.0, (fleet.count(end, length) - count) / usual)) if usual > 0 else 1.0
    tail = rate_fall(history, [CountedDay((end - 1) // 4, count, exposure)])
    if tail is None or tail[0] > ALPHA or tail[1] < _LEAST or count > _AT_MOST[fleet is None] * tail[1]:
        return ()
    return (_Missing(tail[0], end, length, count, tail[1]),)


def _detection(caller: str | None, day: int, onset: int, found: _Missing) -> Detection:
    begins, ends = (f"{_QUARTER * (at % 4):02}:00" for at in (found.end - found.length, found.end))
    when = f"on {date.fromordinal(day)}" if begins == ends == "00:00" else f"from {begins} to {ends}"
    what = f"{found.number:,} session{'' if found.number == 1 else 's'}" if found.number else "no session"
    return Detection(
        day=date.fromordinal(day),
        caller=caller,
        finding="silence",
        onset=date.fromordinal(onset),
        observed=float(found.number),
        expected=found.expected,
        p_value=found.p_value,
        sessions=found.number,
        note=f"{what} {when}, {found.expected:,.0f} expected",
    )


def _told(ones: list[Detection]) -> Iterator[Detection]:
    """The silences of one day and onset: one finding of the fleet where there are several."""
    if len(ones) < _TOGETHER:
        yield from ones
        return
    expected, count = sum(each.expected or 0.0 for each in ones), sum(each.sessions or 0 for each in ones)
    names = ", ".join(str(each.caller) for each in ones[:_TOGETHER])
    more = f" and {len(ones) - _TOGETHER} more" if len(ones) > _TOGETHER else ""
    note = f"{len(ones)} callers fell silent together ({names}{more}): {count} sessions, {expected:,.0f} expected"
    yield Detection(
        day=ones[0].day,
        caller=None,
        finding="silence",
        onset=ones[0].onset,
        observed=float(count),
        expected=expected,
        p_value=max(each.p_value or 0.0 for each in ones),
        sessions=count,
        note=note,
    )
