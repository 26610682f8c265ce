"""The days of callers with many unknown errors that no test could judge, for lack of a history and of a fleet."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection.detect import DEFAULT, FLEET
from analyzer.analysis.detection.settings import BASELINE_DAYS, Settings
from analyzer.analysis.detection.share import LEAST_SESSIONS


def unjudged(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[tuple[date, str]]:
    """Days and callers with enough unknown sessions for a finding and nothing to measure them against, in order.

    `counts` as for `detect`. A baseline is made of 10 sessions of the caller's own in the days of one, or of a fleet of
    three callers that had any.
    """
    busy = counts.filter(pl.col("unknown_sessions_replayed") >= settings.min_sessions).sort("day", "caller")
    if busy.is_empty():
        return []
    sessions: dict[str, dict[date, int]] = {}
    for day, caller, number in counts.select("day", "caller", "sessions").iter_rows():
        sessions.setdefault(caller, {})[day] = number
    return [
        (day, caller)
        for day, caller in busy.select("day", "caller").iter_rows()
        if _before(sessions[caller], day) < LEAST_SESSIONS
        and sum(_before(own, day) > 0 for own in sessions.values()) < FLEET
    ]


def _before(days: dict[date, int], day: date) -> int:
    """Sessions of the days that would be the baseline."""
    first = day - timedelta(days=BASELINE_DAYS)
    return sum(number for each, number in days.items() if first <= each < day)
