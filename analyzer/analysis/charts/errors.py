"""Charts of errors by day and reason, of what became of them, and of how retry chains ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date

import plotly.graph_objects as go
import polars as pl

from analyzer.analysis.charts.base import (
    MAX_DAYS,
    OTHER,
    OTHER_STYLE,
    day_axis,
    day_bars,
    finish,
    label,
    marker,
    rows_of,
)
from analyzer.analysis.charts.colours import AMBER, BLUE, GREEN, OLIVE, PLUM, SILVER, SKY, VERMILION
from analyzer.analysis.tables import Table

MAX_REASONS = 12
# The eight reasons in the order of the recovery table. Colours after Okabe and Ito (2008) and Tol (2021), told apart
# by people with any of the common colour blindnesses.
_REASON_STYLES: dict[str, tuple[str, str]] = {
    "rate_limited": (AMBER, ""),
    "context_overflow": (SKY, "/"),
    "auth_error": (PLUM, "x"),
    "network_transient": (GREEN, "\\"),
    "network_permanent": (BLUE, "-"),
    "tool_not_found": (OLIVE, "+"),
    "validation": (SILVER, "."),
    "unknown": (VERMILION, "|"),
}
_OUTCOME_STYLES: dict[str, tuple[str, str]] = {
    "recovered": (GREEN, ""),
    "exhausted": (VERMILION, "x"),
    "surfaced": (AMBER, "/"),
    "escalated": (PLUM, "+"),
    "aborted": (SKY, "."),
    "unresolved": (SILVER, "-"),
}


def errors_timeline_chart(given: Table | pl.DataFrame) -> go.Figure:
    """Errors by day, stacked by reason; of `errors-timeline`."""
    rows = rows_of(given, "errors-timeline", "day", "reason", "errors")
    days = sorted(set(rows["day"]))
    kept = days[-MAX_DAYS:]
    counts: dict[str, Counter[date]] = defaultdict(Counter)
    strange: set[str] = set()
    for row in rows.iter_rows(named=True):
        if row["reason"] not in _REASON_STYLES:
            strange.add(row["reason"])
        if row["day"] >= kept[0]:
            counts[row["reason"] if row["reason"] in _REASON_STYLES else OTHER][row["day"]] += row["errors"]
    figure = go.Figure()
    for name in (name for name in (*_REASON_STYLES, OTHER) if name in counts):
        figure.add_trace(day_bars(counts[name], name, _REASON_STYLES.get(name, OTHER_STYLE)))
    notes = [f"the latest {len(kept)} of {len(days)} days"] if len(days) > len(kept) else []
    if strange:
        notes.append(f"{OTHER} stands for {len(strange)} beyond the eight reasons")
    finish(figure, "Errors by day and reason", "; ".join(notes), "", "errors", stacked=True)
    day_axis(figure, kept)
    return figure


def outcomes_chart(given: Table | pl.DataFrame) -> go.Figure:
    """Errors by reason, split by what became of them, callers added up; of `errors-by-reason-caller-outcome`."""
    rows = rows_of(given, "errors-by-reason-caller-outcome", "reason", "outcome", "errors")
    rows = rows.group_by("reason", "outcome").agg(pl.col("errors").sum())
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows.iter_rows(named=True):
        outcome = row["outcome"] if row["outcome"] in _OUTCOME_STYLES else OTHER
        counts[row["reason"] or "(none)"][outcome] += row["errors"]
    totals = {reason: outcomes.total() for reason, outcomes in counts.items()}
    return _outcome_bars(
        "What became of the errors, by reason", counts, "errors", {name: f"{total:,}" for name, total in totals.items()}
    )


def retries_chart(given: Table | pl.DataFrame) -> go.Figure:
    """Retry chains by reason, split by how they ended, with the share that recovered; of `retries-outcomes`."""
    rows = rows_of(given, "retries-outcomes", "reason", "recovery_share", *_OUTCOME_STYLES)
    counts: dict[str, Counter[str]] = {}
    ends: dict[str, str] = {}
    for row in rows.iter_rows(named=True):
        reason = row["reason"] or "(none)"
        counts[reason] = Counter({outcome: row[outcome] for outcome in _OUTCOME_STYLES})
        share = row["recovery_share"]
        ends[reason] = "–" if share is None else f"{share:.0%}"
    return _outcome_bars(
        "How retry chains ended, by reason, and the share that recovered", counts, "retry chains", ends
    )


def _outcome_bars(title: str, counts: Mapping[str, Counter[str]], unit: str, ends: Mapping[str, str]) -> go.Figure:
    """Horizontal bars by reason, the longest on top, with a text at each end."""
    ranked = sorted(counts, key=lambda name: (-counts[name].total(), name))
    kept = ranked[:MAX_REASONS]
    figure = go.Figure()
    present = {name for counter in counts.values() for name in counter if counter[name]}
    for outcome in (name for name in (*_OUTCOME_STYLES, OTHER) if name in present):
        figure.add_trace(
            go.Bar(
                y=[label(reason) for reason in kept],
                x=[counts[reason][outcome] for reason in kept],
                orientation="h",
                name=outcome,
                marker=marker(_OUTCOME_STYLES.get(outcome, OTHER_STYLE)),
                hovertemplate=f"%{{y}}: %{{x:,}} {outcome}<extra></extra>",
            )
        )
    longest = max((counts[name].total() for name in kept), default=1)
    for reason in kept:
        figure.add_annotation(
            y=label(reason),
            x=counts[reason].total(),
            text=ends[reason],
            showarrow=False,
            xanchor="left",
            xshift=6,
            font={"size": 12},
        )
    note = f"{len(kept)} of {len(ranked)} reasons" if len(ranked) > len(kept) else ""
    finish(figure, title, note, unit, "", stacked=True)
    figure.update_layout(height=170 + 34 * len(kept), bargap=0.35)
    figure.update_xaxes(range=[0, longest * 1.2], tickformat=",d", nticks=6)
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return figure
