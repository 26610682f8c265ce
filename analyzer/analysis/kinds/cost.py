"""`Cost`: what a finding cost on its last day: sessions that failed, of those that logs show, and time spent waiting.

Invariant: nothing after that day has a say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from analyzer.analysis.detection.statistics.onset import onset
from analyzer.events.times import format_time, parse_time

EVERY = 6
"""Sessions in a row that failed, the day's last ones, from which on every session is said to fail."""
_CLEAR = 6.0
"""Log-likelihood by which sessions fail more often from some hour on, so that it is named."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the errors of a finding cost on its last day."""

    error_sessions: int
    """Sessions that met them."""
    sessions_failed: int
    """Those of them that no retry recovered."""
    sessions_seen: int | None
    """Sessions of its callers; None where logs show those with errors alone."""
    waited_seconds: float
    """Seconds waited between the calls of their retry chains."""
    reason: str | None = None
    """What most sessions failed with."""
    failed_since: datetime | None = None
    """The moment from which on sessions fail, naive UTC; None where the day shows none."""
    every_session: bool = False
    """Whether every session has failed since then."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        since = None if self.failed_since is None else format_time(self.failed_since)
        return {**{name: getattr(self, name) for name in Cost.__slots__}, "failed_since": since}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cost:
        """What `to_dict` made, read back; raises ValueError or LookupError for anything else."""
        since = data["failed_since"]
        known = {name: data[name] for name in cls.__slots__}
        return cls(**{**known, "failed_since": None if since is None else parse_time(since)})

    def after(self, before: Cost) -> Cost:
        """The cost of a day; where all of its sessions failed, too, with the beginning that an earlier day had."""
        goes_on = self.every_session and before.every_session and self.sessions_failed == self.sessions_seen
        return replace(self, failed_since=before.failed_since) if goes_on else self


def cost_of(hours: pl.DataFrame) -> Cost:
    """The cost of a finding out of its rows of `detection-cost`, of one day and in order."""
    sums = {name: hours[name].sum() for name in ("sessions", "error_sessions", "failed_sessions", "waited_seconds")}
    seen = int(sums["sessions"]) if hours["observed"].sum() else None
    since, every = _since(hours, seen is not None)
    return Cost(
        error_sessions=int(sums["error_sessions"]),
        sessions_failed=int(sums["failed_sessions"]),
        sessions_seen=seen,
        waited_seconds=round(float(sums["waited_seconds"]), 3),
        reason=hours["reason"][0],
        failed_since=since,
        every_session=every,
    )


def _since(hours: pl.DataFrame, seen: bool) -> tuple[datetime | None, bool]:
    """The moment from which on sessions fail, and whether all do."""
    if not seen:
        return None, False
    failing, since = 0, None
    for row in hours.reverse().iter_rows(named=True):
        if row["failing_sessions"]:
            failing, since = failing + row["failing_sessions"], row["failing_at"]
        if row["failing_sessions"] < row["sessions"]:
            break
    if failing >= EVERY:
        return since, True
    counts = list(hours.select("failed_sessions", "sessions").iter_rows())
    best = onset(counts)
    if best.gain < _CLEAR or not best.position:
        return None, False
    return hours["hour_at"][best.position], False
