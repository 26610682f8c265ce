"""A burst: when the session said its one thing over and over."""

from __future__ import annotations

from datetime import timedelta

import plotly.graph_objects as go

from analyzer.analysis.charts.base import finish, marker
from analyzer.analysis.charts.finding.panels import MARKED
from analyzer.analysis.summary.cases import Case

_UNITS = ((3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))


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
