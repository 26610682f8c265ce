"""The section about rules: the three drifts of the fleet, and what rulesets did to history."""

from __future__ import annotations

from functools import partial

import polars as pl

from analyzer.analysis import Overview, charts
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.kinds.causes import Drift
from analyzer.phrases import counted
from analyzer.report.sections.part import MAX_ROWS, Part, Section, part_of

DRIFTS = {
    "traffic": "other errors come in: judged by one and the same rules, the mix of reasons differs",
    "classifier": "the same errors are judged otherwise than they were when they were recorded",
    "wording": "texts that are new to a known reason, or a rule that fell silent while new unknown texts came",
}
"""The three drifts, and what each means."""


def rules_section(overview: Overview) -> Section:
    """What changed under the errors of the whole fleet."""
    found = overview.drifts
    return Section(
        "rules",
        "Rules and drift",
        _lead(overview),
        (
            Part(
                "detection-counts",
                "Unknown share of errors by day, as recorded and under the rules in force",
                "Where the two lines part, rules made the difference and not the traffic. "
                "The share is that of all callers together.",
                {
                    "day": "day in the time zone of the window",
                    "errors": "errors that count: aborts and errors without any detail do not",
                    "recorded_share": "of these recorded as unknown, 0..1",
                    "unknown_share": "of these unknown to the rules in force, 0..1",
                },
                found.days,
                partial(charts.rules, found),
            ),
            changes_part(
                found.found,
                f"What the last {RECENT_DAYS} days have that the {BASELINE_DAYS} before them had not",
                "ruleset-groups",
            ),
            part_of(overview, "ruleset-applied"),
        ),
    )


def changes_part(changes: tuple[Drift, ...], title: str, query: str = "") -> Part:
    """The drifts as a table, the most sessions first within each."""
    names = tuple(Drift.__slots__)
    order = list(DRIFTS)
    rows = sorted(changes, key=lambda change: (order.index(change.drift), -change.sessions))
    frame = pl.DataFrame([{name: getattr(change, name) for name in names} for change in rows], schema=_COLUMNS)
    more = f"{MAX_ROWS} of {frame.height:,} rows." if frame.height > MAX_ROWS else ""
    meanings = {
        "drift": "; ".join(f"{name}: {meaning}" for name, meaning in DRIFTS.items()),
        "about": "a reason, a rule, or what a reason became",
        "said": "the evidence",
        "message": "the new text",
        "sessions": "distinct sessions that show it",
        "p_value": "probability of as much or more had nothing changed; none where nothing is left to chance",
    }
    about = "Traffic, classifier and wording look alike in a chart and ask for different people."
    return Part(query, title, about, meanings, frame.select(list(meanings)), note=more)


_COLUMNS = {
    "drift": pl.String,
    "about": pl.String,
    "said": pl.String,
    "message": pl.String,
    "sessions": pl.Int64,
    "p_value": pl.Float64,
}


def _lead(overview: Overview) -> str:
    found = overview.drifts
    if overview.judged_until is None:
        return "There is no history to judge."
    if found.split is None:
        said = f"Nothing comes before the last {RECENT_DAYS} days, so there is nothing to tell a drift from."
    else:
        kinds = [name for name in DRIFTS if any(change.drift == name for change in found.found)]
        what = f"a drift of {' and '.join(kinds)}" if kinds else "no drift of traffic, classifier or wording"
        said = f"The days from {found.split} to {overview.judged_until} show {what}."
    if found.ruleset:
        said += f" Ruleset {found.ruleset} is in force."
    if overview.not_replayed:
        said += f" It could not judge {counted(overview.not_replayed, 'error')}, which count as they were recorded."
    return said
