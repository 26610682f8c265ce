"""Find one to twelve hours, over midnight too, with more errors than the days before predict.

It is the test of counts for stretches of hours: it compares them, per session of the caller, with
the same hours and with the whole days of four weeks. What callers share is judged first: provider,
model and fleet. Each stretch is judged only from itself and the days before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

import polars as pl

from analyzer.analysis.kinds.detection import Detection, Settings, above, clearest, ordinal
from analyzer.analysis.kinds.families.volumes import (
    OUTAGES,
    UNSEEN_RARER,
    Explained,
    coded,
    least_callers,
    rarer,
    without,
)
from analyzer.analysis.kinds.statistics.naming import UNKNOWN, Names, Suspect
from analyzer.analysis.kinds.statistics.rates import CountedDay, RateTail, rate_tail
from analyzer.readable import part_of

WINDOWS = (1, 3, 6, 12)
"""Lengths in hours of the stretches that every night judges."""
BACK_DAYS = 28
"""Days before a stretch that it is compared with: four of each weekday."""
LEAST_MORE = 4
"""Sessions with the errors beyond the expected ones: fewer may be a coincidence."""
_RARE = 0.1
"""Expected sessions up to which an error is so rare that four sessions of it are enough."""
RATIO = 2.5
"""Least count of a stretch, as a multiple of the expected count."""
_DAY = 24
_PRIOR = 1.0
_TESTS = 35
"""Independent tests per name and day: many more stretches and reasons are judged, but they
overlap."""
_BASE = _DAY * BACK_DAYS


class HourSpan(NamedTuple):
    """A stretch of hours, with the errors of one name and reason in it."""

    name: str
    reason: str
    end: int
    """The hour after the last one; hours are proleptic ordinals of days times 24, plus the hour."""
    length: int
    sessions: int
    """Sessions that met the errors: a session that repeats itself counts once."""
    exposure: float = 0.0
    tail: RateTail = RateTail(1.0, 0.0, 0.0)
    seen: bool = True
    """True if exposure is in sessions, else it is in hours."""


class _RunningSum:
    """Running sums of numbers by hour: the sum over a stretch is a difference of two of them."""

    def __init__(self, hours: Sequence[int], numbers: Sequence[float]) -> None:
        self.first, last = min(hours), max(hours)
        # Stretches begin up to four weeks before the first hour and end up to a day after the last.
        self._begin = self.first - _BASE - _DAY
        every = [0.0] * (last + 1 + _DAY - self._begin)
        for hour, number in zip(hours, numbers, strict=True):
            every[hour - self._begin] = number
        self._until = list(accumulate(every, initial=0.0))

    def between(self, begin: int, end: int) -> float:
        """Return the sum over the hours from `begin` up to, but without, `end`."""
        last, first = (min(max(hour - self._begin, 0), len(self._until) - 1) for hour in (end, begin))
        return self._until[last] - self._until[first]

    def days_before(self, begin: int, length: int) -> list[float]:
        """Return the sums over the same `length` hours of each day in the four weeks before."""
        first = begin - _BASE - self._begin
        if first < 0 or begin + length > self._begin + len(self._until):
            starts = range(begin - _BASE, begin, _DAY)
            return [self.between(start, start + length) for start in starts]
        starts_at, ends_at = (self._until[first + shift : first + shift + _BASE : _DAY] for shift in (0, length))
        return [end - start for start, end in zip(starts_at, ends_at, strict=True)]


@dataclass(slots=True)
class _NameHours:
    """The errors and the exposure of one name by hour."""

    first: int
    """The first hour with an error or with exposure."""
    errors: dict[str, _RunningSum]
    """By reason."""
    exposure: _RunningSum | None = None
    """None if no log shows sessions without errors; an hour without a value had nobody at work."""

    def at_work(self, begin: int, end: int) -> float:
        """Return the exposure of the hours from `begin` up to, but without, `end`."""
        if self.exposure is None:
            return float(max(0, end - max(begin, self.first)))
        return self.exposure.between(begin, end)

    def days_before(self, begin: int, length: int) -> list[float]:
        """Return the exposures of the stretches of `_RunningSum.days_before`."""
        if self.exposure is None:
            starts = range(begin - _BASE, begin, _DAY)
            if starts[0] >= self.first:
                return [float(length)] * len(starts)
            return [float(min(length, max(0, start + length - self.first))) for start in starts]
        return self.exposure.days_before(begin, length)


def hour_rises(
    volume: pl.DataFrame,
    work: pl.DataFrame,
    explained: Explained,
    settings: Settings | None = None,
    *,
    windows: Sequence[int] = WINDOWS,
    end: tuple[date, int] | None = None,
) -> list[Detection]:
    """Return the findings of `volumes` that hours show, one per day and name.

    The errors that the findings of many callers explain are added to `explained`.

    `volume`: columns `day`, `hour`, `caller`, those of `SHARED_OF_ERRORS` (empty where unknown), `reason`,
    `sessions`.
    `work`: columns `day`, `hour`, `caller`, `sessions`, `observed`: sessions that logs report, with
    or without errors.
    `end`: day and hour; if it is set, only stretches whose last hour it is are judged.
    """
    if volume.is_empty():
        return []
    chosen = settings or Settings()
    slot = (ordinal() * _DAY + pl.col("hour")).alias("slot")
    volume, work = volume.cast(coded()), work.cast(coded())
    errors = volume.with_columns(slot, fleet=pl.lit("fleet", pl.Categorical))
    last = None if end is None else end[0].toordinal() * _DAY + end[1]
    shown = work.filter(pl.col("observed") > 0).group_by("caller").agg(pl.col("day").min().alias("begins"))
    seen = work.join(shown, on="caller").filter(pl.col("day") >= pl.col("begins")).with_columns(slot)
    seen = seen.select("caller", "slot", pl.col("sessions").cast(pl.Float64).alias("exposure"))
    detections: list[Detection] = []
    names = Names(errors.with_columns(groups=pl.col("sessions")), seen, _DAY)
    explained_now = set(explained)
    for dimension in (*OUTAGES, "caller"):
        if dimension == "fleet" and errors["provider"].n_unique() < 2:
            continue  # it is the provider's
        unexplained = without(errors, pl.col("slot") // _DAY, explained_now)
        # New messages of many callers are findings of their text.
        of_reason = pl.col("reason").ne(UNKNOWN) | pl.lit(dimension == "caller")
        own = unexplained.filter(of_reason & (pl.col(dimension) != "")).with_columns(pl.col(dimension).alias("name"))
        # Shared names get half of the budget of hours, and callers the rest.
        budget = chosen.false_alarms_a_week / 7 / 4 / _TESTS / max(1, own["name"].n_unique())
        alpha = min(chosen.hour_alpha, budget)
        for best in _clearest_spans(own, seen, windows, alpha, last, dimension):
            hits = _callers_hit(own, best, dimension) if dimension != "caller" else None
            if dimension != "caller" and hits is None:
                continue
            day = (best.end - 1) // _DAY
            blamed = names.of(dimension, best.name, best.reason, best.end - best.length, best.end, _BASE)
            if blamed is None or not blamed.unseen or best.tail.p_value <= alpha / UNSEEN_RARER:
                detections.append(_detection(dimension, best, date.fromordinal(day), hits, blamed))
            of_name = own.filter(pl.col("name") == best.name)["caller"].unique() if hits else [best.name]
            begin = (best.end - best.length) // _DAY
            explained_now.update((at, caller, best.reason) for at in range(begin, day + 1) for caller in of_name)
        if dimension != "caller":
            explained.update(explained_now)
    return clearest(detections)


def _clearest_spans(
    errors: pl.DataFrame, seen: pl.DataFrame, windows: Sequence[int], alpha: float, last: int | None, dimension: str
) -> Iterator[HourSpan]:
    """Yield the clearest stretch of each day, name and reason, in the order of days."""
    unit = ["name", "reason"]
    # Numbers of units are grouped, sorted and joined much faster than their names.
    enough = errors.group_by(unit).agg(pl.sum("sessions")).filter(pl.col("sessions") >= LEAST_MORE)
    if enough.is_empty():
        return
    units = enough.select(unit).sort(unit).with_row_index("unit")
    hourly = errors.join(units, on=unit).group_by("unit", "slot").agg(pl.sum("sessions"))
    if last is not None:  # a stretch may end with hours without any error
        ends = units.select("unit", slot=pl.lit(last, pl.Int64), sessions=pl.lit(0, pl.Int64))
        hourly = pl.concat([hourly, ends]).group_by("unit", "slot").agg(pl.sum("sessions"))
        hourly = hourly.filter(pl.col("slot") <= last)
    hourly = hourly.sort("unit", "slot")
    first = pl.concat([errors["slot"], seen["slot"]]).min()
    near = pl.concat([_near(hourly, length, first) for length in windows])
    if near.is_empty():
        return
    rows = near.sort("slot", "unit", "length").join(units, on="unit", maintain_order="left")
    names = rows["name"].unique()
    hourly_of_names = hourly.join(units.filter(pl.col("name").is_in(names.implode())), on="unit", maintain_order="left")
    sums = _sums(hourly_of_names, errors, seen, shared=dimension != "caller")
    best: dict[tuple[int, str, str], HourSpan] = {}
    loud: dict[tuple[str, str], set[int]] = {}
    for slot, name, reason, length, sessions in rows.select("slot", *unit, "length", "sessions").iter_rows():
        days = loud.setdefault((name, reason), set())
        earlier = best.get(((slot + 1 - length) // _DAY, name, reason)) if slot % _DAY + 1 < length else None
        if earlier is not None and earlier.end > slot + 1 - length and slot != last:
            continue  # the day before has these hours; hours after midnight are judged by themselves
        span = HourSpan(name, reason, slot + 1, length, sessions)
        stretch = _judged_span(sums[name], span, alpha / rarer(dimension, reason), days)
        if stretch is None:
            continue
        key = (slot // _DAY if slot != last else 0, name, reason)
        if key not in best or stretch.tail.p_value < best[key].tail.p_value:
            best[key] = stretch
        days.update(((slot + 1 - length) // _DAY, slot // _DAY))
    # Days before `last` are judged too: days that stand out are no part of the baseline.
    yield from (span for span in best.values() if last is None or span.end == last + 1)


def _near(hourly: pl.DataFrame, length: int, first: Any) -> pl.DataFrame:
    """Select the stretches with enough errors, and more than the mean of all hours predicts."""
    of_stretch = hourly.rolling("slot", period=f"{length}i", group_by="unit").agg(pl.sum("sessions"))
    before = hourly.rolling("slot", period=f"{_BASE + length}i", group_by="unit").agg(pl.sum("sessions").alias("base"))
    rows = of_stretch.with_columns(base=before["base"] - of_stretch["sessions"], length=pl.lit(length))
    enough = pl.col("sessions") >= LEAST_MORE
    # In daytime an hour may have several times the mean errors of all hours.
    hours = (pl.col("slot") + 1 - length - first).clip(1, _BASE)
    more = pl.col("sessions") >= RATIO * pl.col("base") * length / hours
    return rows.filter(enough & more).select("slot", "unit", "length", "sessions")


def _sums(hourly: pl.DataFrame, errors: pl.DataFrame, seen: pl.DataFrame, *, shared: bool) -> dict[str, _NameHours]:
    """Build the hours of each name; of `shared` names, from a caller's first error on."""
    counts: dict[str, dict[str, _RunningSum]] = {}
    for name, reason, slots, sessions in hourly.group_by("name", "reason").agg("slot", "sessions").iter_rows():
        counts.setdefault(name, {})[reason] = _RunningSum(slots, sessions)
    begins = errors.group_by("name", "caller").agg(pl.col("slot").min().alias("first"))
    begins = begins.filter(pl.col("name").is_in(list(counts)))
    at_work = seen.join(begins, on="caller")
    if shared:  # a caller belongs to a provider since its first error there
        at_work = at_work.filter(pl.col("slot") // _DAY >= pl.col("first") // _DAY)
    hours = at_work.group_by("name", "slot").agg(pl.sum("exposure")).group_by("name").agg("slot", "exposure")
    exposures = {name: _RunningSum(slots, numbers) for name, slots, numbers in hours.iter_rows()}
    return {
        name: _NameHours(min(series.first for series in (*by_reason.values(), at) if series), by_reason, at)
        for name, by_reason in counts.items()
        for at in [exposures.get(name)]
    }


def _judged_span(sums: _NameHours, span: HourSpan, alpha: float, loud: set[int]) -> HourSpan | None:
    """Judge a stretch against whole days and the same hours; None if either is not clear.

    The result has the weaker evidence of both. The same hours of four weeks are few, but what fails
    every night at three is no news.
    """
    begin, errors = span.end - span.length, sums.errors[span.reason]
    alpha /= 1 if sums.exposure else UNSEEN_RARER
    exposure = max(sums.at_work(begin, span.end), float(span.sessions) if sums.exposure else 0.0)
    now = CountedDay((span.end - 1) // _DAY, span.sessions, exposure)
    weakest: RateTail | None = None
    first = sums.first - sums.first % _DAY
    for hours in (_DAY, span.length):
        history = [
            CountedDay(start // _DAY, int(number), at_work)
            for start, number, at_work in zip(
                range(begin - _BASE, begin, _DAY),
                errors.days_before(begin, hours),
                sums.days_before(begin, hours),
                strict=True,
            )
            if start >= first and start // _DAY not in loud
        ]
        tail = rate_tail(history, [now], 1, _PRIOR, bounded=sums.exposure is not None)
        if tail is None:  # too little history
            continue
        if tail.p_value > alpha or span.sessions < max(RATIO * tail.expected, LEAST_MORE - _RARE + tail.expected):
            return None
        weakest = tail if weakest is None or tail.p_value > weakest.p_value else weakest
    if weakest is None:
        return None
    return span._replace(exposure=exposure, tail=weakest, seen=sums.exposure is not None)


def _callers_hit(errors: pl.DataFrame, best: HourSpan, dimension: str) -> tuple[int, int] | None:
    """Count the callers that met the errors in a stretch, and those with errors of the name before.

    Return None if too few callers met the errors for a finding of what they share.
    """
    own = errors.filter(pl.col("name") == best.name)
    base = own.filter(pl.col("slot").is_between(best.end - _BASE, best.end - 1))
    known_callers = base["caller"].n_unique()
    inside = pl.col("slot").is_between(best.end - best.length, best.end - 1) & (pl.col("reason") == best.reason)
    inside_rows = own.filter(inside)
    counts = inside_rows.group_by("caller").agg(pl.sum("sessions"))["sessions"]
    if len(counts) < max(2, min(least_callers(dimension, known_callers), known_callers)):
        return None
    return len(counts), known_callers


def _detection(
    dimension: str, best: HourSpan, day: date, hits: tuple[int, int] | None, blamed: Suspect | None
) -> Detection:
    if blamed is not None:
        tail = best.tail._replace(expected=blamed.expected)
        dimension = blamed.dimension
        hits = None if dimension == "caller" else (blamed.callers, blamed.all_callers)
        best = best._replace(
            name=blamed.name,
            sessions=blamed.sessions,
            exposure=blamed.exposure,
            tail=tail,
            seen=blamed.exposure >= blamed.sessions,
        )
    begin, end = (
        datetime.combine(date.fromordinal(hour // _DAY), time()) + timedelta(hours=hour % _DAY)
        for hour in (best.end - best.length, best.end)
    )
    # Where no log shows sessions without errors, exposure is hours.
    of_sessions = f" of {max(best.sessions, best.exposure):,.0f}" if best.seen else ""
    note = f"{best.sessions:,}{of_sessions} sessions met {best.reason} errors (normally {best.tail.expected:,.1f})"
    if hits is not None:
        note += f", in {part_of(*hits, 'caller')}"
    return above(
        best.sessions,
        best.tail,
        day=day,
        caller=best.name if dimension == "caller" else None,
        finding="unknown_rate" if best.reason == UNKNOWN else OUTAGES.get(dimension, "volume"),
        onset=day,
        sessions=best.sessions,
        scope={"fleet": best.reason, "caller": None}.get(dimension, best.name),
        note=note,
        reason=None if dimension == "fleet" or best.reason == UNKNOWN else best.reason,
        begins_at=begin,
        ends_at=end,
    )
