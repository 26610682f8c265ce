"""The tables of one finding, once for HTML and Markdown; the numbers of its chart are in `finding_numbers`."""

from __future__ import annotations

from analyzer.analysis import Case
from analyzer.analysis.summary.underlying import MAX_SESSIONS, MAX_TEMPLATES
from analyzer.report.page.rules_section import changes_part
from analyzer.report.page.section_parts import Part

_WEEK = "of the last week"
_SPANS = {
    "reasons": f"{_WEEK} with the reason that grew most",
    "recovery_fell": f"{_WEEK} with its reason",
    "retry_in_vain": f"{_WEEK} with its reason",
    "retry_would_pay": f"{_WEEK} with its reason",
    "burst": "of its days with the message",
    "relays": "of its days",
}
"""Which errors speak for a finding, where it is not the unknown ones since its onset."""


def templates_part(case: Case) -> Part:
    """The messages that explain the finding."""
    full = case.templates.height >= MAX_TEMPLATES
    whose = _SPANS.get(case.finding.finding, "that are unknown, since its onset")
    return Part(
        "",
        "Messages behind it",
        f"Errors {whose}, by message, the one that most sessions show first; numbers and ids differ.",
        {
            "message": "the latest text of it, redacted and capped",
            "sessions": "distinct sessions that show it",
            "events": "errors with it",
        },
        case.templates,
        note=f"The first {MAX_TEMPLATES}; there may be more: analyzer query errors-facts" if full else "",
    )


def sessions_part(case: Case) -> Part:
    """The sessions to look at."""
    full = case.sessions.height >= MAX_SESSIONS
    relays = case.finding.finding == "relays"
    what = "Hand-offs" if relays else "Errors"
    whose = _SPANS.get(case.finding.finding, "that are unknown, since its onset")
    return Part(
        "",
        "Sessions behind it",
        f"{what} {whose}, by session, those with the most first, then the latest.",
        {
            "session": "the agent's session; where there is none the retry chain, else the file",
            "day": "the first day on which it shows the finding",
            "events": "hand-offs" if relays else "errors",
        },
        case.sessions,
        note=f"The first {MAX_SESSIONS}; there may be more." if full else "",
    )


def drift_part(case: Case) -> Part:
    """Which of the three drifts it is."""
    return changes_part(case.changes, "What else changed at its onset")
