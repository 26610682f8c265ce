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
    if window.since is None and window.until is None:
        if totals.first_at is None or totals.last_at is None:
            said = "All time"
        else:
            said = f"All time: {minute(totals.first_at)} to {minute(totals.last_at)} UTC"
    elif window.until is None and window.since is not None:
        said = f"From {minute(window.since)} UTC to {minute(overview.generated_at)} UTC"
    elif window.until is not None and window.since is None:
        said = f"Up to {minute(window.until)} UTC"
    else:
        assert window.since is not None and window.until is not None
        said = f"From {minute(window.since)} to {minute(window.until)} UTC"
    return said if window.timezone == "UTC" else f"{said}; days begin in {window.timezone}"
