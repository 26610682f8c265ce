"""The tables of one finding: messages, sessions, the numbers of its chart, and what else changed."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from analyzer.analysis import Case
from analyzer.analysis.kinds.errors_behind import MAX_SESSIONS, MAX_TEMPLATES
from analyzer.importers.work.resuming import resuming
from analyzer.report.sections.part import Part
from analyzer.report.sections.rules_section import changes_part


def templates_part(case: Case) -> Part:
    """The messages that explain the finding."""
    full = case.templates.height >= MAX_TEMPLATES
    whose = case.finding.kind.behind.said
    return Part(
        "",
        "Messages behind it",
        f"Errors {whose}, by message, the one that most sessions show first.",
        {
            "message": "what all of them say, redacted and capped; <*> stands for what differs",
            "sessions": "distinct sessions that show it",
            "events": "errors with it",
        },
        case.templates,
        note=f"The first {MAX_TEMPLATES}; there may be more." if full else "",
    )


def sessions_part(case: Case) -> Part:
    """The sessions to look at."""
    full = case.sessions.height >= MAX_SESSIONS
    behind = case.finding.kind.behind
    what = "Hand-offs" if behind.hand_offs else "Errors"
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


def places_part(case: Case) -> Part:
    """The sessions to look at, each with where it was at work and the command that takes it up again."""
    part = sessions_part(case)
    places = case.places
    if case.sessions.is_empty() or places.is_empty():
        return part
    commands = [resuming(*row) for row in places.select("source_format", "session", "cwd").iter_rows()]
    told = places.select("session", "agent", "project", pl.Series("resume_with", commands, pl.String))
    told = told.with_columns(pl.col("resume_with").replace("", None))
    frame = case.sessions.join(told, on="session", how="left", maintain_order="left")
    meanings = {
        "agent": "the program that was at work",
        "project": "the last name of the working directory",
        "resume_with": "the command that takes the session up again, for agents that have one",
    }
    said = {name: meaning for name, meaning in meanings.items() if frame[name].null_count() < frame.height}
    return replace(part, columns={**part.columns, **said}, frame=frame)


def excerpts_part(case: Case) -> Part:
    """The lines of the logs that some of its errors come from."""
    frame = case.excerpts
    line = pl.format("{}:{}", "source_path", "source_line") if frame.height else pl.lit(None, pl.String)
    shown = frame.with_columns(pl.coalesce(line, "source_path").alias("source_path")) if frame.height else frame
    meanings = {
        "occurred_at": "when it happened",
        "message": "its text, redacted and capped",
        "session": "the agent's session",
        "source_path": "file and line of the log",
    }
    return Part("", "In the log", "The first errors of it, with file and line.", meanings, shown)


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
