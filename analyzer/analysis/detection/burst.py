"""The test for bursts: one session that repeats one message many times, which no share should move."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from typing import Any

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame

MIN_REPEATS = 30
"""Repeats of one template in one session from which on they are a burst."""


def bursts(loud: pl.DataFrame, repeats: pl.DataFrame, min_repeats: int = MIN_REPEATS) -> pl.DataFrame:
    """Findings `burst`: one row a day, caller, session and template that repeats at least so often.

    `loud` has these groups: columns `day`, `caller`, `session`, `template`, `events`. `repeats` has all of them as
    counts: `day`, `caller`, `events`, and the number of `groups` that repeat so often. `scope` is the session,
    `observed` its repeats, `expected` the median repeats of the caller's other groups up to that day.
    """
    found = []
    rows = loud.filter(pl.col("events") >= min_repeats)
    usual = repeats.join(rows, on="caller", how="semi").sort("day").partition_by("caller", as_dict=True)
    for (caller,), own in rows.sort("day").group_by(["caller"], maintain_order=True):
        known: Counter[int] = Counter()
        days = usual[caller,].select("day", "events", "groups").iter_rows()
        ahead = next(days, None)
        of_group: dict[tuple[str, str], list[int]] = {}
        for (day,), tonight in own.group_by(["day"], maintain_order=True):
            while ahead is not None and ahead[0] <= day:
                known[ahead[1]] += ahead[2]
                ahead = next(days, None)
            for row in tonight.iter_rows(named=True):
                of_group.setdefault((row["session"], row["template"]), []).append(row["events"])
            for row in tonight.iter_rows(named=True):
                same = of_group[row["session"], row["template"]]
                found.append(_burst(row, _median(known - Counter(same))))
    return frame(found)


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
    """The median of values that are given with how many there are of each."""
    total = counts.total()
    if not total:
        return None
    values = sorted(counts)
    behind = list(accumulate(counts[value] for value in values))
    low, high = (values[bisect_right(behind, place)] for place in ((total - 1) // 2, total // 2))
    return (low + high) / 2
