"""The test for bursts: one session that repeats one message many times, which no share should move."""

from __future__ import annotations

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame

MIN_REPEATS = 30
"""Repeats of one template in one session from which on they are a burst."""


def bursts(repeats: pl.DataFrame, min_repeats: int = MIN_REPEATS) -> pl.DataFrame:
    """Findings `burst`: one row a day, caller, session and template that repeats at least so often.

    `repeats`: columns `day`, `caller`, `session`, `template`, `events`. `scope` is the session, `observed` its repeats,
    `expected` the median repeats of the caller's other groups up to that day.
    """
    totals = repeats.group_by("day", "caller", "session", "template").agg(pl.col("events").sum())
    found = []
    for row in totals.filter(pl.col("events") >= min_repeats).iter_rows(named=True):
        others = totals.filter(
            (pl.col("caller") == row["caller"])
            & (pl.col("day") <= row["day"])
            & ((pl.col("session") != row["session"]) | (pl.col("template") != row["template"]))
        )["events"].median()
        found.append(
            Detection(
                day=row["day"],
                caller=row["caller"],
                finding="burst",
                onset=row["day"],
                observed=float(row["events"]),
                expected=others if isinstance(others, float) else None,
                statistic=float(row["events"]),
                sessions=1,
                groups=1,
                template=row["template"],
                scope=row["session"],
                note=f"one session repeats one text {row['events']} times",
            )
        )
    return frame(found)
