"""The kinds of rises: of the unknown share, of errors, and of those of a provider or model at many callers."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from analyzer.analysis.charts.chart import Chart, Mark
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.volumes import SHARED
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    SINCE_BASELINE,
    USUAL,
    around,
    bars,
    counted_beside_expected,
    counts_axis,
    of_caller_around,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.kinds.finding import (
    SHARE,
    Basis,
    Behind,
    Charted,
    ChartForm,
    Evidence,
    Finding,
    Kind,
    its_days,
    note_of,
)
from analyzer.analysis.kinds.finding_fields import MANY_SESSIONS
from analyzer.analysis.kinds.sentences import expected, sessions
from analyzer.analysis.observations import Observations
from analyzer.readable import counted, percent

UNKNOWN_ERRORS = Evidence(reason=lambda _finding: "unknown")


def _unknown_errors(finding: Finding, _seen: Observations) -> pl.Expr:
    errors = pl.col("reason") == "unknown"
    return errors if finding.scope.template is None else errors & (pl.col("template") == finding.scope.template)


UNKNOWN = Behind(
    "that are unknown, since its onset",
    _unknown_errors,
    lambda finding, last: (finding.onset, finding.resolved_on or last),
    unknown=True,
)


def _of_reason(finding: Finding, _seen: Observations) -> pl.Expr:
    reason = finding.scope.reason
    return pl.lit(True) if reason is None else pl.col("reason") == reason


EVERY = Behind("of its days", _of_reason, its_days)


def severity_of_share(day: Detection) -> str:
    """Return the severity of a rise of the unknown share.

    It is critical if it is far above what was expected and hits ten sessions.
    """
    observed, expected = day.observed or 0.0, day.expected or 0.0
    far = observed >= 0.25 or observed >= 5 * max(expected, 0.01)
    return "critical" if far and (day.sessions or 0) >= MANY_SESSIONS else "warning"


def more_unknown(finding: Finding) -> str:
    """Say that the unknown share rose, with the figures of its latest day."""
    latest = finding.latest
    text = f"{percent(latest.observed)} of its distinct errors on {latest.day} are unknown, {expected(finding)}"
    return f"{text}, in {sessions(finding)}" + (f", since {finding.onset}" if finding.onset < finding.last_on else "")


def share_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `SHARES`, a day each."""
    return of_caller_around(basis.seen.counts.filter(pl.col("groups") > 0), finding, basis.last).select(
        "day",
        (pl.col("unknown_groups_replayed") / pl.col("groups")).alias("unknown_share"),
        pl.col("unknown_groups_replayed").alias("unknown_groups"),
        "groups",
        pl.col("unknown_sessions_replayed").alias("unknown_sessions"),
        "sessions",
    )


def share_chart(case: Charted) -> Chart:
    """Draw the unknown share of distinct errors by day, what was expected, and the sessions."""
    rows, latest = (
        case.numbers.with_columns(others=pl.col("sessions") - pl.col("unknown_sessions")),
        case.finding.latest,
    )
    marks: tuple[Mark, ...] = (
        *share_band(case, latest.expected, "expected share", of_days=True),
        share_line(rows.select("day", "unknown_share", "unknown_groups", "groups"), "unknown share", "distinct errors"),
        bars(rows, "unknown_sessions", "sessions with an unknown error", MARKED, lower=True),
        bars(rows, "others", "other sessions", USUAL, lower=True),
    )
    title = "Unknown share of distinct errors by day, and the sessions behind it"
    return panels(
        case, title, marks, shares_axis("share (%)", max([*rows["unknown_share"], latest.high or 0.0])), "sessions"
    )


SHARES = ChartForm(
    "Days of the caller",
    f"{SINCE_BASELINE} Repeats of one message in one session count once. The interval says how well these days fix the "
    "expected share; single days scatter more.",
    {
        **DAY,
        "unknown_share": "unknown_groups / groups, 0..1",
        "unknown_groups": "distinct errors (pairs of session and message) that are unknown to the rules in force",
        "groups": "distinct errors",
        "unknown_sessions": "distinct sessions with an unknown error",
        "sessions": "distinct sessions with an error",
    },
    share_rows,
    share_chart,
)


def severity_of_volume(day: Detection) -> str:
    """Return the severity of a rise of errors.

    It is critical if they are four times as many as expected and hit ten sessions.
    """
    far = (day.observed or 0.0) >= 4 * (day.expected or 0.0)
    return "critical" if far and (day.sessions or 0) >= MANY_SESSIONS else "warning"


