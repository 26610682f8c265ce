"""Charts of hand-offs by day, and of how full the context was at each."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date

import plotly.graph_objects as go
import polars as pl

from analyzer.analysis.charts.base import HOVER_DAY, MAX_DAYS, day_axis, day_bars, finish, marker, rows_of
from analyzer.analysis.charts.colours import AMBER, BLUE, HALO, SILVER, VERMILION
from analyzer.analysis.tables import Table

_TRIGGER_STYLES: dict[str, tuple[str, str]] = {
    "auto": (BLUE, ""),
    "manual": (AMBER, "/"),
    "not said": (SILVER, "."),
}


def relays_chart(given: Table | pl.DataFrame) -> go.Figure:
    """Hand-offs by day, stacked by what caused them, with the ones that were given up; of `relays-by-day`."""
    drawn = rows_of(given, "relays-by-day", "day", "relays", "auto_relays", "manual_relays", "halted")
    rows = list(drawn.iter_rows(named=True))
    kept = rows[-MAX_DAYS:]
    counts: dict[str, dict[date, int]] = defaultdict(dict)
    for row in kept:
        other = row["relays"] - row["auto_relays"] - row["manual_relays"]
        for name, number in (("auto", row["auto_relays"]), ("manual", row["manual_relays"]), ("not said", other)):
            if number:
                counts[name][row["day"]] = number
    figure = go.Figure()
    for name in (name for name in _TRIGGER_STYLES if name in counts):
        figure.add_trace(day_bars(counts[name], name, _TRIGGER_STYLES[name]))
    halted = [row for row in kept if row["halted"]]
    if halted:
        highest = max(row["relays"] for row in kept)
        figure.add_trace(
            go.Scatter(
                x=[row["day"].isoformat() for row in halted],
                # Above the bar: inside it, the mark would look like a height.
                y=[row["relays"] + 0.06 * highest for row in halted],
                mode="markers+text",
                text=[f" {row['halted']:,}" for row in halted],
                textposition="middle right",
                customdata=[row["halted"] for row in halted],
                cliponaxis=False,
                marker={"symbol": "x", "size": 10, "color": VERMILION, "line": {"width": 1, "color": HALO}},
                name="given up",
                hovertemplate=f"{HOVER_DAY}: %{{customdata:,}} given up<extra></extra>",
            )
        )
    note = f"the latest {len(kept)} of {len(rows)} days" if len(rows) > len(kept) else ""
    finish(figure, "Hand-offs by day and cause", note, "", "hand-offs", stacked=True)
    day_axis(figure, [row["day"] for row in kept])
    return figure


def utilization_chart(given: Table | pl.DataFrame) -> go.Figure:
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
    figure = go.Figure()
    for name in (name for name in _TRIGGER_STYLES if name in bins):
        starts = sorted(bins[name])
        figure.add_trace(
            go.Bar(
                x=[start + size / 2 for start in starts],
                y=[bins[name][start] for start in starts],
                width=[size * 0.92] * len(starts),
                customdata=[(f"{start:,.0f}", f"{start + size:,.0f}") for start in starts],
                name=name,
                marker=marker(_TRIGGER_STYLES[name]),
                hovertemplate=f"%{{customdata[0]}} to %{{customdata[1]}}: %{{y:,}} {name}<extra></extra>",
            )
        )
    if by_percent:
        thresholds: Counter[float] = Counter()
        for row in known:
            if row["threshold_percent"] is not None:
                thresholds[row["threshold_percent"]] += row["hand_offs"]
        for threshold, _ in thresholds.most_common(3):
            figure.add_vline(
                x=threshold,
                line={"dash": "dash", "width": 1.5, "color": VERMILION},
                annotation={"text": f"threshold {threshold:g}%", "font": {"color": VERMILION, "size": 12}},
                annotation_position="top left",
            )
    told = sum(row["hand_offs"] for row in known)
    note = f"{told:,} of {drawn.height:,} hand-offs whose logs say it" if told < drawn.height else ""
    axis = "context in use at hand-off (%)" if by_percent else "tokens in the context before the hand-off"
    finish(figure, "How full the context was at hand-off", note, axis, "hand-offs", stacked=True)
    if by_percent:
        figure.update_xaxes(range=[0, 125 if top > 100 else 102], dtick=20)
    else:
        figure.update_xaxes(rangemode="tozero", tickformat="~s")
    return figure


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … that is not below."""
    return next(
        step for power in range(25) for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if step >= least
    )
