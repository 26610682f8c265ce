"""What rulesets did to history, day by day, and which drift the fleet shows at the end of a window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.changes import Drift, changes
from analyzer.analysis.summary.window_findings import Judged
from analyzer.analysis.tables import Table, table
from analyzer.analysis.window import Window
from analyzer.store import Store


@dataclass(frozen=True, slots=True)
class Drifts:
    """What changed under the errors of the fleet."""

    days: pl.DataFrame
    """A row a day of the window: `day`, `errors` that count, and of these the share 0..1 that was recorded as unknown
    (`recorded_share`) and that is unknown to the rules in force (`unknown_share`)."""
    applied: Table
    """Rulesets that became the active one in the window."""
    ruleset: str | None
    """Digest of the ruleset in force."""
    split: date | None
    """The first of the recent days; None where there is nothing before it to compare them with."""
    found: tuple[Drift, ...]
    """What tells the recent days from those before them."""


def drifts(store: Store, judged: Judged, window: Window) -> Drifts:
    """The drifts of the whole fleet in a window."""
    split = _split(judged)
    return Drifts(
        days=_days(judged),
        applied=table(store, "ruleset-applied", window),
        ruleset=judged.seen.ruleset,
        split=split,
        found=changes(store, judged.seen, split, judged.last) if split and judged.last else (),
    )


def _split(judged: Judged) -> date | None:
    if judged.last is None:
        return None
    split = judged.last - timedelta(days=RECENT_DAYS - 1)
    before = pl.col("day").is_between(split - timedelta(days=BASELINE_DAYS), split, closed="left")
    return None if judged.seen.counts.filter(before).is_empty() else split


def _days(judged: Judged) -> pl.DataFrame:
    counts = judged.seen.counts.filter(pl.col("day") >= judged.first)
    summed = counts.group_by("day").agg(pl.col("events", "unknown_events", "unknown_events_replayed").sum()).sort("day")
    return summed.select(
        "day",
        pl.col("events").alias("errors"),
        (pl.col("unknown_events") / pl.col("events")).alias("recorded_share"),
        (pl.col("unknown_events_replayed") / pl.col("events")).alias("unknown_share"),
    )
