"""The tests of retries, day by day: the last week of chains against the baseline before it.

Invariant: a day is judged from that day and the days before it alone.
"""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from analyzer.analysis.detection import Detection
from analyzer.analysis.detection.detection import detections_in
from analyzer.analysis.detection.retries import retry_days
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS


def retry_changes(chains: pl.DataFrame) -> list[Detection]:
    """The findings of `retry_payoff` of every day on which a caller settled a chain of the reason.

    `chains` has `day`, `caller`, `reason`, `chains`, `recovered` and `untried`.
    """
    if chains.is_empty():
        return []
    return detections_in(retry_days(_windows(chains)))


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
