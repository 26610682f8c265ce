"""The kinds that are no rise of errors: silent callers, counted signals, and worse versions and models."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, time, timedelta

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.signals.rises import SIGNALS as COUNTED
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    SINCE_BASELINE,
    USUAL,
    around,
    bars,
    counted_beside_expected,
    counts_axis,
    panels,
)
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, Kind, note_of
from analyzer.analysis.kinds.finding_fields import warning


def severity_of_silence(day: Detection) -> str:
    """Return the severity of a silence: that of the fleet is critical."""
    return "critical" if day.caller is None else "warning"


def noted_of_days(finding: Finding) -> str:
    """Say what the test noted of the latest day, and since when it is so."""
    return note_of(finding) + (f", since {finding.onset}" if finding.onset < finding.last_on else "")


def session_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `SESSIONS`, a day each."""
    work, caller = basis.seen.work, finding.scope.caller
    own = work if caller is None else work.filter(pl.col("caller") == caller)
    logged = work.select("day").unique().filter(around(finding, basis.last))
    daily = own.group_by("day").agg(pl.sum("sessions"))
    others = work.group_by("day").agg(pl.sum("sessions").alias("fleet_sessions"))
    rows = logged.join(daily, on="day", how="left").join(others, on="day", how="left").sort("day")
    return rows.with_columns(pl.col("sessions", "fleet_sessions").fill_null(0))


def session_chart(case: Charted) -> Chart:
    """Draw the sessions of each day, and below them those of the fleet."""
    rows = case.numbers
    marks = (
        bars(rows, "sessions", "sessions", MARKED),
        bars(rows, "fleet_sessions", "sessions of the fleet", USUAL, lower=True),
    )
    upper = counts_axis("sessions", max(rows["sessions"], default=0))
    note = counted_beside_expected(case.finding.latest, "sessions", ",.0f")
    return panels(case, "Sessions by day, and those of the fleet", marks, upper, "sessions", note=note)


SESSIONS = ChartForm(
    "Days of the sessions",
    f"{SINCE_BASELINE} Days without any event in the logs are left out.",
    {
        **DAY,
        "sessions": "distinct sessions that the logs show, with errors or without",
        "fleet_sessions": "those of all callers",
    },
    session_rows,
    session_chart,
)


def signal_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `COUNTS`, a day each."""
    scope, signal, seen = finding.scope, COUNTED[finding.finding], basis.seen
    about = {"name": scope.tool or scope.provider or scope.host, "caller": scope.caller}
    named = [pl.col(column) == name for column, name in about.items() if name is not None]
    own = seen.signals.filter(pl.col("signal") == signal.counted, *named)
    weight = pl.col("groups") * (2 ** pl.col("level") if signal.by_level else 1)
    daily = own.group_by("day").agg(weight.sum().cast(pl.Int64).alias("amount"), pl.sum("exposure").alias("number"))
    if signal.against:
        whose = own if scope.caller is None else pl.DataFrame({"caller": [scope.caller]})
        at_work = seen.work.join(whose.select("caller").unique(), on="caller", how="semi")
        number = at_work.group_by("day").agg(pl.sum("sessions").alias("number"))
        daily = number.join(daily.drop("number"), on="day", how="left").fill_null(0).select(daily.columns)
    return daily.filter(around(finding, basis.last)).sort("day")


def signal_chart(case: Charted) -> Chart:
    """Draw what was counted on each day, and what it came from."""
    rows, (what, of) = case.numbers, _CHARTED[case.finding.finding]
    marks = (bars(rows, "amount", what, MARKED), bars(rows, "number", of, USUAL, lower=True))
    upper = counts_axis(what, max(rows["amount"], default=0))
    return panels(case, f"{what.capitalize()} by day, and the {of}", marks, upper, of)


_CHARTED = {
    "tool_failures": ("failed calls", "sessions that used it"),
    "waits_grow": ("seconds waited", "retry chains"),
    "retries_exhausted": ("chains that ran out", "retry chains"),
    "sessions_aborted": ("times stopped", "sessions"),
    "sessions_empty": ("empty sessions", "sessions"),
    "sessions_unanswered": ("unanswered sessions", "sessions"),
    "shipped_twice": ("sessions that are there twice", "sessions"),
}
"""What is counted, and what that comes from, in words of a chart."""
COUNTS = ChartForm(
    "Days of what is counted",
    SINCE_BASELINE,
    {
        **DAY,
        "amount": "how often, three times a session at most; chains by their number; or seconds waited for retries, "
        "each chain's rounded down to a power of two",
        "number": "distinct sessions that used the tool, or that the logs show; or retry chains",
    },
    signal_rows,
    signal_chart,
)


def version_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `VERSIONS`, a day each."""
    about = finding.scope.version or finding.scope.model or ""
    rows = basis.seen.signals.filter(pl.col("signal") == ("version" if finding.scope.version else "model"))
    parts = pl.col("name").str.split("\t").list
    own = (parts.join(" ") if finding.scope.version else parts.last()) == about
    agents = rows.filter(own).select(parts.first()).to_series().unique().to_list()
    rows = rows.filter(parts.first().is_in(agents), around(finding, basis.last))
    sums = [
        pl.col(column).filter(own if is_own else ~own).sum().cast(pl.Int64).alias(name)
        for name, column, is_own in (
            ("failed_sessions", "sessions", True),
            ("sessions", "exposure", True),
            ("other_failed_sessions", "sessions", False),
            ("other_sessions", "exposure", False),
        )
    ]
    return rows.group_by("day").agg(*sums).sort("day")


