"""Figures of single days: the last whole day of a report beside the days before it, and those of a judged night.

Invariants: today counts only where there is no whole day. No more callers of a night are named than `MAX_CALLERS`; the
sums lose none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import sqrt
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.nightly.night import Night
from analyzer.analysis.observations import end_of, start_of
from analyzer.analysis.tables import Table, Window, json_ready, table
from analyzer.frozen import frozen
from analyzer.readable import percent
from analyzer.store import Store

WEEK = 7
"""Days that a trend compares at most, with the same days of the week before."""
FORTNIGHT = timedelta(days=2 * WEEK + 1)
"""From the end of a day in any zone back beyond the beginning of the fortnight that it ends, with a day to spare."""


MEASURES = (
    ("errors", ""),
    ("error_sessions", "sessions"),
    ("unknown_errors", "counted_errors"),
    ("recovered_chains", "ended_chains"),
    ("relays", ""),
)
"""The figures whose moves a report shows: a count of a day, and what it is a share of; empty if it is none."""


@frozen
class Move:
    """A figure of the compared days beside the same days of the week before."""

    part: str
    whole: str
    now: float | None
    """The count, or the share of the whole, 0..1; None of a share without a whole."""
    before: float | None
    weight: float
    """How far the two are apart, in standard errors; 0 with nothing to compare."""

    def words(self, value: float | None) -> str | None:
        """Write one of the two values."""
        if value is None:
            return None
        return percent(value) if self.whole else f"{value:,.0f}"


@frozen
class LatestDay:
    """The last whole day with any event, and the fortnight that it ends."""

    day: date
    """In the zone of the window."""
    days: Table
    """The rows of `overview-days` up to it, of two weeks; days without any event have none."""
    compared: int
    """Days of a trend, 1 to 7: no more than the window has."""

    def lies_in(self, window: Window) -> bool:
        """Return whether all of the fortnight is in a window."""
        begin, end = _fortnight(self.day, window.timezone)
        return (window.since is None or window.since <= begin) and (window.until is None or end <= window.until)

    def course(self, name: str) -> list[float | None]:
        """Return a column over the fortnight, the oldest day first; None for a day without events."""
        values: dict[date, float | None] = dict(self.days.frame.select("day", name).iter_rows())
        return [values.get(self.day - timedelta(days=ago)) for ago in reversed(range(2 * WEEK))]

    def _both(self, name: str) -> tuple[list[float | None], list[float | None]]:
        """Return a column over the compared days, and over the same days of the week before."""
        course = self.course(name)
        return course[-self.compared :], course[-WEEK - self.compared : -WEEK]

    def weeks(self, name: str) -> tuple[float, float | None]:
        """Sum a column over the compared days, and over the same days of the week before.

        The second sum is None without any event.
        """
        now, before = self._both(name)
        present = [value for value in before if value is not None]
        return sum(value or 0 for value in now), sum(present) if present else None

    def course_of(self, part: str, whole: str) -> list[float | None]:
        """Return a column over the fortnight, or its share of another one."""
        parts = self.course(part)
        if not whole:
            return parts
        pairs = zip(parts, self.course(whole), strict=True)
        return [a / b if b and a is not None else None for a, b in pairs]

    @property
    def days_with_events(self) -> tuple[int, int]:
        """Count the compared days that have any event, and the same days of the week before."""
        now, before = (sum(value is not None for value in days) for days in self._both("sessions"))
        return now, before

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {"day": self.day.isoformat(), "compared_days": self.compared, "days": json_ready(self.days.frame)}


def moves_of(latest: LatestDay) -> list[Move]:
    """Return the figures with anything to count, those that moved most first."""
    moves = []
    for part, whole in MEASURES:
        now, before = latest.weeks(part)
        of_now, of_before = latest.weeks(whole) if whole else latest.days_with_events
        if not of_now or not (now or before):
            continue
        rate, rate_before, weight = now / of_now, None, 0.0
        if not of_before:
            before = None
        elif before is not None:
            rate_before = before / of_before
            spread = (now + before) / (of_now + of_before) * (1 / of_now + 1 / of_before)
            weight = abs(rate - rate_before) / sqrt(spread) if spread else 0.0
        moves.append(Move(part, whole, *((rate, rate_before) if whole else (now, before)), weight))
    return sorted(moves, key=lambda move: -move.weight)


def latest_day(
    store: Store, window: Window, first_at: datetime | None, last_at: datetime | None, made_at: datetime
) -> LatestDay | None:
    """Return the latest day of a window with this first and last event; None without any.

    Their times are naive UTC.

    Raises:
        QueryError: the store cannot be asked.
    """
    if first_at is None or last_at is None:
        return None
    first, last, today = (_day(at, window.timezone) for at in (first_at, last_at, made_at))
    day = max(first, min(last, today - timedelta(days=1)))
    return LatestDay(
        day=day,
        days=table(store, "overview-days", Window(*_fortnight(day, window.timezone), window.timezone)),
        compared=min(WEEK, (day - first).days + 1 if window.since is None else _length(window, day)),
    )


def _fortnight(day: date, timezone: str) -> tuple[datetime, datetime]:
    """Return the beginning and the end of the two weeks that a day ends."""
    return start_of(day - timedelta(days=2 * WEEK - 1), timezone), end_of(day, timezone)


def _length(window: Window, day: date) -> int:
    first = window.first_day
    return max(1, (day - first).days + 1) if first else WEEK


def _day(at: datetime, timezone: str) -> date:
    return at.replace(tzinfo=UTC).astimezone(ZoneInfo(timezone)).date()


MAX_CALLERS = 50
"""Callers that are named: those with the most errors, and among equal ones with the most sessions."""
OTHERS = "(others)"
"""The name under which the rest is summed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFigures:
    """The figures of one night; only `OTHERS` stands for several callers."""

    errors: dict[tuple[str, str], int]
    """By caller and reason."""
    error_sessions: dict[tuple[str, str], int]
    """Sessions with such an error, by caller and reason; who met several reasons counts in each."""
    sessions: dict[str, int]
    """Sessions at work by caller, with errors or without."""
    unknown_share: dict[str, float]
    """By caller, 0..1, of the errors that count; callers without any have none."""
    last_ingest_seconds: float | None
    """Unix time of the latest reading of a log that had something new; None before the first."""
    quarantine_rows: int
    """Stretches of logs that could not be read."""
    store_bytes: int | None
    """The size of the store's file with what waits beside it; None where the store is no file."""


