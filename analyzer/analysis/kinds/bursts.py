"""The kind of one session that repeats an error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.charts.chart import Axis, Bars, Chart
from analyzer.analysis.detection import bursts
from analyzer.analysis.detection.detection import Detection, detections_in
from analyzer.analysis.kinds.daily_charts import MARKED
from analyzer.analysis.kinds.finding import SESSION_ITSELF, Basis, Charted, ChartForm, Finding, Kind
from analyzer.analysis.kinds.messages import WITH_MESSAGE
from analyzer.analysis.observations import Observations, end_of, start_of

MAX_MOMENTS = 60
"""Bars of a burst."""
_SECONDS = (1, 5, 15, 60, 300, 900, 3_600)
"""How long a bar of a burst may be."""
_UNITS = ((3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))
_MOMENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "begins_at": pl.Datetime("us"),
    "seconds": pl.Int64,
    "repeats": pl.Int64,
}


def longest_bursts(seen: Observations) -> Iterable[Detection]:
    """The longest burst of each message a day: a message that many sessions repeat is told once."""
    longest: dict[tuple[date, str | None, str | None], Detection] = {}
    more: dict[tuple[date, str | None, str | None], int] = {}
    for one in detections_in(bursts(seen.loud, seen.repeats)):
        key = one.day, one.caller, one.template
        more[key] = more.get(key, 0) + 1
        known = longest.get(key)
        if known is None or (-(one.observed or 0), one.scope or "") < (-(known.observed or 0), known.scope or ""):
            longest[key] = one
    for key, one in longest.items():
        others = more[key] - 1
        yield replace(one, note=f"{one.note}, and {others} more do so too") if others else one


def burst_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """The rows of `BURST`: equal stretches of time, the shortest that are 60 at most in a day; `begins_at` is UTC."""
    timezone = basis.seen.timezone
    own = basis.repeats.filter(
        (pl.col("caller") == finding.scope.caller)
        & (pl.col("session") == finding.scope.session)
        & (pl.col("template") == finding.scope.template)
        & (pl.col("second_at") >= start_of(finding.onset, timezone))
        & (pl.col("second_at") < end_of(finding.last_on, timezone))
    )
    if own.is_empty():
        return pl.DataFrame(schema=_MOMENTS)
    seconds = own.select((pl.col("second_at").max() - pl.col("second_at").min()).dt.total_seconds()).item() + 1
    width = next((each for each in _SECONDS if seconds <= each * (MAX_MOMENTS - 1)), _SECONDS[-1])
    counted = own.group_by(pl.col("second_at").dt.truncate(f"{width}s").alias("begins_at")).agg(
        pl.col("events").sum().alias("repeats")
    )
    return counted.select("begins_at", pl.lit(width, pl.Int64).alias("seconds"), pl.col("repeats")).sort("begins_at")


def burst_chart(case: Charted) -> Chart:
    """Repeats of the message in the session, over its time."""
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
    size, one, many = next(unit for unit in _UNITS if seconds >= unit[0])
    return one if seconds == size else f"{seconds // size} {many}"


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
        metric="repeats of the message in the session",
        quotes=True,
        advice="look at that session; one session is no change of the world",
        asks=("show", SESSION_ITSELF),
        scope="session",
        part_of_rise=True,
        behind=WITH_MESSAGE,
        chart=BURST,
    )
}
