"""The charts of findings by day, what a finding is about above what it rests on; and the function of each form."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from analyzer.analysis.charts.chart import Chart, Mark
from analyzer.analysis.charts.colours import GREEN, SILVER, SLATE, VERMILION
from analyzer.analysis.charts.finding_bars import burst, mix
from analyzer.analysis.charts.finding_panels import (
    MARKED,
    USUAL,
    band,
    bars,
    counts_axis,
    dashes,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.cases import Case

_OTHER = (SLATE, "\\")
_RECOVERED, _FAILED, _UNTRIED = (GREEN, ""), (VERMILION, "x"), (SILVER, "-")


def share(case: Case) -> Chart:
    """The unknown share of distinct errors by day, with what was expected of it, and the sessions of each day."""
    rows, latest = (
        case.numbers.with_columns(others=pl.col("sessions") - pl.col("unknown_sessions")),
        case.finding.latest,
    )
    marks: tuple[Mark, ...] = (
        *share_band(case, latest.expected, "expected share"),
        share_line(rows.select("day", "unknown_share", "unknown_groups", "groups"), "unknown share", "distinct errors"),
        bars(rows, "unknown_sessions", "sessions with an unknown error", MARKED, lower=True),
        bars(rows, "others", "other sessions", USUAL, lower=True),
    )
    title = "Unknown share of distinct errors by day, and the sessions behind it"
    return panels(
        case, title, marks, shares_axis("share (%)", max([*rows["unknown_share"], latest.high or 0.0])), "sessions"
    )


def message(case: Case) -> Chart:
    """The sessions by day that show the message, and all sessions of its caller."""
    rows = case.numbers
    marks = (
        bars(rows, "message_sessions", "sessions that show the message", MARKED),
        bars(rows, "sessions", "all sessions with an error", USUAL, lower=True),
    )
    title = "Sessions by day that show the new message, and all sessions of its caller"
    upper = counts_axis("sessions", max(rows["message_sessions"], default=0))
    note = _counted(case.finding.latest, "sessions", ".2g")
    return panels(case, title, marks, upper, "all sessions", note=note, marked="first sight")


def volume(case: Case) -> Chart:
    """Distinct errors by day, and the sessions at work."""
    rows = case.numbers
    marks = (
        bars(rows, "errors", "distinct errors", MARKED),
        bars(rows, "sessions", "sessions in the logs", USUAL, lower=True),
    )
    title = "Distinct errors by day, and the sessions behind them"
    upper = counts_axis("errors", max(rows["errors"], default=0))
    return panels(case, title, marks, upper, "sessions", note=_counted(case.finding.latest, "errors", ",.1f"))


def wording(case: Case) -> Chart:
    """The sessions by day in which the rule matched, those that show the new text, and all at work."""
    rows, latest = case.numbers, case.finding.latest
    marks = (
        bars(rows, "rule_sessions", "sessions in which the rule matched", _OTHER),
        bars(rows, "message_sessions", "sessions that show the new text", MARKED),
        bars(rows, "sessions", "sessions in the logs", USUAL, lower=True),
    )
    title = "Sessions by day in which the rule matched, and those that show the new text"
    highest = max((rows["rule_sessions"] + rows["message_sessions"]).to_list(), default=0)
    note = "" if latest.expected is None else f"The rule would have matched in {latest.expected:,.1f} since the onset."
    return panels(case, title, marks, counts_axis("sessions", highest), "sessions", note=note)


def _counted(latest: Detection, what: str, form: str) -> str:
    """A count beside what was expected of it, in words; empty where nothing was."""
    if latest.observed is None or latest.expected is None or latest.high is None:
        return ""
    return (
        f"{latest.observed:,.0f} {what} up to {latest.day}; had nothing changed, {latest.expected:{form}} expected, "
        f"and in 39 of 40 cases {latest.high:,.0f} at most."
    )


def hand_offs(case: Case) -> Chart:
    """Hand-offs by day, with what the day's sessions and weekday let one expect of each, and the sessions at work."""
    rows = case.numbers
    known = rows.drop_nulls("expected")
    within = "what 39 of 40 such days stay within"
    marks = (
        band(within, known["day"], [0.0] * known.height, known["high"], stepped=True),
        dashes("expected", known["day"], known["expected"], stepped=True),
        bars(rows.filter("unusual"), "hand_offs", "hand-offs, unusual days", MARKED),
        bars(rows.filter(~pl.col("unusual")), "hand_offs", "hand-offs, other days", _OTHER),
        bars(rows, "sessions", "sessions at work", USUAL, lower=True),
    )
    title = "Hand-offs by day with what was expected, and the sessions at work"
    upper = counts_axis("hand-offs", max([*rows["hand_offs"], *rows["high"].drop_nulls()], default=0))
    note = "The first days have no history to expect from." if rows["high"].has_nulls() else ""
    return panels(case, title, marks, upper, "sessions", note=note)


def recovery(case: Case) -> Chart:
    """The share of retry chains that recovered over a week, by its last day, and the chains of each day.

    The band is what is expected of the share where it fell, else what all days together say of it.
    """
    rows = case.numbers.with_columns(failed=pl.col("chains") - pl.col("recovered"))
    latest, week = case.finding.latest, f"{RECENT_DAYS} days"
    fell = latest.expected is not None
    known = "expected share" if fell else f"share over all {BASELINE_DAYS + RECENT_DAYS} days"
    shares = rows.select("day", "recovered_share", "week_recovered", "week_chains")
    marks: tuple[Mark, ...] = (
        *share_band(case, latest.expected if fell else latest.observed, known),
        share_line(shares, f"recovered share of {week}", f"chains of {week} recovered"),
        *(
            bars(rows, column, name, style, lower=True)
            for column, name, style in (
                ("recovered", "chains that recovered", _RECOVERED),
                ("failed", "chains that did not", _FAILED),
                ("untried", "errors without a retry", _UNTRIED),
            )
            if rows[column].sum()
        ),
    )
    title = f"Share of retry chains that recovered, over {week}, and the chains of each day"
    upper = shares_axis("share (%)", max([*rows["recovered_share"].drop_nulls(), latest.high or 0.0]))
    return panels(case, title, marks, upper, "chains", marked="found")


FORMS: dict[str, Callable[[Case], Chart]] = {
    "share": share,
    "message": message,
    "burst": burst,
    "mix": mix,
    "hand_offs": hand_offs,
    "volume": volume,
    "wording": wording,
    "recovery": recovery,
}
"""By the form that a kind of finding names."""


def finding(case: Case) -> Chart:
    """The chart of a finding with numbers."""
    chart = case.finding.kind.chart
    assert chart is not None, "causes have no numbers"
    return FORMS[chart.form](case)
