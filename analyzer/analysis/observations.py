"""What detection looks at: counts by day and caller, out of the store, as today's rules judge all of history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.store import Store


@dataclass(frozen=True, slots=True)
class Observations:
    """History up to the end of one day."""

    night: date
    """The last day that is in it."""
    timezone: str
    ruleset: str | None
    """Digest of the ruleset that judged; None for the active one, or for what was recorded where none is."""
    counts: pl.DataFrame
    """One row a day and caller, as the catalogue's `detection-counts`."""
    templates: pl.DataFrame
    """One row a day, caller and unknown template, as `detection-templates`."""

    @property
    def traffic(self) -> dict[str, tuple[date, ...]]:
        """The days on which each caller had anything to judge, in order."""
        days: dict[str, list[date]] = {}
        for day, caller in self.counts.select("day", "caller").sort("day").iter_rows():
            days.setdefault(caller, []).append(day)
        return {caller: tuple(own) for caller, own in days.items()}


def observe(store: Store, night: date, timezone: str = "UTC", ruleset: str | None = None) -> Observations:
    """All of history up to the end of `night`.

    Raises:
        QueryError: the store cannot be asked.
    """
    params = {"until": end_of(night, timezone), "timezone": timezone, "ruleset": ruleset}
    return Observations(
        night,
        timezone,
        ruleset,
        store.query("detection-counts", **params),
        store.query("detection-templates", **params),
    )


def end_of(day: date, timezone: str) -> datetime:
    """The first instant after a day of a zone, as naive UTC."""
    return start_of(day + timedelta(days=1), timezone)


def start_of(day: date, timezone: str) -> datetime:
    """The first instant of a day of a zone, as naive UTC."""
    return datetime.combine(day, time(), ZoneInfo(timezone)).astimezone(UTC).replace(tzinfo=None)
