"""The words that open every report: the verdict's level and the window, the same in each medium."""

from __future__ import annotations

from analyzer.analysis import Overview
from analyzer.report.cells import minute

_LEVELS = {"spike": "SPIKE", "unjudged": "NOT JUDGED", "quiet": "QUIET", "empty": "EMPTY"}


def verdict_word(level: str) -> str:
    """One word that says how bad it is without any colour."""
    return _LEVELS.get(level, level.upper())


def window_words(overview: Overview) -> str:
    """From when to when, with the zones: times are UTC, days begin in the window's zone."""
    window, totals = overview.window, overview.totals
    begin, end = window.since or totals.first_at, window.until or totals.last_at or overview.generated_at
    said = f"{minute(begin)} to {minute(end)} UTC" if begin else f"up to {minute(end)} UTC"
    if window.since is None and window.until is None:
        said = f"All time: {said}"
    return said if window.timezone == "UTC" else f"{said}; days begin in {window.timezone}"
