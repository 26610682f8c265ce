"""The tests of retries by caller and reason: they recover less, they never recover, or they would and are not made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from math import sqrt

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS, Detection, detections_in, frame
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail, wilson_interval

MIN_CHAINS = 10
"""Chains of retries below which nothing is said of their worth."""
MIN_DROP = 0.15
"""Least fall of the recovery rate, in shares."""
NEVER_PAYS = 0.05
WOULD_PAY = 0.5
MIN_UNTRIED = 5
_CORRELATION = 0.02
"""Chains of one bad hour fail together: intra-class correlation assumed in a period."""

_COLUMNS = ("caller", "reason", "before_chains", "before_recovered", "chains", "recovered", "untried")


def retry_payoff(chains: pl.DataFrame, *, day: date, alpha: float = 0.001) -> pl.DataFrame:
    """Findings `recovery_fell`, `retry_in_vain`, `retry_would_pay`; `scope` is the reason.

    `chains`: one row a caller and reason: `before_chains` and `before_recovered` of the baseline, `chains` and
    `recovered` of the window (chains of at least one retry that have ended), `untried`: errors of the window that
    were not retried at all. `observed` and `expected` are recovery rates, `low` and `high` the Wilson interval of
    what is known of the rate.
    """
    return retry_days(chains.with_columns(day=pl.lit(day)), alpha)


def retry_days(chains: pl.DataFrame, alpha: float = 0.001) -> pl.DataFrame:
    """The findings of `retry_payoff` of many days, each row with its `day`."""
    rows = chains.select("day", *_COLUMNS).iter_rows()
    return frame(each for day, *row in rows for each in _judge(*row, day=day, alpha=alpha))


def retry_changes(chains: pl.DataFrame) -> list[Detection]:
    """The findings of `retry_payoff` of every day on which a caller settled a chain of the reason: its last week, that
    day included, against the baseline before it. A week with a bad day opens a fall of recovery and does not prolong
    it: that takes a day which by itself is nearer to the lower rate than to the expected one.

    `chains` has `day`, `caller`, `reason`, `chains`, `recovered` and `untried`.
    """
    if chains.is_empty():
        return []
    alone = {(day, *of): own for day, *of, own in _rates(chains).iter_rows()}
    seen: dict[tuple[str | None, str | None], date] = {}
    found = []
    for one in detections_in(retry_days(_windows(chains))):
        if one.finding == "recovery_fell":
            before = seen.get((one.caller, one.scope))
            seen[one.caller, one.scope] = one.day
            goes_on = before is not None and (one.day - before).days <= RECENT_DAYS
            if goes_on and not _is_bad(one, alone[one.day, one.caller, one.scope]):
                continue
        found.append(one)
    return found


def _rates(chains: pl.DataFrame) -> pl.DataFrame:
    """The share of each day's chains that recovered; null without any."""
    rate = pl.when(pl.col("chains") > 0).then(pl.col("recovered") / pl.col("chains"))
    return chains.select("day", "caller", "reason", rate.alias("rate"))


def _is_bad(one: Detection, rate: float | None) -> bool:
    """Whether a day with this rate is nearer to what a finding says than to what was expected."""
    return rate is not None and 2 * rate <= (one.observed or 0.0) + (one.expected or 0.0)


def _windows(chains: pl.DataFrame) -> pl.DataFrame:
    """The sums of both windows that end with each row's day, in the columns of `retry_payoff`."""
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
    known = Detection(day=day, caller=caller, finding="", observed=rate, low=low, high=high, scope=reason)
    # The interval speaks, not the rate: 0 of 10 may still be one in four.
    if chains and high <= NEVER_PAYS:
        note = f"{all_recovered} of {all_chains} chains recovered: retrying buys nothing"
        yield replace(known, finding="retry_in_vain", statistic=high, groups=all_chains, note=note)
    if untried >= MIN_UNTRIED and untried > chains and low >= WOULD_PAY:
        note = f"{untried} errors not retried; of {all_chains} chains that were, {all_recovered} recovered"
        yield replace(known, finding="retry_would_pay", statistic=low, groups=untried, note=note)


def recovery_tail(before_recovered: int, before_chains: int, recovered: int, chains: int) -> float:
    """P(as few recovered or fewer) by the beta-binomial predictive of the baseline with Jeffreys' prior."""
    size = before_chains / (1 + (before_chains - 1) * _CORRELATION) + 1
    failing = 1 - (before_recovered + 0.5) / (before_chains + 1)
    correlation = _CORRELATION + 1 / (1 + size)
    return beta_binomial_tail(chains - recovered, chains, failing, correlation)
