"""The findings of a window: the incidents that had a day in it, as of its last day, with what they rest on.

Nothing is written down: a nightly check decides, a report looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.changes import Change, changes
from analyzer.analysis.detection.finding import Detection
from analyzer.analysis.detection.settings import HISTORY_DAYS
from analyzer.analysis.detection.unjudged import unjudged
from analyzer.analysis.detections import detections
from analyzer.analysis.evidence import SHARES, of_the_day, told
from analyzer.analysis.findings import Finding
from analyzer.analysis.incidents import incidents_between
from analyzer.analysis.observations import Observations, end_of, observe, start_of
from analyzer.analysis.window import Window
from analyzer.store import Store

MAX_TEMPLATES = 10
"""Messages shown behind a finding."""
_UNKNOWN = SHARES | {"template", "wording_changed"}
"""Findings that unknown messages explain."""
_NO_LATER = date(9000, 1, 1)
"""Stands for an open end; no log is later."""


@dataclass(frozen=True, slots=True)
class Case:
    """A finding with the numbers behind it."""

    finding: Finding
    days: pl.DataFrame
    """A row a day of its caller, from 42 days before its onset to the end of the window: `day`, `unknown_share` (of
    groups, 0..1), `unknown_groups`, `groups`, `unknown_sessions`, `sessions`. Empty where it is not about unknown
    errors."""
    templates: pl.DataFrame
    """The messages that it shows since its onset: `message`, `sessions`, `events`."""
    changes: tuple[Change, ...]
    """What tells the days since its onset from the 42 before them."""

    @property
    def is_open(self) -> bool:
        """Whether it had not ended on the window's last day."""
        return self.finding.state != "resolved"


@dataclass(frozen=True, slots=True)
class Judged:
    """What detection says of a window."""

    seen: Observations
    """All of history up to the window's last day."""
    first: date
    """The window's first day."""
    last: date | None
    """The last day with anything to judge; None without any history."""
    cases: tuple[Case, ...]
    """Open ones, then ended ones; the gravest first."""
    detections: tuple[Detection, ...]
    """What single days of the window showed, by day."""
    unjudged: tuple[tuple[date, str], ...]
    """Days and callers with many unknown errors and too little history before them."""
    not_replayed: int
    """Errors that could not be judged by today's rules and count as they were recorded."""


def judge_window(store: Store, window: Window, rules_path: str | None = None) -> Judged:
    """The findings of a window, from its whole days and all days before it.

    Raises:
        RulesError: the rules at `rules_path` cannot be used.
    """
    ruleset = store.judge_history(rules_path)
    seen = observe(store, _last_day(window), window.timezone, ruleset)
    counts = seen.counts
    if counts.is_empty():
        return Judged(seen, _NO_LATER, None, (), (), (), 0)
    days = counts["day"].unique().sort().to_list()
    first, last = max(window.first_day or days[0], days[0]), days[-1]
    found = detections(seen)
    cases = [
        _case(store, told(store, of_the_day(one, seen), seen.timezone, seen.ruleset), seen, last)
        for one in incidents_between(found, seen.traffic, first, last)
    ]
    return Judged(
        seen=seen,
        first=first,
        last=last,
        cases=tuple(cases),
        detections=tuple(one for one in found if one.day >= first),
        unjudged=tuple(each for each in unjudged(counts) if each[0] >= first),
        not_replayed=int(counts["not_replayed"].sum()),
    )


def _last_day(window: Window) -> date:
    """The last day of the window that is over before its end."""
    if window.until is None:
        return _NO_LATER
    return window.until.replace(tzinfo=UTC).astimezone(ZoneInfo(window.timezone)).date() - timedelta(days=1)


def _case(store: Store, one: Finding, seen: Observations, last: date) -> Case:
    if one.finding not in _UNKNOWN:
        return Case(one, pl.DataFrame(), pl.DataFrame(), ())
    begin = one.onset - timedelta(days=HISTORY_DAYS)
    end = one.resolved_on or last
    days = seen.counts.filter(
        (pl.col("caller") == one.scope.caller) & pl.col("day").is_between(begin, last) & (pl.col("groups") > 0)
    ).select(
        "day",
        (pl.col("unknown_groups_replayed") / pl.col("groups")).alias("unknown_share"),
        pl.col("unknown_groups_replayed").alias("unknown_groups"),
        "groups",
        pl.col("unknown_sessions_replayed").alias("unknown_sessions"),
        "sessions",
    )
    templates = store.query(
        "detection-evidence",
        since=start_of(one.onset, seen.timezone),
        until=end_of(end, seen.timezone),
        caller=one.scope.caller,
        template=one.scope.template,
        reason="unknown",
        ruleset=seen.ruleset,
        limit=MAX_TEMPLATES,
    )
    shown = templates.select("message", "sessions", "events")
    return Case(one, days, shown, changes(store, seen, one.onset, end, one.scope.caller))
