"""The charts of findings that are one plot of bars: a change of the mix of reasons, and a burst."""

from __future__ import annotations

from datetime import timedelta

import plotly.graph_objects as go

from analyzer.analysis.charts.base import finish, label, marker
from analyzer.analysis.charts.colours import INK
from analyzer.analysis.charts.finding_panels import MARKED, USUAL
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.cases import Case

MAX_REASONS = 8
_UNITS = ((3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))


def mix_chart(case: Case) -> go.Figure:
    """Shares of what sessions show, by reason, of the last week and of the baseline before it; with 95 % intervals."""
    rows = list(case.numbers.head(MAX_REASONS).iter_rows(named=True))
    begin = case.finding.last_on - timedelta(days=RECENT_DAYS - 1)
    first, end = begin - timedelta(days=BASELINE_DAYS), begin - timedelta(days=1)
    figure = go.Figure()
    for side, name, style in (
        ("after", f"{begin} to {case.finding.last_on}", MARKED),
        ("before", f"the {BASELINE_DAYS} days before: {first} to {end}", USUAL),
    ):
        shares = [row[f"{side}_share"] for row in rows]
        highs = [row[f"{side}_high_share"] for row in rows]
        figure.add_trace(
            go.Bar(
                y=[label(row["reason"]) for row in rows],
                x=shares,
                orientation="h",
                name=name,
                marker=marker(style),
                customdata=[row[f"{side}_sessions"] for row in rows],
                error_x={
                    "type": "data",
                    "array": [high - share for high, share in zip(highs, shares, strict=True)],
                    "arrayminus": [share - row[f"{side}_low_share"] for share, row in zip(shares, rows, strict=True)],
                    "color": INK,
                    "thickness": 1.5,
                    "width": 3,
                },
                hovertemplate="%{y}: %{x:.0%}, %{customdata:,} sessions<extra></extra>",
            )
        )
    notes = ["whiskers: 95% intervals"]
    if case.numbers.height > len(rows):
        notes.append(f"the {len(rows)} of {case.numbers.height} reasons that changed most")
    title = f"What sessions show, by reason: the last {RECENT_DAYS} days against the {BASELINE_DAYS} before"
    finish(figure, title, "; ".join(notes), "share (%)", "")
    figure.update_layout(height=170 + 46 * len(rows), bargap=0.3)
    figure.update_xaxes(tickformat=".0%", rangemode="tozero", nticks=5, tickangle=0, showgrid=True)
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False, ticklabelstandoff=6)
    return figure


def burst_chart(case: Case) -> go.Figure:
    """Repeats of the message in the session, over its time."""
    rows = list(case.numbers.iter_rows(named=True))
    seconds = rows[0]["seconds"]
    figure = go.Figure()
    figure.add_trace(
        go.Bar(
            x=[row["begins_at"].isoformat() for row in rows],
            y=[row["repeats"] for row in rows],
            width=[seconds * 1_000 * 0.9] * len(rows),
            # A bar stands over its stretch of time, not around its beginning.
            offset=0,
            name="repeats of the message",
            marker=marker(MARKED),
            hovertemplate="from %{x|%H:%M:%S}: %{y:,} repeats<extra></extra>",
        )
    )
    usual = case.finding.latest.expected
    total = sum(row["repeats"] for row in rows)
    end = rows[-1]["begins_at"] + timedelta(seconds=seconds)
    note = f"{total:,} repeats from {rows[0]['begins_at']:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%S} UTC"
    if usual is not None:
        note += (
            f"; other sessions of this caller show a message {usual:,.0f} {'time' if usual == 1 else 'times'} (median)"
        )
    title = f"How often the session repeats the message, every {_length(seconds)}"
    finish(figure, title, f"{note}.", "time (UTC)", "repeats")
    figure.update_layout(height=320)
    figure.update_xaxes(type="date", nticks=6, tickformat="%H:%M:%S\n%-d %b %Y" if seconds < 60 else "%H:%M\n%-d %b %Y")
    figure.update_yaxes(rangemode="tozero", tickformat=",~r", nticks=5)
    return figure


def _length(seconds: int) -> str:
    size, one, many = next(unit for unit in _UNITS if seconds >= unit[0])
    return one if seconds == size else f"{seconds // size} {many}"
