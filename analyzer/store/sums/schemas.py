"""Name the frames of sums by day, their columns, and the days of a caller."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from analyzer.store.db.frames import frame_of

if TYPE_CHECKING:
    import polars as pl


class CallerDays(NamedTuple):
    """The days from `first` to `last` of a caller; `caller` is None for all callers."""

    caller: str | None
    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """List the days, in order."""
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]


_NAMES = {"session": "String", "template": "String"}
SCHEMAS: dict[str, dict[str, str]] = {
    "counts": dict.fromkeys(
        (
            *("sessions", "groups", "events", "unknown_sessions", "unknown_groups", "unknown_events"),
            *("unknown_sessions_replayed", "unknown_groups_replayed", "unknown_events_replayed", "not_replayed"),
            *("verdicts", "unknown_verdicts", "unknown_verdicts_replayed"),
        ),
        "Int64",
    ),
    "templates": {"template": "String", "sessions": "Int64", "events": "Int64"},
    "known_templates": {
        **dict.fromkeys(("template", "reason"), "String"),
        **dict.fromkeys(("sessions", "weak_sessions", "events"), "Int64"),
    },
    "rules": {"rule": "String", "reason": "String", "sessions": "Int64"},
    "repeats": {"events": "Int64", "groups": "Int64"},
    "loud": {**_NAMES, "events": "Int64"},
    "relays": {"step": "String", **dict.fromkeys(("relays", "sessions", "most", "at_work"), "Int64")},
    "volumes": {
        "hour": "Int32",
        **dict.fromkeys(("provider", "model", "project", "host", "reason"), "Categorical"),
        **dict.fromkeys(("sessions", "groups"), "Int64"),
    },
    "work": {"hour": "Int32", **dict.fromkeys(("sessions", "observed"), "Int64")},
    "chains": {"reason": "String", **dict.fromkeys(("chains", "recovered", "untried"), "Int64")},
    "signals": {
        **dict.fromkeys(("signal", "name"), "String"),
        "level": "Int32",
        **dict.fromkeys(("sessions", "groups", "exposure"), "Int64"),
    },
    "versions": {"ruleset": "String", "first_at": "Datetime", "errors": "Int64"},
}
"""The columns of each frame after `day` and `caller`.

`volumes` has nearly as many rows as there are errors, so its names, the caller's too, are
categories.
"""
GROUPS = {
    "day": "Date",
    **dict.fromkeys(("caller", "session", "template", "reason", "rule", "old_reason"), "String"),
    **dict.fromkeys(("was_unknown", "judged"), "Boolean"),
    "confidence": "String",
    "events": "Int64",
}
"""The columns of `detection-groups`."""
HAND_OFFS = {"day": "Date", **dict.fromkeys(("caller", "step", "session"), "String"), "relays": "Int64"}
"""The columns of `detection-relays`."""
CUT = {"caller": "String", "ruleset": "String", "first_at": "Datetime"}
"""When the newest recorded ruleset of a caller begins.

Only callers with several, for errors without facts.
"""

COUNTS = (
    "(type in ('error.classified', 'session.observed', 'tool.failed')"
    " or starts_with(type, 'retry.') or starts_with(type, 'relay.'))"
)
"""Selects the events whose type is part of any sum."""


def empty(name: str) -> pl.DataFrame:
    """Return the frame of this name without any rows; all its names have one type."""
    names = "Categorical" if "Categorical" in SCHEMAS[name].values() else "String"
    return frame_of({"day": "Date", "caller": names, **SCHEMAS[name]})


def sorted_sums(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Select the columns of this name, sorted by all of them in their order."""
    columns = ["day", "caller", *SCHEMAS[name]]
    return frame.select(columns).sort(columns)
