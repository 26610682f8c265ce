"""The words that open every report: the verdict's level and the window, the same in each medium."""

from __future__ import annotations

from analyzer.analysis import Finding, Overview
from analyzer.analysis.nightly.findings import RESOLUTIONS
from analyzer.report.cells import count, counted, minute

_LEVELS = {"unjudged": "NOT JUDGED"}


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


def sessions_words(overview: Overview) -> str:
    """In how many sessions there are errors, of those that the logs show."""
    totals = overview.totals
    if totals.error_sessions in {0, totals.sessions}:
        return counted(totals.sessions, "session") if totals.error_sessions else "no named session"
    return f"{count(totals.error_sessions)} of {counted(totals.sessions, 'session')}"


def title_of(found: Finding) -> str:
    """What was found and of whom; the name comes from a log."""
    return f"{found.kind.title}: {found.scope.who}"


def course(found: Finding) -> str:
    """Since when it is open, or from when to when it was."""
    if found.state == "resolved":
        why = RESOLUTIONS.get(found.resolution or "", found.resolution)
        days = f"{found.onset} to {found.last_on}" if found.onset < found.last_on else f"{found.onset}"
        return f"{days}, over on {found.resolved_on}: {why}"
    return f"open since {found.opened_on}" + (f", last seen {found.last_on}" if found.last_on > found.opened_on else "")


def alarms(overview: Overview) -> str:
    """How far findings can be trusted on this history."""
    rate = overview.false_alarms_per_thousand
    if rate is None:
        return "How many false alarms these settings give on this history has not been measured."
    return f"On this history without its changes these settings give {rate:.1f} false alarms per 1,000 caller-days."
