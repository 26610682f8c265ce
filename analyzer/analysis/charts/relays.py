"""Charts of hand-offs by day, and of how full the context was at each."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date

import polars as pl

from analyzer.analysis.charts.chart import (
    MAX_DAYS,
    Axis,
    Bars,
    Chart,
    Mark,
    Points,
    Style,
    Upright,
    counts,
    day_axis,
    day_bars,
    rows_of,
)
from analyzer.analysis.charts.colours import AMBER, BLUE, SILVER, VERMILION
from analyzer.analysis.tables import Table

_TRIGGER_STYLES: dict[str, Style] = {
    "auto": (BLUE, ""),
    "manual": (AMBER, "/"),
    "not said": (SILVER, "."),
}


def relays(given: Table | pl.DataFrame) -> Chart:
    """Hand-offs by day, stacked by what caused them, with the ones that were given up; of `relays-by-day`."""
    drawn = rows_of(given, "relays-by-day", "day", "relays", "auto_relays", "manual_relays", "halted")
    rows = list(drawn.iter_rows(named=True))
    kept = rows[-MAX_DAYS:]
    found: dict[str, dict[date, int]] = defaultdict(dict)
    for row in kept:
        other = row["relays"] - row["auto_relays"] - row["manual_relays"]
        for name, number in (("auto", row["auto_relays"]), ("manual", row["manual_relays"]), ("not said", other)):
            if number:
                found[name][row["day"]] = number
    marks: list[Mark] = [day_bars(found[name], name, style) for name, style in _TRIGGER_STYLES.items() if name in found]
    if halted := [row for row in kept if row["halted"]]:
        highest = max(row["relays"] for row in kept)
        marks.append(
            Points(
                "given up",
                VERMILION,
                tuple(row["day"] for row in halted),
                # Above the bar: inside it, the mark would look like a height.
                tuple(row["relays"] + 0.06 * highest for row in halted),
                tuple(f"{row['day']}: {row['halted']:,} given up" for row in halted),
                size=10,
                symbol="x",
                texts=tuple(f"{row['halted']:,}" for row in halted),
            )
        )
    note = f"the latest {len(kept)} of {len(rows)} days" if len(rows) > len(kept) else ""
    days = day_axis([row["day"] for row in kept])
    return Chart("Hand-offs by day and cause", note, days, counts("hand-offs"), tuple(marks))


def utilization(given: Table | pl.DataFrame) -> Chart:
    """How full the context was at hand-off, by what caused it: percent where logs say it, else tokens.

    Of `relays-utilization`.
    """
    names = ("token_usage_percent", "pre_tokens", "trigger", "threshold_percent")
    drawn = rows_of(given, "relays-utilization", *names)
    # Many are alike, and a row of a frame costs more as a dictionary.
    rows = list(drawn.group_by(names, maintain_order=True).agg(hand_offs=pl.len()).iter_rows(named=True))
    by_percent = any(row["token_usage_percent"] is not None for row in rows)
    measure = "token_usage_percent" if by_percent else "pre_tokens"
    known = [row for row in rows if row[measure] is not None]
    top = max((float(row[measure]) for row in known), default=0.0)
    size = 5.0 if by_percent else _round_step(top / 20)
    last = 120.0 if by_percent else top
    bins: dict[str, Counter[float]] = defaultdict(Counter)
    for row in known:
        place = min(max(float(row[measure]), 0.0), last) // size * size
        bins[row["trigger"] if row["trigger"] in _TRIGGER_STYLES else "not said"][place] += row["hand_offs"]
    marks = []
    for name, style in _TRIGGER_STYLES.items():
        if name in bins:
            starts = sorted(bins[name])
            tips = tuple(f"{start:,.0f} to {start + size:,.0f}: {bins[name][start]:,} {name}" for start in starts)
            middles, numbers = tuple(start + size / 2 for start in starts), tuple(bins[name][start] for start in starts)
            marks.append(Bars(name, style, middles, numbers, tips, width=size * 0.92))
    thresholds: Counter[float] = Counter()
    for row in known if by_percent else ():
        if row["threshold_percent"] is not None:
            thresholds[row["threshold_percent"]] += row["hand_offs"]
    told = sum(row["hand_offs"] for row in known)
    percent = Axis("context in use at hand-off (%)", ends=(0, 125 if top > 100 else 102), step=20, grid=False)
    tokens = Axis("tokens in the context before the hand-off", form="~s", from_zero=True, grid=False)
    return Chart(
        "How full the context was at hand-off",
        f"{told:,} of {drawn.height:,} hand-offs whose logs say it" if told < drawn.height else "",
        percent if by_percent else tokens,
        counts("hand-offs"),
        tuple(marks),
        uprights=tuple(
            Upright(threshold, f"threshold {threshold:g}%", left=True, colour=VERMILION, width=1.5, dash="dash")
            for threshold, _ in thresholds.most_common(3)
        ),
    )


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … that is not below."""
    return next(
        step for power in range(25) for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if step >= least
    )