def more_errors(finding: Finding) -> str:
    """Say that there were more errors than expected, and from when to when they came."""
    if not finding.errors:
        return f"{note_of(finding)}, up to {finding.last_on}"
    return f"{note_of(finding)}; {counted(finding.errors, 'error')}, {finding.span}"


def volume_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `VOLUME`, a day each."""
    seen, scope = basis.seen, finding.scope
    if scope.caller is None:
        named = [pl.col(name) == own for name in SHARED if (own := getattr(scope, name)) is not None]
        errors = seen.volumes.filter(*named)
        own = pl.col("caller").is_in(errors["caller"].unique().to_list())
    else:
        own = pl.col("caller") == scope.caller
        errors = seen.volumes.filter(own)
    if (reason := "unknown" if finding.finding == "unknown_rate" else scope.reason) is not None:
        errors = errors.filter(pl.col("reason") == reason)
    daily = errors.group_by("day").agg(pl.col("groups").sum().alias("errors"))
    work = seen.work.filter(own).group_by("day").agg(pl.sum("sessions"))
    days = pl.concat([daily.select("day"), work.select("day")]).unique().filter(around(finding, basis.last))
    rows = days.join(daily, on="day", how="left").join(work, on="day", how="left").sort("day")
    return rows.with_columns(pl.col("errors", "sessions").fill_null(0))


def volume_chart(case: Charted) -> Chart:
    """Draw distinct errors by day, and the sessions at work."""
    rows = case.numbers
    marks = (
        bars(rows, "errors", "distinct errors", MARKED),
        bars(rows, "sessions", "sessions in the logs", USUAL, lower=True),
    )
    title = "Distinct errors by day, and the sessions behind them"
    upper = counts_axis("errors", max(rows["errors"], default=0))
    return panels(
        case, title, marks, upper, "sessions", note=counted_beside_expected(case.finding.latest, "errors", ",.1f")
    )


VOLUME = ChartForm(
    "Days of the errors",
    f"{SINCE_BASELINE} Repeats of one message in one session count once.",
    {
        **DAY,
        "errors": "distinct errors: pairs of session and message",
        "sessions": "distinct sessions that the logs show, with errors or without",
    },
    volume_rows,
    volume_chart,
)


BY_OUTCOME = ("query", "errors-by-reason-caller-outcome")
RISE = Kind(
    title="Unknown errors spiked",
    metric="share of distinct errors that are unknown, 0..1",
    percent=True,
    severity=severity_of_share,
    sentence=more_unknown,
    quotes=True,
    advice="write a rule for them; the command drafts one",
    asks=("unknowns", "--suggest"),
    family=SHARE,
    asked=True,
    priced=True,
    evidence=UNKNOWN_ERRORS,
    behind=UNKNOWN,
    chart=SHARES,
)
_VOLUME = Kind(
    title="More errors than usual",
    metric="distinct errors (pairs of session and message) of the span that was judged, or of some hours the "
    "sessions that met them",
    severity=severity_of_volume,
    sentence=more_errors,
    quotes=True,
    advice="see which errors they are",
    asks=BY_OUTCOME,
    asks_errors=True,
    priced=True,
    behind=EVERY,
    chart=VOLUME,
)
RISES = {"spike": RISE, "drift": replace(RISE, title="Unknown errors drift upwards")}
VOLUMES = {
    "volume": _VOLUME,
    "unknown_rate": replace(
        _VOLUME,
        title="More sessions meet unknown errors",
        advice=RISE.advice,
        asks=RISE.asks,
        asks_errors=False,
        part_of_rise=True,
        evidence=UNKNOWN_ERRORS,
        behind=UNKNOWN,
    ),
    "outage": replace(
        _VOLUME,
        title="A provider fails at many callers",
        scope="provider",
        advice="ask the provider; let callers wait longer",
    ),
    "model_outage": replace(
        _VOLUME,
        title="A model fails at many callers",
        scope="model",
        advice="ask the provider, or use another model",
    ),
    "host_outage": replace(
        _VOLUME,
        title="Callers of one machine fail",
        scope="host",
        advice="look at its network and its disk, and at what was changed on it",
    ),
    "project_outage": replace(
        _VOLUME,
        title="Callers of one project fail",
        scope="project",
        advice="look at what they share: a key, a quota, a release of the project",
    ),
    "fleet_outage": replace(
        _VOLUME,
        title="Many callers fail alike",
        scope="reason",
        advice="look at what they share: a key, a network, a release",
    ),
}
