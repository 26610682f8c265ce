"""Judge retries by caller and reason: they recover less, never, or would and are not made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from math import sqrt

import polars as pl

from analyzer.analysis.charts.chart import GREEN, SILVER, VERMILION, Chart, Mark
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
from analyzer.analysis.kinds.detection import Detection, ordered
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, Kind, ShownErrors, its_week
from analyzer.analysis.kinds.finding_fields import info, warning
from analyzer.analysis.kinds.sentences import expected_share
from analyzer.analysis.kinds.shared import BY_OUTCOME
from analyzer.analysis.kinds.statistics.tails import (
    beta_binomial_tail,
    wilson_interval,
)
from analyzer.analysis.periods import (
    BASELINE_DAYS,
    RECENT_DAYS,
)
from analyzer.readable import percent

MIN_CHAINS = 10
"""Least chains of retries for a finding."""
MIN_DROP = 0.15
"""Least fall of the recovery rate, as a share (0..1)."""
NEVER_PAYS = 0.05
WOULD_PAY = 0.5
MIN_UNTRIED = 5
_CORRELATION = 0.02
"""Assumed intra-class correlation of the chains of a period: chains of one bad hour fail
together."""

_COLUMNS = ("caller", "reason", "before_chains", "before_recovered", "chains", "recovered", "untried")


def retry_days(chains: pl.DataFrame, alpha: float = 0.001) -> list[Detection]:
    """Return the findings `recovery_fell`, `retry_in_vain` and `retry_would_pay`.

    `chains`: one row per day, caller and reason: `before_chains` and `before_recovered` of the
    baseline, `chains` and `recovered` of the window (ended chains of at least one retry), and
    `untried`: errors of the window that were not retried at all. `scope` is the reason. `observed`
    and `expected` are recovery rates, `low` and `high` the Wilson interval of the rate.
    """
    rows = chains.select("day", *_COLUMNS).iter_rows()
    return ordered(detection for day, *row in rows for detection in _judge(*row, day=day, alpha=alpha))


def retry_changes(chains: pl.DataFrame) -> list[Detection]:
    """Return the findings of `retry_days` for each day with a settled chain of the reason.

    The week that ends with the day is compared with the baseline before it. A week with a bad day
    opens a fall of recovery but does not prolong it: only a day whose own rate is nearer to the
    lower rate than to the expected one does. `chains`: columns `day`, `caller`, `reason`, `chains`,
    `recovered` and `untried`.
    """
    if chains.is_empty():
        return []
    rate = pl.when(pl.col("chains") > 0).then(pl.col("recovered") / pl.col("chains"))
    rows = chains.select("day", "caller", "reason", rate.alias("rate")).iter_rows()
    daily_rates = {(day, caller, reason): share for day, caller, reason, share in rows}
    seen: dict[tuple[str | None, str | None], date] = {}
    detections = []
    for detection in retry_days(_windows(chains)):
        if detection.finding == "recovery_fell":
            before = seen.get((detection.caller, detection.scope))
            seen[detection.caller, detection.scope] = detection.day
            goes_on = before is not None and (detection.day - before).days <= RECENT_DAYS
            if goes_on and not _is_bad(detection, daily_rates[detection.day, detection.caller, detection.scope]):
                continue
        detections.append(detection)
    return detections


def _is_bad(detection: Detection, rate: float | None) -> bool:
    """Return whether a rate is nearer to the detection's observed rate than to its expected one."""
    return rate is not None and 2 * rate <= (detection.observed or 0.0) + (detection.expected or 0.0)


def _windows(chains: pl.DataFrame) -> pl.DataFrame:
    """Sum window and baseline that end with each row's day, in the columns of `retry_days`."""
    daily = chains.sort("caller", "reason", "day")
    whole, recent = (
        daily.rolling("day", period=timedelta(days=days), group_by=["caller", "reason"]).agg(
            pl.col("chains", "recovered", "untried").sum()
        )
        for days in (RECENT_DAYS + BASELINE_DAYS, RECENT_DAYS)
    )
    return (
        recent.join(whole, on=["caller", "reason", "day"], suffix="_whole")
        .with_columns(
            before_chains=pl.col("chains_whole") - pl.col("chains"),
            before_recovered=pl.col("recovered_whole") - pl.col("recovered"),
        )
        .sort("day", "caller", "reason")
    )


