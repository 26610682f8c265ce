"""Judge retries by caller and reason: they recover less, never, or would and are not made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from math import sqrt

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS, Detection, detections_in, frame
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail, wilson_interval

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


def retry_payoff(chains: pl.DataFrame, *, day: date, alpha: float = 0.001) -> pl.DataFrame:
    """Return the findings `recovery_fell`, `retry_in_vain` and `retry_would_pay`.

    `chains`: one row per caller and reason: `before_chains` and `before_recovered` of the baseline,
    `chains` and `recovered` of the window (ended chains of at least one retry), and `untried`:
    errors of the window that were not retried at all. `scope` is the reason. `observed` and
    `expected` are recovery rates, `low` and `high` the Wilson interval of the rate.
    """
    return retry_days(chains.with_columns(day=pl.lit(day)), alpha)


def retry_days(chains: pl.DataFrame, alpha: float = 0.001) -> pl.DataFrame:
    """Return the findings of `retry_payoff` for rows of many days, which have a column `day`."""
    rows = chains.select("day", *_COLUMNS).iter_rows()
    return frame(detection for day, *row in rows for detection in _judge(*row, day=day, alpha=alpha))


def retry_changes(chains: pl.DataFrame) -> list[Detection]:
    """Return the findings of `retry_payoff` for each day with a settled chain of the reason.

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
    for detection in detections_in(retry_days(_windows(chains))):
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
    """Sum window and baseline that end with each row's day, in the columns of `retry_payoff`."""
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
                note=f"{recovered} of {chains} chains recovered, {expected * chains:.1f} expected",
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
