"""The fields of a finding that are data of their own: severity, cost, a decision on it, and a change of wording.

Invariant: a cost is that of one day, and nothing after that day has a say in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.statistics.onsets import onset
from analyzer.events.times import format_time, parse_time

SEVERITIES = ("info", "warning", "critical")
MANY_SESSIONS = 10
"""Sessions from which on many are hit, or have failed."""
GREAT_SHARE = 0.5
"""Share of a caller's sessions from which on many that failed are critical."""
LONG_WAIT_SECONDS, WAIT_SECONDS = 4 * 3_600.0, 3_600.0
"""Time spent waiting in a day from which on a finding is critical, and a warning."""
EVERY = 6
"""Sessions in a row that failed, the day's last ones, from which on every session is said to fail."""
_CLEAR = 6.0
"""Log-likelihood by which sessions fail more often from some hour on, so that it is named."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a finding's errors on its last day."""

    error_sessions: int
    """Sessions that met them."""
    sessions_failed: int
    """Those of them that no retry recovered."""
    sessions_seen: int | None
    """Sessions of its callers; None if logs show only those with errors."""
    waited_seconds: float
    """Seconds waited between the calls of their retry chains."""
    reason: str | None = None
    """What most sessions failed with."""
    failed_since: datetime | None = None
    """The moment from which on sessions fail, naive UTC; None where the day shows none."""
    every_session: bool = False
    """Whether every session has failed since then."""
    callers: tuple[str, ...] = ()
    """Whose sessions failed, by name."""
    failed_usd: float | None = None
    """What the requests of the failed sessions cost in US dollars; None where none has a price."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        since = None if self.failed_since is None else format_time(self.failed_since)
        own = {name: getattr(self, name) for name in Cost.__slots__}
        return {**own, "failed_since": since, "callers": list(self.callers)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cost:
        """Read back what `to_dict` made.

        Raises ValueError or LookupError for anything else.
        """
        since = data["failed_since"]
        # An earlier version wrote down fewer fields.
        fields = {name: data[name] for name in cls.__slots__ if name in data or name not in {"callers", "failed_usd"}}
        callers = tuple(data.get("callers", ()))
        return cls(**{**fields, "callers": callers, "failed_since": None if since is None else parse_time(since)})

    def after(self, before: Cost) -> Cost:
        """Take over the beginning that an earlier day had, if every session of both days failed."""
        goes_on = self.every_session and before.every_session and self.sessions_failed == self.sessions_seen
        return replace(self, failed_since=before.failed_since) if goes_on else self


@dataclass(frozen=True, slots=True)
class Handling:
    """A decision of somebody on a finding."""

    act: str
    """`acknowledged`, `snoozed`, `closed` or `reopened`."""
    at: datetime
    """Naive UTC."""
    snoozed_until: datetime | None = None
    """Naive UTC; None for all but snoozed ones."""
    note: str = ""
    by: str = ""
    """Who did; empty where nobody said."""

    def silences(self, moment: datetime) -> bool:
        """Return whether the finding fails no night and is posted to nobody at a moment.

        The moment is naive UTC.
        """
        if self.act == "snoozed":
            return self.snoozed_until is not None and moment < self.snoozed_until
        return self.act in {"acknowledged", "closed"}

    def to_dict(self) -> dict[str, str | None]:
        """Return a JSON-ready dict."""
        until = None if self.snoozed_until is None else format_time(self.snoozed_until)
        return {
            "act": self.act,
            "handled_at": format_time(self.at),
            "snoozed_until": until,
            "note": self.note,
            "by": self.by,
        }


@dataclass(frozen=True, slots=True)
class Wording:
    """A rule that fell silent, and the text that came instead."""

    rule: str
    reason: str
    old: str | None
    """What the rule matched most, redacted and capped; None where no event tells any more."""
    new: str | None
    """The text that no rule knows, likewise."""
    draft: dict[str, Any] | None = None
    """The draft of a rule for the new text, as `analyzer unknowns --suggest` gives it; None where none can be made."""

    @property
    def pattern(self) -> str | None:
        """Return what the draft matches."""
        texts = self.draft["rule"]["text"] if self.draft else []
        return str(texts[0]) if texts else None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {name: getattr(self, name) for name in Wording.__slots__}


def cost_of(hours: pl.DataFrame) -> Cost:
    """Sum up the cost of a finding from its rows of `detection-cost`, of one day and in order."""
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
        callers=tuple(sorted({name for names in hours["failed_callers"].drop_nulls() for name in json.loads(names)})),
        failed_usd=float(hours["failed_usd"].sum()) if hours["failed_usd"].count() else None,
    )


def _since(hours: pl.DataFrame, seen: bool) -> tuple[datetime | None, bool]:
    """Return the moment since which sessions fail, and whether all do."""
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
    return next(filter(None, hours["failed_at"][best.position :]), None), False


def info(_day: Detection) -> str:
    """Return the severity of what a night reports without failing by default."""
    return "info"


def warning(_day: Detection) -> str:
    """Return the severity from which on a night fails by default."""
    return "warning"


def with_cost(severity: str, day: Detection, cost: Cost) -> str:
    """Return the severity that follows from a finding's figures and its cost.

    Only the cost of its last day beyond what was expected counts. The finding is critical if every
    session fails, if ten failed that are half of all, or if four hours were spent waiting, and at
    least a warning from one hour on. If retries recovered most of the sessions that met it, and
    fewer than ten failed, it is at most a warning.
    """
    beyond = max(0.0, 1 - (day.expected or 0.0) / day.observed) if day.observed else 1.0
    failed, waited = beyond * cost.sessions_failed, beyond * cost.waited_seconds
    half = cost.sessions_seen is not None and failed >= GREAT_SHARE * cost.sessions_seen
    if cost.every_session or (half and failed >= MANY_SESSIONS) or waited >= LONG_WAIT_SECONDS:
        return "critical"
    if waited >= WAIT_SECONDS:
        return max(severity, "warning", key=SEVERITIES.index)
    recovered = cost.sessions_failed < MANY_SESSIONS and 2 * cost.sessions_failed < cost.error_sessions
    return min(severity, "warning", key=SEVERITIES.index) if recovered else severity