def _judge(
    caller: str | None,
    reason: str,
    before_chains: int,
    before_recovered: int,
    chains: int,
    recovered: int,
    untried: int,
    *,
    day: date,
    alpha: float,
) -> Iterator[Detection]:
    if before_chains >= MIN_CHAINS and chains >= MIN_CHAINS:
        expected = (before_recovered + 0.5) / (before_chains + 1)
        rate = recovered / chains
        p_value = recovery_tail(before_recovered, before_chains, recovered, chains)
        if p_value <= alpha and expected - rate >= MIN_DROP:
            low, high = wilson_interval(expected, before_chains)
            yield Detection(
                day=day,
                caller=caller,
                finding="recovery_fell",
                observed=rate,
                expected=expected,
                low=low,
                high=high,
                p_value=p_value,
                q_value=p_value,
                statistic=(rate - expected) / sqrt(expected * (1 - expected) * (1 / chains + 1 / before_chains)),
                groups=chains,
                scope=reason,
                note=f"{recovered} of {chains} chains recovered, normally {expected * chains:.1f}",
            )
    all_chains, all_recovered = before_chains + chains, before_recovered + recovered
    if all_chains < MIN_CHAINS:
        return
    rate = all_recovered / all_chains
    low, high = wilson_interval(rate, all_chains)
    base = Detection(day=day, caller=caller, finding="", observed=rate, low=low, high=high, scope=reason)
    # The interval decides, not the rate: 0 of 10 may still be one in four.
    if chains and high <= NEVER_PAYS:
        note = f"{all_recovered} of {all_chains} chains recovered: retrying buys nothing"
        yield replace(base, finding="retry_in_vain", statistic=high, groups=all_chains, note=note)
    if untried >= MIN_UNTRIED and untried > chains and low >= WOULD_PAY:
        note = f"{untried} errors not retried; of {all_chains} chains that were, {all_recovered} recovered"
        yield replace(base, finding="retry_would_pay", statistic=low, groups=untried, note=note)


def recovery_tail(before_recovered: int, before_chains: int, recovered: int, chains: int) -> float:
    """Return P(as few recovered or fewer): the baseline's beta-binomial with Jeffreys' prior."""
    size = before_chains / (1 + (before_chains - 1) * _CORRELATION) + 1
    failing = 1 - (before_recovered + 0.5) / (before_chains + 1)
    correlation = _CORRELATION + 1 / (1 + size)
    return beta_binomial_tail(chains - recovered, chains, failing, correlation)


_RECOVERED, _FAILED, _UNTRIED = (GREEN, ""), (VERMILION, "x"), (SILVER, "-")


def recovery_fell(finding: Finding) -> str:
    """Say that fewer retry chains recover than did."""
    latest = finding.latest
    text = f"{_succeeded(finding)} in the week to {latest.day}"
    return f"{text} ({expected_share(finding)})"


def _succeeded(finding: Finding) -> str:
    latest = finding.latest
    return f"{percent(latest.observed)} of {latest.groups or 0:,} calls retried after {finding.scope.reason} succeeded"


def retry_in_vain(finding: Finding) -> str:
    """Say that retries hardly ever recover."""
    latest = finding.latest
    return f"{_succeeded(finding)} in the seven weeks to {latest.day} (at best {percent(latest.high)})"


def retry_would_pay(finding: Finding) -> str:
    """Say that errors were given up although retries of their reason recover."""
    latest = finding.latest
    text = f"{latest.groups or 0:,} {finding.scope.reason} errors were not retried in the week to {latest.day}"
    return f"{text}; {percent(latest.observed)} of retries succeed (at least {percent(latest.low)}, in seven weeks)"


def chain_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `RECOVERY`, a day each.

    `recovered_share` is null without a chain in the week up to that day.
    """
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
    """Draw the share of retry chains that recovered over a week, and the chains of each day.

    A week's share is drawn at its last day. The band is what is expected of the share if it fell,
    else what all days together say of it.
    """
    rows = case.numbers.with_columns(failed=pl.col("chains") - pl.col("recovered"))
    latest, week = case.finding.latest, f"{RECENT_DAYS} days"
    fell = latest.expected is not None
    share_name = "normal share" if fell else f"share over all {BASELINE_DAYS + RECENT_DAYS} days"
    shares = rows.select("day", "recovered_share", "week_recovered", "week_chains")
    marks: tuple[Mark, ...] = (
        *share_band(case, latest.expected if fell else latest.observed, share_name),
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


_WEEKS = BASELINE_DAYS + RECENT_DAYS
_CHAINS = ("query", "retries-outcomes")
_RETRIES = Kind(
    title="Retries recover less",
    metric="share of retry chains that recovered, 0..1",
    severity=warning,
    sentence=recovery_fell,
    advice="check the provider's status page; wait longer between calls",
    asks=_CHAINS,
    scope="reason",
    evidence=Evidence({"tried": RECENT_DAYS}),
    behind=ShownErrors(
        "Errors of its reason", lambda finding, _seen: pl.col("reason") == finding.scope.reason, its_week
    ),
    chart=RECOVERY,
)
RETRIES = {
    "recovery_fell": _RETRIES,
    "retry_in_vain": replace(
        _RETRIES,
        title="Retries hardly ever succeed",
        severity=info,
        sentence=retry_in_vain,
        advice="stop retrying it",
        evidence=Evidence({"tried": _WEEKS}),
    ),
    "retry_would_pay": replace(
        _RETRIES,
        title="Errors worth a retry are not retried",
        severity=info,
        sentence=retry_would_pay,
        advice="retry it; the recovery table allows that",
        asks=BY_OUTCOME,
        evidence=Evidence({"tried": _WEEKS, "untried": RECENT_DAYS}),
    ),
}
