"""One error as arguments and JSON describe it: its text, its status, its exit code, and when it happened."""

from __future__ import annotations

from datetime import datetime

from analyzer.errors import AnalyzerError


def time_option(at: str | None) -> datetime | None:
    """The moment that `--at` names; None where it is not given.

    Raises:
        AnalyzerError: it is no ISO 8601 time.
    """
    moment = stated_time(at)
    if at is not None and moment is None:
        raise AnalyzerError(f"--at is no ISO 8601 time: {at!r}", "write 2026-11-21T08:15:30Z")
    return moment


def stated_time(value: object) -> datetime | None:
    """The moment that a value of JSON states (naive, UTC); None for what is no time."""
    from analyzer.events.times import parse_time

    try:
        return parse_time(value)
    except ValueError:
        return None
