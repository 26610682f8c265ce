"""Find silence: no sessions of a caller that had some every day, or of the whole fleet.

The test is the lower tail of the number of sessions, by the same model as all counts: for a caller
of one to three days, for the fleet of half a day or a whole day in quarters of days. A day on which
all other callers have less is nobody's silence. Each day is judged only from itself and the days
before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from math import prod
from typing import NamedTuple

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    SINCE_BASELINE,
    around,
    counted_beside_expected,
    counts_chart,
    sums_by_day,
)
from analyzer.analysis.kinds.detection import Detection, ordinal
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, Kind, note_of
from analyzer.analysis.kinds.shared import noted_part
from analyzer.analysis.kinds.statistics.rates import (
    CountedDay,
    is_weekend,
    rate_fall,
)
from analyzer.analysis.periods import RECENT_DAYS
from analyzer.readable import counted as with_noun

ALPHA = 2e-4
"""P-value that a day with too few sessions needs."""
TELLING_DAYS = 7
"""Most days of silence in a row that are reported: who stays away for longer has left."""
_QUARTER = 6
"""Hours of a quarter of a day."""
_LENGTHS: dict[bool, dict[int, float]] = {True: {4: 1.0, 2: 1.0}, False: {4: 1.0, 8: 1 / 2, 12: 1 / 2}}
"""Quarters that are judged together, each with its part of `ALPHA`: for the fleet (True) at every
quarter, for callers (False) at the end of a day."""
_LEAST = 3.0
"""Least expected sessions of a stretch; with fewer, nobody can tell whether any are missing."""
_MOST_PART = {True: 0.1, False: 0.34}
"""Most part of the expected sessions in a silence of the fleet (True) or of a caller (False)."""
_ALIKE = {False: 10, True: 4}
"""Least weekdays (False) or days of weekends (True) among the four weeks before."""
_BACK = 28
"""Days before a stretch that it is compared with."""
_TOGETHER = 3
"""Least callers silent since the same day that are reported as one finding."""


@dataclass(slots=True)
class _Series:
    """The sessions of a caller or the fleet by quarter (4 times the proleptic ordinal and on)."""

    name: str | None
    sessions: dict[int, int] = field(default_factory=dict)
    away: set[int] = field(default_factory=set)
    """Quarters with a silence."""

    def count(self, end: int, length: int) -> int:
        """Count the sessions of the `length` quarters before the quarter `end`."""
        return sum(self.sessions.get(quarter, 0) for quarter in range(end - length, end))

    def before(self, end: int, length: int, logged: set[int]) -> list[CountedDay]:
        """Count the same quarters of the four weeks before, without silences and unlogged days."""
        first, days = min(self.sessions), []
        for back in range(_BACK, 0, -1):
            last = end - 4 * back
            quarters = range(last - length, last)
            is_whole = first <= quarters[0] and _is_of_one_kind(last, length)
            if is_whole and (last - 1) // 4 in logged and self.away.isdisjoint(quarters):
                days.append(CountedDay((last - 1) // 4, self.count(last, length), 1.0))
        return days


def _is_of_one_kind(end: int, length: int) -> bool:
    """Return whether a stretch is all of weekdays, or all of a weekend: the two have little in common."""
    return is_weekend((end - length) // 4) == is_weekend((end - 1) // 4)


class _MissingSessions(NamedTuple):
    """A stretch with too few sessions."""

    p_value: float
    end: int
    length: int
    number: int
    expected: float


def silences(work: pl.DataFrame) -> list[Detection]:
    """Return the findings `silence` by day of callers, or of the fleet if several fell silent.

    `work`: columns `day`, `hour`, `caller`, `sessions`, `observed` (sessions that logs report, with
    or without errors). Callers whose logs show only sessions with errors are left out: they may be
    silent because all is well.
    """
    seen = work.filter(pl.col("observed") > 0)
    if seen.is_empty():
        return []
    quarter = ordinal() * 4 + pl.col("hour") // _QUARTER
    rows = seen.group_by("caller", quarter.cast(pl.Int64).alias("quarter")).agg(pl.sum("sessions"))
    days = seen.group_by("caller").agg(pl.sum("sessions"), pl.col("day").n_unique().alias("days"))
    steady = days.filter((pl.col("days") >= _ALIKE[False]) & (pl.col("sessions") >= _LEAST * pl.col("days")))
    fleet, callers = _Series(None), dict[str, _Series]()
    for number, sessions in rows.group_by("quarter").agg(pl.sum("sessions")).iter_rows():
        fleet.sessions[number] = sessions
    for caller, number, sessions in rows.join(steady.select("caller"), on="caller", how="semi").iter_rows():
        callers.setdefault(caller, _Series(caller)).sessions[number] = sessions
    logged = {number // 4 for number in fleet.sessions}
    of_fleet = list(_silences(fleet, logged, None))
    fleet_days = {detection.day for detection in of_fleet}
    silent: dict[tuple[date, date | None], list[Detection]] = {}
    for _, series in sorted(callers.items()):
        for detection in _silences(series, logged, fleet):
            if detection.day not in fleet_days:
                silent.setdefault((detection.day, detection.onset), []).append(detection)
    return [*of_fleet, *(detection for _, of_onset in sorted(silent.items()) for detection in _joined(of_onset))]


def _silences(series: _Series, logged: set[int], fleet: _Series | None) -> Iterator[Detection]:
    """Yield the silences of a series by day; `fleet` is None for the fleet itself."""
    onset = 0
    usual = sum(series.sessions.values()) / (max(series.sessions) + 1 - min(series.sessions))
    for day in range(min(series.sessions) // 4 + 7, max(logged) + 1):
        missing: list[_MissingSessions] = []
        for end in range(4 * day + 1 if fleet is None else 4 * day + 4, 4 * day + 5):
            for length in _LENGTHS[fleet is None]:
                if fleet is None and not _is_of_one_kind(end, length):
                    continue
                if series.count(end, length) > length * usual:
                    continue
                # Of a stretch over midnight the hours after it must have had work, else they say nothing of the day.
                after = series.before(end, min(length, end - 4 * day), logged)
                if any(counted.number for counted in after):
                    missing += _missing_sessions(series, end, length, logged, fleet)
        if not missing:
            continue
        begins = min((stretch.end - stretch.length) // 4 for stretch in missing)
        since = max(series.away, default=0)
        if not series.away or any(series.sessions.get(quarter) for quarter in range(since + 1, 4 * begins)):
            onset = begins
        for stretch in missing:
            series.away.update(range(stretch.end - stretch.length, stretch.end))
        if day - onset < TELLING_DAYS:
            yield _detection(series.name, day, onset, min(missing))


def _missing_sessions(
    series: _Series, end: int, length: int, logged: set[int], fleet: _Series | None
) -> Iterable[_MissingSessions]:
    part, number = min(length, 4), max(1, length // 4)
    history = series.before(end, part, logged)
    usual = {
        weekend: [counted.number for counted in history if is_weekend(counted.day) == weekend]
        for weekend in (False, True)
    }
    weekend = is_weekend((end - 1) // 4)
    if len(usual[weekend]) < _ALIKE[weekend]:
        return ()
    span: list[CountedDay] = []
    for at in range(end, end - 4 * RECENT_DAYS, -4):  # the last days on which it usually works
        days_alike = usual[is_weekend((at - 1) // 4)]
        if (fleet is None or (at - 1) // 4 in logged) and number * sum(days_alike) >= _LEAST * len(days_alike):
            span.insert(0, CountedDay((at - 1) // 4, series.count(at, part), 1.0))
        if not span or len(span) == number:
            break
    if len(span) < number:
        return ()
    history = [counted for counted in history if counted.day < span[0].day]
    doubt = 0.0
    if fleet is not None:  # on a holiday all callers have less, and nobody knows how much less each of them has
        shares = [_share_of_others(series, fleet, counted, history) for counted in span]
        span = [counted._replace(exposure=max(0.05, share)) for counted, share in zip(span, shares, strict=True)]
        doubt = (1 - sum(shares) / len(shares)) ** 2
    most = _MOST_PART[fleet is None]
    for counted in span:
        days_alike = usual[is_weekend(counted.day)]
        if counted.number * len(days_alike) > most * counted.exposure * sum(days_alike):
            return ()
    tail = rate_fall(history, span, doubt=doubt)
    if tail is None or tail[1] < _LEAST:
        return ()
    p_value = max(tail[0], prod(_share_of_absences(history, most, weekend=is_weekend(counted.day)) for counted in span))
    if p_value > ALPHA * _LENGTHS[fleet is None][length]:
        return ()
    if number > 1:
        length = end - 4 * span[0].day
    return (_MissingSessions(p_value, end, length, sum(counted.number for counted in span), tail[1]),)


def _share_of_absences(history: Sequence[CountedDay], most: float, *, weekend: bool) -> float:
    """Return the part of the days alike that lacked as many sessions: who takes days off may take this one off, too."""
    numbers = [counted.number for counted in history if is_weekend(counted.day) == weekend]
    return sum(number * len(numbers) <= most * sum(numbers) for number in numbers) / max(1, len(numbers))


def _share_of_others(series: _Series, fleet: _Series, counted: CountedDay, history: Sequence[CountedDay]) -> float:
    """Return the sessions of all other callers on a day as a part of those on days alike; at most 1."""

    def others(day: int) -> int:
        return fleet.count(4 * day + 4, 4) - series.count(4 * day + 4, 4)

    alike = [others(before.day) for before in history if is_weekend(before.day) == is_weekend(counted.day)]
    return min(1.0, others(counted.day) * len(alike) / sum(alike)) if sum(alike) > 0 else 1.0


def _detection(caller: str | None, day: int, onset: int, missing: _MissingSessions) -> Detection:
    begins, ends = (f"{_QUARTER * (at % 4):02}:00" for at in (missing.end - missing.length, missing.end))
    when = f"on {date.fromordinal(day)}" if begins == ends == "00:00" else f"from {begins} to {ends}"
    if missing.length > 4:
        when = f"from {date.fromordinal(day + 1 - missing.length // 4)} to {date.fromordinal(day)}"
    what = with_noun(missing.number, "session") if missing.number else "no session"
    return Detection(
        day=date.fromordinal(day),
        caller=caller,
        finding="silence",
        onset=date.fromordinal(onset),
        observed=float(missing.number),
        expected=missing.expected,
        p_value=missing.p_value,
        sessions=missing.number,
        note=f"{what} {when} (normally {missing.expected:,.0f})",
    )


def _joined(detections: list[Detection]) -> Iterator[Detection]:
    """Yield the silences of one day and onset: one finding of the fleet if there are several."""
    if len(detections) < _TOGETHER:
        yield from detections
        return
    expected, count = (
        sum(detection.expected or 0.0 for detection in detections),
        sum(detection.sessions or 0 for detection in detections),
    )
    names = ", ".join(str(detection.caller) for detection in detections[:_TOGETHER])
    more = f" and {len(detections) - _TOGETHER} more" if len(detections) > _TOGETHER else ""
    silent = f"{len(detections)} callers fell silent together ({names}{more})"
    note = f"{silent}: {with_noun(count, 'session')} (normally {expected:,.0f})"
    yield Detection(
        day=detections[0].day,
        caller=None,
        finding="silence",
        onset=detections[0].onset,
        observed=float(count),
        expected=expected,
        p_value=max(detection.p_value or 0.0 for detection in detections),
        sessions=count,
        note=note,
    )


def severity_of_silence(day: Detection) -> str:
    """Return the severity of a silence: that of the fleet is critical."""
    return "critical" if day.caller is None else "warning"


def session_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of the chart, a day each."""
    work, caller = basis.seen.work, finding.scope.caller
    own = work if caller is None else work.filter(pl.col("caller") == caller)
    return sums_by_day(
        [work.filter(around(finding, basis.last))], sessions=(own, "sessions"), fleet_sessions=(work, "sessions")
    )


