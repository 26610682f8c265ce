"""The kinds of what retries bring: those that recover less, that buy nothing, and that are not made."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl

from analyzer.analysis.charts.chart import GREEN, SILVER, VERMILION, Chart, Mark
from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    SINCE_BASELINE,
    bars,
    of_caller_around,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.kinds.finding import Basis, Behind, Charted, ChartForm, Finding, Kind, its_week
from analyzer.analysis.kinds.finding_fields import info, warning
from analyzer.analysis.kinds.rises import BY_OUTCOME
from analyzer.analysis.kinds.sentences import expected
from analyzer.readable import percent

_RECOVERED, _FAILED, _UNTRIED = (GREEN, ""), (VERMILION, "x"), (SILVER, "-")


def recovery_fell(finding: Finding) -> str:
    """Fewer retry chains recover than did."""
    latest = finding.latest
    text = f"{percent(latest.observed)} of {latest.groups or 0:,} retry chains for {finding.scope.reason} recovered"
    return f"{text} in the week up to {latest.day}, {expected(finding)}"


def retry_in_vain(finding: Finding) -> str:
    """Retries that hardly ever recover."""
    latest = finding.latest
    text = f"retries for {finding.scope.reason} recover {percent(latest.observed)} of {latest.groups or 0:,} chains"
    return f"{text} (surely less than {percent(latest.high)})"


def retry_would_pay(finding: Finding) -> str:
    """Errors that were given up although retries of their reason recover."""
    latest = finding.latest
    text = f"{latest.groups or 0:,} errors {finding.scope.reason} were not retried in the week up to {latest.day}"
    text += f", though {percent(latest.observed)} of those that are recover"
    return f"{text} (surely more than {percent(latest.low)})"


def chain_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `RECOVERY`, a day each; `recovered_share` is null without a chain in its week."""
    daily = basis.seen.chains.filter(pl.col("reason") == finding.scope.reason).sort("day")
    own = daily.filter(pl.col("caller") == finding.scope.caller).select(
        "day", "caller", "chains", "recovered", "untried"
    )
    week = own.rolling("day", period=timedelta(days=RECENT_DAYS)).agg(
        pl.col("chains").sum().alias("week_chains"), pl.col("recovered").sum().alias("week_recovered")
    )
    share = pl.when(pl.col("week_chains") > 0).then(pl.col("week_recovered") / pl.col("week_chains"))
    rows = own.join(week, on="day", how="left").with_columns(share.alias("recovered_share"))
    return of_caller_around(rows, finding, basis.last).select(
        "day", "chains", "recovered", "untried", "week_chains", "week_recovered", "recovered_share"
    )


def chain_chart(case: Charted) -> Chart:
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


RECOVERY = ChartForm(
    "Days of the caller and reason",
    f"{SINCE_BASELINE} Days without a chain are left out. Chains that a person ended count nowhere.",
    {
        **DAY,
        "recovered_share": "week_recovered / week_chains, 0..1",
        "week_recovered": f"chains that recovered in the {RECENT_DAYS} days up to this one",
        "week_chains": f"chains with a retry in the {RECENT_DAYS} days up to this one",
        "recovered": "chains that recovered on this day",
        "chains": "chains with a retry that were settled on this day",
        "untried": "errors that were given up without a retry",
    },
    chain_rows,
    chain_chart,
)


_CHAINS = ("query", "retries-outcomes")
_RETRIES = Kind(
    title="Retries recover less",
    metric="share of retry chains that recovered, 0..1",
    severity=warning,
    sentence=recovery_fell,
    advice="wait longer between calls, or ask the provider",
    asks=_CHAINS,
    scope="reason",
    evidence_days=RECENT_DAYS,
    behind=Behind(
        "of the last week with its reason", lambda one, _seen: pl.col("reason") == one.scope.reason, its_week
    ),
    chart=RECOVERY,
)
RETRIES = {
    "recovery_fell": _RETRIES,
    "retry_in_vain": replace(
        _RETRIES,
        title="Retries buy nothing",
        severity=info,
        sentence=retry_in_vain,
        advice="stop retrying it: the waits buy nothing",
    ),
    "retry_would_pay": replace(
        _RETRIES,
        title="Retries are not made that would pay",
        severity=info,
        sentence=retry_would_pay,
        advice="let it be retried; the recovery table allows it",
        asks=BY_OUTCOME,
    ),
}
