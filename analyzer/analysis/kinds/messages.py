"""The kinds of new messages, of texts that replace what a rule matched, and of a session that repeats a message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.charts.chart import Axis, Bars, Chart
from analyzer.analysis.detection import bursts
from analyzer.analysis.detection.detection import Detection, detections_in
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
    SESSION_ITSELF,
    Basis,
    Behind,
    Charted,
    ChartForm,
    Evidence,
    Finding,
    Kind,
    its_days,
    note_of,
    since,
)
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.rises import RISE, UNKNOWN, UNKNOWN_ERRORS
from analyzer.analysis.kinds.sentences import sessions
from analyzer.analysis.observations import Observations, end_of, start_of


def severity_of_message(day: Detection) -> str:
    """Return the severity of a new message: a warning in five sessions."""
    return "warning" if (day.sessions or 0) >= 5 else "info"


def new_message(finding: Finding) -> str:
    """Say that the caller has a message that it did not have before."""
    return f"an unknown message that it did not have before, in {sessions(finding)}, {since(finding)}"


def shared_message(finding: Finding) -> str:
    """Say that a message is new to the whole fleet."""
    text = note_of(finding)
    return f"an unknown message that nobody had before: {text}"


def weak_message(finding: Finding) -> str:
    """Say that the reason of a new message rests on weak evidence."""
    text = f"judged {finding.scope.reason} by weak evidence alone, a bare status or weak words"
    if finding.scope.caller is None:
        return f"a message that nobody had before, {text}: {note_of(finding)}"
    return f"a message that it did not have before, {text}, in {sessions(finding)}, {since(finding)}"


def reworded(finding: Finding) -> str:
    """Say that a new text replaces what a rule matched."""
    text = note_of(finding)
    return text if finding.wording else f"{text}, {since(finding)}"


def sighting_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `SIGHTINGS`, a day each; without a caller those of all."""
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
    """Return the rows of `WORDING`, a day each."""
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
    """Draw the sessions by day that show the message, and all sessions of its caller."""
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
    """Draw by day the sessions in which the rule matched, those with the new text, and all."""
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
    "of its days with the message", lambda finding, _seen: pl.col("template") == finding.scope.template, its_days
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
    evidence=UNKNOWN_ERRORS,
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
        evidence=Evidence(),
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
        # Where a rule fell silent, what came in place of the texts that it took is unknown.
        evidence=Evidence(reason=lambda finding: "unknown" if finding.scope.rule else finding.scope.reason),
        chart=WORDING,
    ),
}


MAX_MOMENTS = 60
"""Bars of a burst."""
_SECONDS = (1, 5, 15, 60, 300, 900, 3_600)
"""How long a bar of a burst may be."""
_UNITS = ((3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))


def longest_bursts(seen: Observations) -> Iterable[Detection]:
    """Yield the longest burst of each message a day, with the number of other sessions with it."""
    longest: dict[tuple[date, str | None, str | None], Detection] = {}
    more: dict[tuple[date, str | None, str | None], int] = {}
    for burst in detections_in(bursts(seen.loud, seen.repeats)):
        key = burst.day, burst.caller, burst.template
        more[key] = more.get(key, 0) + 1
        former = longest.get(key)
        if former is None or (-(burst.observed or 0), burst.scope or "") < (
            -(former.observed or 0),
            former.scope or "",
        ):
            longest[key] = burst
    for key, burst in longest.items():
        others = more[key] - 1
        yield replace(burst, note=f"{burst.note}, and {others} more do so too") if others else burst


def burst_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `BURST`: equal stretches of time; `begins_at` is UTC.

    They are the shortest that are 60 at most in a day.
    """
    timezone = basis.seen.timezone
    own = basis.repeats.filter(
        (pl.col("caller") == finding.scope.caller)
        & (pl.col("session") == finding.scope.session)
        & (pl.col("template") == finding.scope.template)
        & (pl.col("second_at") >= start_of(finding.onset, timezone))
        & (pl.col("second_at") < end_of(finding.last_on, timezone))
    )
    if own.is_empty():
        return pl.DataFrame(schema={"begins_at": pl.Datetime("us"), "seconds": pl.Int64, "repeats": pl.Int64})
    seconds = own.select((pl.col("second_at").max() - pl.col("second_at").min()).dt.total_seconds()).item() + 1
    width = next((size for size in _SECONDS if seconds <= size * (MAX_MOMENTS - 1)), _SECONDS[-1])
    counted = own.group_by(pl.col("second_at").dt.truncate(f"{width}s").alias("begins_at")).agg(
        pl.col("events").sum().alias("repeats")
    )
    return counted.select("begins_at", pl.lit(width, pl.Int64).alias("seconds"), pl.col("repeats")).sort("begins_at")


def burst_chart(case: Charted) -> Chart:
    """Draw the repeats of the message in the session, over its time."""
    rows = list(case.numbers.iter_rows(named=True))
    seconds = rows[0]["seconds"]
    bars = Bars(
        "repeats of the message",
        MARKED,
        tuple(row["begins_at"] for row in rows),
        tuple(row["repeats"] for row in rows),
        tuple(f"from {row['begins_at']:%H:%M:%S}: {row['repeats']:,} repeats" for row in rows),
        width=seconds * 1_000 * 0.9,
        # A bar stands over its stretch of time, not around its beginning.
        centred=False,
    )
    usual = case.finding.latest.expected
    end = rows[-1]["begins_at"] + timedelta(seconds=seconds)
    note = f"{sum(bars.lengths):,} repeats from {rows[0]['begins_at']:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%S} UTC"
    if usual is not None:
        times = "time" if usual == 1 else "times"
        note += f"; other sessions of this caller show a message {usual:,.0f} {times} (median)"
    return Chart(
        f"How often the session repeats the message, every {_length(seconds)}",
        f"{note}.",
        Axis(
            "time (UTC)",
            "date",
            "%H:%M:%S\n%-d %b %Y" if seconds < 60 else "%H:%M\n%-d %b %Y",
            most_ticks=6,
            grid=False,
        ),
        Axis("repeats", form=",~r", from_zero=True, most_ticks=5),
        (bars,),
        height=320,
    )


def _length(seconds: int) -> str:
    size, singular, plural = next(unit for unit in _UNITS if seconds >= unit[0])
    return singular if seconds == size else f"{seconds // size} {plural}"


BURST = ChartForm(
    "The burst",
    "Stretches without a repeat are left out.",
    {
        "begins_at": "beginning of a stretch",
        "seconds": "how long the stretch is",
        "repeats": "errors with the message in the session",
    },
    burst_rows,
    burst_chart,
    by_second=True,
)


BURSTS = {
    "burst": Kind(
        title="One session repeats an error",
        metric="repeats of the message in the session",
        quotes=True,
        advice="look at that session; one session is no change of the world",
        asks=("show", SESSION_ITSELF),
        scope="session",
        part_of_rise=True,
        behind=WITH_MESSAGE,
        chart=BURST,
    )
}
