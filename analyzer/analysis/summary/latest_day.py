"""`LatestDay`: the last whole day of a report, with the days before it that it is held against.

Invariant: today counts only where there is no whole day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.observations import end_of, start_of
from analyzer.analysis.tables import Table, table
from analyzer.analysis.window import Window
from analyzer.store import Judging

WEEK = 7
"""Days that a trend compares at most, with the same days of the week before."""


@dataclass(frozen=True, slots=True)
class LatestDay:
    """The last whole day with any event, and the fortnight that it ends."""

    day: date
    """In the zone of the window."""
    yesterday: bool
    """Whether it is the day before the report was made."""
    days: Table
    """The rows of `overview-days` up to it, of two weeks; days without any event have none."""
    compared: int
    """Days of a trend, 1 to 7: no more than the window has."""
    best: tuple[str, int, int] | None
    """The caller that recovered the largest share of its retry chains of the day, these, and all that ended."""
    worst: tuple[str, int] | None
    """The caller with the most errors of the day, and these."""

    def value(self, name: str, ago: int = 0) -> int | float | None:
        """A column's value so many days before the day; None without any event on it."""
        rows = self.days.frame.filter(pl.col("day") == self.day - timedelta(days=ago))
        value: int | float | None = rows[name][0] if rows.height else None
        return value

    def course(self, name: str) -> list[float | None]:
        """A column over the fortnight, the oldest day first; None where a day has no event."""
        return [self.value(name, ago) for ago in reversed(range(2 * WEEK))]

    def weeks(self, name: str) -> tuple[float, float | None]:
        """A column's sum over the compared days, and over the same days of the week before; None without any event."""
        now, before = ([self.value(name, start + ago) for ago in range(self.compared)] for start in (0, WEEK))
        known = [value for value in before if value is not None]
        return sum(value or 0 for value in now), sum(known) if known else None

    @property
    def days_before(self) -> int:
        """Those of the same days of the week before that have any event."""
        return sum(self.value("sessions", WEEK + ago) is not None for ago in range(self.compared))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"day": self.day.isoformat(), "compared_days": self.compared, "days": self.days.to_dict()["rows"]}


def latest_day(
    store: Judging, window: Window, first_at: datetime | None, last_at: datetime | None, made_at: datetime
) -> LatestDay | None:
    """The latest day of a window whose first and last event are these (naive UTC); None where it has none.

    Raises:
        QueryError: the store cannot be asked.
    """
    if first_at is None or last_at is None:
        return None
    first, last, today = (_day(at, window.timezone) for at in (first_at, last_at, made_at))
    day = max(first, min(last, today - timedelta(days=1)))
    begin, end = start_of(day - timedelta(days=2 * WEEK - 1), window.timezone), end_of(day, window.timezone)
    own = Window(start_of(day, window.timezone), end, window.timezone)
    errors = table(store, "errors-by-caller", own).frame
    chains = table(store, "retries-by-caller", own).frame.group_by("caller").agg(pl.sum("recovered", "ended"))
    chains = chains.filter(pl.col("recovered") > 0).sort(
        pl.col("recovered") / pl.col("ended"), "recovered", "caller", descending=[True, True, False]
    )
    return LatestDay(
        day=day,
        yesterday=day == today - timedelta(days=1),
        days=table(store, "overview-days", Window(begin, end, window.timezone)),
        compared=min(WEEK, (day - first).days + 1 if window.since is None else _length(window, day)),
        best=chains.select("caller", "recovered", "ended").row(0) if chains.height else None,
        worst=errors.select("caller", "errors").row(0) if errors.height else None,
    )


def _length(window: Window, day: date) -> int:
    first = window.first_day
    return max(1, (day - first).days + 1) if first else WEEK


def _day(at: datetime, timezone: str) -> date:
    return at.replace(tzinfo=UTC).astimezone(ZoneInfo(timezone)).date()