def session_chart(case: Charted) -> Chart:
    """Draw the sessions of each day, and below them those of the fleet."""
    return counts_chart(
        case,
        "Sessions by day, and all sessions of the fleet",
        ("sessions", "sessions", "sessions"),
        ("fleet_sessions", "sessions of the fleet", "sessions"),
        note=counted_beside_expected(case.finding.latest, "sessions", ",.0f"),
    )


_CHART = ChartForm(
    "Days of the sessions",
    f"{SINCE_BASELINE} Days without any event in the logs are left out.",
    {
        **DAY,
        "sessions": "distinct sessions that the logs show, with errors or without",
        "fleet_sessions": "all callers",
    },
    session_rows,
    session_chart,
)


_SILENT_CALLERS = re.compile(r"callers fell silent together \((.+?)(?: and \d+ more)?\): ")
_FROM = re.compile(r"from (\d\d):00 to ")
_TO = re.compile(r"from \d\d:00 to (\d\d):00")


def _silent(finding: Finding) -> dict[str, list[str]]:
    """Ask for the callers that the sentence names, where several fell silent together."""
    names = noted_part(finding, _SILENT_CALLERS)
    return {"callers": names.split(", ")} if names else {}


def _silent_hours(finding: Finding) -> tuple[datetime, datetime] | None:
    """Return the hours of silence from its first day to its last one; None for whole days."""
    begins, ends = (noted_part(finding, pattern) for pattern in (_FROM, _TO))
    if begins is None or ends is None:
        return None
    first, last = (datetime.combine(day, time()) for day in (finding.onset, finding.last_on))
    return first + timedelta(hours=int(begins)), last + timedelta(hours=int(ends) or 24)


SILENCE = {
    "silence": Kind(
        title="Sessions are missing",
        metric="sessions of the day, or of 12 or 24 hours",
        severity=severity_of_silence,
        sentence=note_of,
        by_day=True,
        advice="see whether it still runs, and whether its logs still arrive",
        # Its evidence is only what came last, and the few sessions that came all the same.
        evidence=Evidence({"before": 0, "at_work": 0}, more=_silent, hours=_silent_hours),
        chart=_CHART,
    ),
}
