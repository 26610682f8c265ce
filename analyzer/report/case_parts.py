"""The tables of one finding, once for HTML and Markdown."""

from __future__ import annotations

from analyzer.analysis import Case
from analyzer.analysis.window_findings import MAX_TEMPLATES
from analyzer.report.parts import Part
from analyzer.report.rules_section import changes_part


def days_part(case: Case) -> Part:
    """The numbers of the chart, the latest days first."""
    return Part(
        "",
        "Days of the caller",
        "From 42 days before the onset on; repeats of one message in one session count once. The interval says how "
        "well these days fix the expected share; single days scatter more.",
        {
            "day": "day in the time zone of the window",
            "unknown_share": "unknown_groups / groups, 0..1",
            "unknown_groups": "distinct errors (pairs of session and message) that are unknown to the rules in force",
            "groups": "distinct errors",
            "unknown_sessions": "distinct sessions with an unknown error",
            "sessions": "distinct sessions with an error",
        },
        case.days.reverse(),
    )


def templates_part(case: Case) -> Part:
    """The messages that explain the finding."""
    full = case.templates.height >= MAX_TEMPLATES
    return Part(
        "",
        "Messages behind it",
        "Unknown messages since its onset, the one that most sessions show first; numbers and ids differ.",
        {
            "message": "the latest text of it, redacted and capped",
            "sessions": "distinct sessions that show it",
            "events": "errors with it",
        },
        case.templates,
        note=f"The first {MAX_TEMPLATES}; there may be more: analyzer query unknown-messages" if full else "",
    )


def drift_part(case: Case) -> Part:
    """Which of the three drifts it is."""
    return changes_part(case.changes, "What else changed at its onset")
