"""The kinds of new messages, and of new texts that took the place of what a rule matched."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    OTHER,
    SINCE_BASELINE,
    USUAL,
    around,
    bars,
    counted_beside_expected,
    counts_axis,
    panels,
)
from analyzer.analysis.kinds.finding import (
    MESSAGE,
    MESSAGE_ITSELF,
    Basis,
    Behind,
    Charted,
    ChartForm,
    Finding,
    Kind,
    its_days,
    note_of,
    own_reason,
    since,
)
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.rises import RISE, UNKNOWN, unknown
from analyzer.analysis.kinds.sentences import sessions


def severity_of_message(day: Detection) -> str:
    """A new message is a warning in five sessions."""
    return "warning" if (day.sessions or 0) >= 5 else "info"


def new_message(finding: Finding) -> str:
    """A message that the caller did not have before."""
    return f"an unknown message that it did not have before, in {sessions(finding)}, {since(finding)}"


def shared_message(finding: Finding) -> str:
    """A message that is new to the whole fleet."""
    text = note_of(finding)
    return f"an unknown message that nobody had before: {text}"


def weak_message(finding: Finding) -> str:
    """A new message whose reason rests on weak evidence."""
    text = f"judged {finding.scope.reason} by weak evidence alone, a bare status or weak words"
    if finding.scope.caller is None:
        return f"a message that nobody had before, {text}: {note_of(finding)}"
    return f"a message that it did not have before, {text}, in {sessions(finding)}, {since(finding)}"


def reworded(finding: Finding) -> str:
    """A new text in the place of what a rule matched."""
    text = note_of(finding)
    return text if finding.wording else f"{text}, {since(finding)}"


def _reason_of_new_text(finding: Finding) -> str | None:
    """The reason of new texts; where a rule fell silent `unknown`, which came in place of the texts that it took."""
    return "unknown" if finding.scope.rule else finding.scope.reason


def sighting_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `SIGHTINGS`, a day each; without a caller those of all."""
    shown = basis.seen.known_templates if finding.finding == "weak_template" else basis.seen.templates
    shown, days = shown.filter(pl.col("template") == finding.scope.template), basis.seen.counts
    if finding.scope.caller is not None:
        shown, days = (rows.filter(pl.col("caller") == finding.scope.caller) for rows in (shown, days))
    own = shown.group_by("day").agg(
        pl.col("sessions").sum().alias("message_sessions"), pl.col("events").sum().alias("message_events")
    )
    return (
        days.filter(around(finding, basis.last))
        .group_by("day")
        .agg(pl.col("sessions").sum())
        .join(own, on="day", how="left")
        .select("day", pl.col("message_sessions", "message_events").fill_null(0), "sessions")
        .sort("day")
    )