def version_chart(case: Charted) -> Chart:
    """Draw the sessions of each day that met such errors, and below them all of the agent's."""
    both = {name: pl.col(name) + pl.col(f"other_{name}") for name in ("failed_sessions", "sessions")}
    rows = case.numbers.with_columns(**both)
    marks = (
        bars(rows, "failed_sessions", "sessions with such errors", MARKED),
        bars(rows, "sessions", "sessions", USUAL, lower=True),
    )
    upper = counts_axis("sessions with such errors", max(rows["failed_sessions"], default=0))
    return panels(case, "Sessions with errors of their own side by day", marks, upper, "sessions")


VERSIONS = ChartForm(
    "Days of the version, and of the others",
    SINCE_BASELINE,
    {
        **DAY,
        "failed_sessions": "sessions under the version or model with an error of the request, of the environment or of "
        "no known cause",
        "sessions": "all sessions under it",
        "other_failed_sessions": "such sessions under the agent's other versions or models",
        "other_sessions": "all sessions under these",
    },
    version_rows,
    version_chart,
)


_WAITED = re.compile(r"waited for ([\d,]+) s or more")
_TOGETHER = re.compile(r"callers fell silent together \((.+?)(?: and \d+ more)?\): ")
_FROM = re.compile(r"from (\d\d):00 to ")
_TO = re.compile(r"from \d\d:00 to (\d\d):00")
_UNDER = re.compile("sessions under (.+?) since ")


def _note(finding: Finding, pattern: re.Pattern[str]) -> str | None:
    """Return what a pattern matches in the note of its latest day, which its sentence quotes."""
    match = pattern.search(finding.latest.note or "")
    return match[1] if match else None


def _longer(finding: Finding) -> dict[str, float]:
    """Ask for the chains that waited for as long as the sentence says."""
    return {"least": float((_note(finding, _WAITED) or "0").replace(",", ""))}


def _silent(finding: Finding) -> dict[str, list[str]]:
    """Ask for the callers that the sentence names, where several fell silent together."""
    names = _note(finding, _TOGETHER)
    return {"callers": names.split(", ")} if names else {}


