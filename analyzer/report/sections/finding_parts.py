"""The tables of one finding: messages, sessions, the numbers of its chart, and what else changed."""

from __future__ import annotations

import polars as pl

from analyzer.analysis import Case
from analyzer.analysis.kinds.errors_behind import HAND_OFFS, MAX_SESSIONS, MAX_TEMPLATES
from analyzer.report.sections.part import Part
from analyzer.report.sections.rules_section import changes_part


def templates_part(case: Case) -> Part:
    """The messages that explain the finding."""
    full = case.templates.height >= MAX_TEMPLATES
    whose = case.finding.kind.behind.said
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
    behind = case.finding.kind.behind
    what = "Hand-offs" if behind is HAND_OFFS else "Errors"
    return Part(
        "",
        "Sessions behind it",
        f"{what} {behind.said}, by session, those with the most first, then the latest.",
        {
            "session": "the agent's session; where there is none the retry chain, else the file",
            "day": "the first day on which it shows the finding",
            "events": what.lower(),
        },
        case.sessions,
        note=f"The first {MAX_SESSIONS}; there may be more." if full else "",
    )


def numbers_part(case: Case) -> Part:
    """The numbers of the chart of a finding that has one; of days the latest first."""
    chart, frame = case.finding.kind.chart, case.numbers
    assert chart is not None, "causes have no chart"
    if "day" in frame.columns:
        frame = frame.reverse()
    if "begins_at" in frame.columns:
        frame = frame.with_columns(pl.col("begins_at").dt.strftime("%Y-%m-%d %H:%M:%S"))
    return Part("", chart.title, chart.description, chart.columns, frame)


def drift_part(case: Case) -> Part:
    """Which of the three drifts it is."""
    return changes_part(case.changes, "What else changed at its onset")
