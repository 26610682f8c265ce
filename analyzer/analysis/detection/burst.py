"""Find bursts: sessions that repeat one message many times, which must not move a share."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from typing import Any

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame

MIN_REPEATS = 30
"""The least repeats of one template in one session that are a burst."""


def bursts(loud: pl.DataFrame, repeats: pl.DataFrame, min_repeats: int = MIN_REPEATS) -> pl.DataFrame:
    """Return the findings `burst`: a row per day, caller, session and often repeated template.

    `loud`: columns `day`, `caller`, `session`, `template`, `events`, one row per group that repeats
    often.
    `repeats`: columns `day`, `caller`, `events`, `groups`: how many groups of a caller had so many
    events on a day, all groups included. In the result `scope` is the session, `observed` its
    repeats, and `expected` the median repeats of the caller's other groups up to that day.
    """
    findings = []
    rows = loud.filter(pl.col("events") >= min_repeats)
    usual = repeats.join(rows, on="caller", how="semi").sort("day").partition_by("caller", as_dict=True)
    for (caller,), own in rows.sort("day").group_by(["caller"], maintain_order=True):
        counts: Counter[int] = Counter()
        days = usual[caller,].select("day", "events", "groups").iter_rows()
        following = next(days, None)
        of_group: dict[tuple[str, str], list[int]] = {}
        for (day,), of_day in own.group_by(["day"], maintain_order=True):
            while following is not None and following[0] <= day:
                counts[following[1]] += following[2]
                following = next(days, None)
            for row in of_day.iter_rows(named=True):
                of_group.setdefault((row["session"], row["template"]), []).append(row["events"])
            for row in of_day.iter_rows(named=True):
                own_repeats = of_group[row["session"], row["template"]]
                findings.append(_burst(row, _median(counts - Counter(own_repeats))))
    return frame(findings)


def _burst(row: dict[str, Any], expected: float | None) -> Detection:
    return Detection(
        day=row["day"],
        caller=row["caller"],
        finding="burst",
        onset=row["day"],
        observed=float(row["events"]),
        expected=expected,
        statistic=float(row["events"]),
        sessions=1,
        groups=1,
        template=row["template"],
        scope=row["session"],
        note=f"one session repeats one text {row['events']} times",
    )


def _median(counts: Counter[int]) -> float | None:
    """Return the median of counted values (value: how often it occurs); None of no value."""
    total = counts.total()
    if not total:
        return None
    values = sorted(counts)
    ranks = list(accumulate(counts[value] for value in values))
    low, high = (values[bisect_right(ranks, rank)] for rank in ((total - 1) // 2, total // 2))
    return (low + high) / 2