def _silent_hours(finding: Finding) -> tuple[datetime, datetime] | None:
    """Return the hours of silence from its first day to its last one; None for whole days."""
    begins, ends = (_note(finding, pattern) for pattern in (_FROM, _TO))
    if begins is None or ends is None:
        return None
    first, last = (datetime.combine(day, time()) for day in (finding.onset, finding.last_on))
    return first + timedelta(hours=int(begins)), last + timedelta(hours=int(ends) or 24)


_COUNTED = Kind(
    title="A tool fails more often",
    metric="failed calls of the span that was judged, three of a session at most",
    severity=warning,
    sentence=noted_of_days,
    advice="try the tool, and look at what it says",
    asks=("query", "tools-messages"),
    scope="tool",
    evidence=Evidence({"tool": 0}),
    chart=COUNTS,
)
_WORSE = Kind(
    title="Worse under a new version",
    metric="sessions under it with an error of the request, of the environment or of no known cause",
    severity=warning,
    sentence=note_of,
    advice="stay with the one before until that is mended, and compare the two",
    asks=("query", "versions-by-agent"),
    asks_all=True,
    scope="version",
    evidence=Evidence({"version": 0}),
    chart=VERSIONS,
)
SIGNALS = {
    "tool_failures": _COUNTED,
    "waits_grow": replace(
        _COUNTED,
        title="Retries wait longer",
        metric="retry chains of the span that was judged that waited longer than nine in ten before",
        advice="ask the provider, or wait for it to recover; call it less often",
        asks=("query", "retries-outcomes"),
        scope="provider",
        evidence=Evidence({"wait": 0}, more=_longer),
    ),
    "version_worse": _WORSE,
    "model_worse": replace(
        _WORSE,
        title="Worse under a new model",
        asks=("query", "errors-messages"),
        asks_all=False,
        scope="model",
        # Its scope is only the model, which several agents may use.
        evidence=Evidence({"model": 0}, name=lambda finding: _note(finding, _UNDER)),
    ),
    "retries_exhausted": replace(
        _COUNTED,
        title="Retries run out",
        metric="retry chains of the span that was judged that ran out of tries",
        advice="ask the provider; more tries would only wait for longer",
        asks=("query", "retries-outcomes"),
        scope="provider",
        evidence=Evidence({"exhausted": 0}),
    ),
    "sessions_aborted": replace(
        _COUNTED,
        title="People stop their sessions",
        metric="stopped turns of the span that was judged, three of a session at most",
        advice="ask who stopped them why: it does what nobody wants, or nothing for too long",
        asks=(),
        scope=None,
        evidence=Evidence({"aborted": 0}),
    ),
    "sessions_empty": replace(
        _COUNTED,
        title="Sessions ask nothing",
        metric="sessions of the span that was judged without any request",
        advice="start one by hand: it begins, and never reaches its model",
        asks=(),
        scope=None,
        evidence=Evidence({"empty": 0}),
    ),
    "sessions_unanswered": replace(
        _COUNTED,
        title="Sessions end without an answer",
        metric="sessions of the span that was judged that ended with a failure",
        advice="see what they ended with",
        asks=("query", "endings-sessions"),
        scope=None,
        evidence=Evidence({"unanswered": 0}),
    ),
    "shipped_twice": replace(
        _COUNTED,
        title="Logs arrive twice",
        metric="sessions of the span that was judged that stand in the logs twice",
        advice="ship each log once: counts of this host are too high until the copies are gone",
        asks=(),
        scope="host",
        evidence=Evidence({"copy": 0}),
    ),
    "silence": Kind(
        title="Sessions stay away",
        metric="sessions of the day, or of half a day or a whole one over midnight",
        severity=severity_of_silence,
        sentence=noted_of_days,
        advice="see whether it still runs, and whether its logs still arrive",
        # Its evidence is only what came last, and the few sessions that came all the same.
        evidence=Evidence({"before": 0, "at_work": 0}, more=_silent, hours=_silent_hours),
        chart=SESSIONS,
    ),
}
"""Each of their days is judged by itself, as those of rises of errors are."""
