"""Find bursts: sessions that repeat one message many times, which must not move a share."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

import polars as pl

from analyzer.analysis.charts.chart import Axis, Bars, Chart
from analyzer.analysis.kinds.daily_charts import (
    MARKED,
)
from analyzer.analysis.kinds.detection import Detection, ordered
from analyzer.analysis.kinds.finding import SESSION_ITSELF, Basis, Charted, ChartForm, Finding, Kind
from analyzer.analysis.kinds.shared import WITH_MESSAGE
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.readable import counted

MIN_REPEATS = 30
"""The least repeats of one template in one session that are a burst."""


def bursts(loud: pl.DataFrame, repeats: pl.DataFrame, min_repeats: int = MIN_REPEATS) -> list[Detection]:
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
    return ordered(findings)


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
        note=f"one session met the same error {row['events']:,} times",
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


MAX_MOMENTS = 60
"""Bars of a burst."""
_SECONDS = (1, 5, 15, 60, 300, 900, 3_600)
"""How long a bar of a burst may be."""
_UNITS = ((3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))


def longest_bursts(seen: Observations) -> Iterable[Detection]:
    """Yield the longest burst of each message a day, with the number of other sessions with it."""
    by_message: dict[tuple[date, str | None, str | None], list[Detection]] = {}
    for burst in bursts(seen.loud, seen.repeats):
        by_message.setdefault((burst.day, burst.caller, burst.template), []).append(burst)
    for own in by_message.values():
        longest, *others = sorted(own, key=lambda burst: (-(burst.observed or 0), burst.scope or ""))
        more = f"; {counted(len(others), 'other session')} did so too" if others else ""
        yield replace(longest, note=f"{longest.note}{more}")


def burst_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `BURST`: equal stretches of time; `begins_at` is UTC.

    They are the shortest that are 60 at most in a day.
    """
    timezone = basis.seen.timezone
    own = basis.repeats.filter(
        (pl.col("caller") == finding.scope.caller)
        & (pl.col("session") == finding.scope.session)
        & (pl.col("template") == finding.scope.template)
        & (pl.col("second_at") >= start_of(finding.onset, timezone))
        & (pl.col("second_at") < end_of(finding.last_on, timezone))
    )
    if own.is_empty():
        return pl.DataFrame(schema={"begins_at": pl.Datetime("us"), "seconds": pl.Int64, "repeats": pl.Int64})
    seconds = own.select((pl.col("second_at").max() - pl.col("second_at").min()).dt.total_seconds()).item() + 1
    width = next((size for size in _SECONDS if seconds <= size * (MAX_MOMENTS - 1)), _SECONDS[-1])
    counted = own.group_by(pl.col("second_at").dt.truncate(f"{width}s").alias("begins_at")).agg(
        pl.col("events").sum().alias("repeats")
    )
    return counted.select("begins_at", pl.lit(width, pl.Int64).alias("seconds"), pl.col("repeats")).sort("begins_at")


def burst_chart(case: Charted) -> Chart:
    """Draw the repeats of the message in the session, over its time."""
    rows = list(case.numbers.iter_rows(named=True))
    seconds = rows[0]["seconds"]
    bars = Bars(
        "repeats of the message",
        MARKED,
        tuple(row["begins_at"] for row in rows),
        tuple(row["repeats"] for row in rows),
        tuple(f"from {row['begins_at']:%H:%M:%S}: {row['repeats']:,} repeats" for row in rows),
        width=seconds * 1_000 * 0.9,
        # A bar stands over its stretch of time, not around its beginning.
        centred=False,
    )
    usual = case.finding.latest.expected
    end = rows[-1]["begins_at"] + timedelta(seconds=seconds)
    note = f"{sum(bars.lengths):,} repeats from {rows[0]['begins_at']:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%S} UTC"
    if usual is not None:
        times = "time" if usual == 1 else "times"
        note += f"; other sessions of this caller show a message {usual:,.0f} {times} (median)"
    return Chart(
        f"How often the session repeats the message, every {_length(seconds)}",
        f"{note}.",
        Axis(
            "time (UTC)",
            "date",
            "%H:%M:%S\n%-d %b %Y" if seconds < 60 else "%H:%M\n%-d %b %Y",
            most_ticks=6,
            grid=False,
        ),
        Axis("repeats", form=",~r", from_zero=True, most_ticks=5),
        (bars,),
        height=320,
    )


def _length(seconds: int) -> str:
    size, singular, plural = next(unit for unit in _UNITS if seconds >= unit[0])
    return singular if seconds == size else f"{seconds // size} {plural}"


BURST = ChartForm(
    "The burst",
    "Stretches without a repeat are left out.",
    {
        "begins_at": "beginning of a stretch",
        "seconds": "how long the stretch is",
        "repeats": "errors with the message in the session",
    },
    burst_rows,
    burst_chart,
    by_second=True,
)


BURSTS = {
    "burst": Kind(
        title="One session repeats an error",
        by_day=True,
        metric="repeats of the message in the session",
        quotes=True,
        advice="look at that session",
        asks=("show", SESSION_ITSELF),
        scope="session",
        part_of_rise=True,
        behind=WITH_MESSAGE,
        chart=BURST,
    )
}