def wording_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `WORDING`, a day each."""
    seen, scope = basis.seen, finding.scope
    shown = seen.templates.filter((pl.col("template") == scope.template) & (pl.col("day") >= finding.onset))
    if scope.caller is not None:
        shown = shown.filter(pl.col("caller") == scope.caller)
    own = pl.col("caller").is_in(shown["caller"].unique().to_list()) & around(finding, basis.last)
    matched = seen.rules.filter(own & (pl.col("rule") == scope.rule))
    parts = {
        "rule_sessions": matched,
        "message_sessions": shown.filter(own),
        "sessions": seen.work.filter(own),
    }
    days = pl.concat([rows.select("day") for rows in parts.values()]).unique()
    for name, rows in parts.items():
        daily = rows.group_by("day").agg(pl.col("sessions").sum().alias(name))
        days = days.join(daily, on="day", how="left").with_columns(pl.col(name).fill_null(0))
    return days.sort("day")


def sighting_chart(case: Charted) -> Chart:
    """The sessions by day that show the message, and all sessions of its caller."""
    rows = case.numbers
    marks = (
        bars(rows, "message_sessions", "sessions that show the message", MARKED),
        bars(rows, "sessions", "all sessions with an error", USUAL, lower=True),
    )
    title = "Sessions by day that show the new message, and all sessions of its caller"
    upper = counts_axis("sessions", max(rows["message_sessions"], default=0))
    note = counted_beside_expected(case.finding.latest, "sessions", ".2g")
    return panels(case, title, marks, upper, "all sessions", note=note, marked="first sight")


def wording_chart(case: Charted) -> Chart:
    """The sessions by day in which the rule matched, those that show the new text, and all at work."""
    rows, latest = case.numbers, case.finding.latest
    marks = (
        bars(rows, "rule_sessions", "sessions in which the rule matched", OTHER),
        bars(rows, "message_sessions", "sessions that show the new text", MARKED),
        bars(rows, "sessions", "sessions in the logs", USUAL, lower=True),
    )
    title = "Sessions by day in which the rule matched, and those that show the new text"
    highest = max((rows["rule_sessions"] + rows["message_sessions"]).to_list(), default=0)
    note = "" if latest.expected is None else f"The rule would have matched in {latest.expected:,.1f} since the onset."
    return panels(case, title, marks, counts_axis("sessions", highest), "sessions", note=note)


WITH_MESSAGE = Behind(
    "of its days with the message", lambda one, _seen: pl.col("template") == one.scope.template, its_days
)
SIGHTINGS = ChartForm(
    "Days of the message",
    SINCE_BASELINE,
    {
        **DAY,
        "message_sessions": "distinct sessions that show the message",
        "message_events": "errors with the message",
        "sessions": "distinct sessions with an error",
    },
    sighting_rows,
    sighting_chart,
)
SHARED_SIGHTINGS = replace(
    SIGHTINGS,
    columns={
        **SIGHTINGS.columns,
        "message_sessions": "distinct sessions that show the message, at any caller",
    },
)
WEAK_SIGHTINGS = replace(
    SIGHTINGS,
    columns={
        **SIGHTINGS.columns,
        "message_sessions": "distinct sessions that show the message, of the caller or at any",
    },
)
WORDING = ChartForm(
    "Days of the old and the new text",
    f"{SINCE_BASELINE} Of the callers that show the new text.",
    {
        **DAY,
        "rule_sessions": "distinct sessions in which the rule matched",
        "message_sessions": "distinct sessions that show the new text",
        "sessions": "distinct sessions that the logs show, with errors or without",
    },
    wording_rows,
    wording_chart,
)
_MESSAGE = Kind(
    title="A new unknown message",
    metric="sessions that show the message",
    severity=severity_of_message,
    sentence=new_message,
    quotes=True,
    advice=RISE.advice,
    asks=RISE.asks,
    family=MESSAGE,
    part_of_rise=True,
    priced=True,
    evidence=unknown,
    behind=UNKNOWN,
    chart=SIGHTINGS,
)
MESSAGES = {
    "template": _MESSAGE,
    "shared_template": replace(
        _MESSAGE,
        title="A new unknown message at several callers",
        severity=warning,
        sentence=shared_message,
        part_of_rise=False,
        chart=SHARED_SIGHTINGS,
    ),
    "weak_template": replace(
        _MESSAGE,
        title="A new message that a rule knows by weak evidence",
        sentence=weak_message,
        advice="write a rule for it where the reason is wrong",
        asks=("rules", "explain", "--", MESSAGE_ITSELF),
        family=None,
        scope="reason",
        part_of_wave=True,
        evidence=own_reason,
        behind=WITH_MESSAGE,
        chart=WEAK_SIGHTINGS,
    ),
    "wording_changed": replace(
        _MESSAGE,
        title="The provider's wording changed",
        metric="sessions in which the rule matched since the new text came",
        severity=warning,
        sentence=reworded,
        scope="reason",
        explains=True,
        evidence=_reason_of_new_text,
        chart=WORDING,
    ),
}