def night_window(night: Night) -> Window:
    """Return the day or the hours that a night judged."""
    since, until = night.hours or (start_of(night.day, night.timezone), end_of(night.day, night.timezone))
    return Window(since, until, night.timezone)


def night_figures(store: Store, night: Night) -> NightFigures:
    """Return the figures of the day or hours that a night judged, and of the store as it is.

    Raises:
        QueryError: the store cannot be asked.
    """
    chosen = night_window(night)
    errors = table(store, "errors-by-caller-reason", chosen).frame
    work = table(store, "detection-work", chosen).frame.group_by("caller").agg(pl.sum("sessions"))
    shares = table(store, "unknown-share", chosen).frame.select("caller", "errors", "unknown_errors")
    met = pl.concat(
        [
            errors.select("caller", "errors", sessions=pl.lit(0, pl.Int64)),
            work.select("caller", pl.lit(0, pl.Int64).alias("errors"), "sessions"),
        ]
    )
    ranked = met.group_by("caller").sum().sort("errors", "sessions", "caller", descending=[True, True, False])
    named = ranked["caller"].head(MAX_CALLERS).implode()
    caller = pl.when(pl.col("caller").is_in(named)).then("caller").otherwise(pl.lit(OTHERS)).alias("caller")
    errors = errors.group_by(caller, "reason").sum().sort("caller", "reason")
    work = work.group_by(caller).sum().sort("caller")
    shares = shares.group_by(caller).sum().sort("caller")
    (standing,) = table(store, "sources-standing").frame.iter_rows(named=True)
    read_at = standing["last_ingested_at"]
    return NightFigures(
        errors={(who, reason): count for who, reason, count, _ in errors.rows()},
        error_sessions={(who, reason): count for who, reason, _, count in errors.rows()},
        sessions=dict(work.rows()),
        unknown_share={who: unknown / count for who, count, unknown in shares.rows()},
        last_ingest_seconds=read_at.replace(tzinfo=UTC).timestamp() if read_at else None,
        quarantine_rows=standing["quarantine_rows"],
        store_bytes=store.size_bytes,
    )
