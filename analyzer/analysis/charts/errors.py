"""Charts of errors by day and reason, of what became of them, and of how retry chains ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date

import polars as pl

from analyzer.analysis.charts.chart import (
    MAX_DAYS,
    OTHER,
    OTHER_STYLE,
    Axis,
    Bars,
    Chart,
    Note,
    Style,
    counts,
    day_axis,
    day_bars,
    rows_of,
    short,
)
from analyzer.analysis.charts.colours import AMBER, BLUE, GREEN, OLIVE, PLUM, SILVER, SKY, VERMILION
from analyzer.analysis.tables import Table

MAX_REASONS = 12
# The eight reasons in the order of the recovery table. Colours after Okabe and Ito (2008) and Tol (2021), told apart
# by people with any of the common colour blindnesses.
_REASON_STYLES: dict[str, Style] = {
    "rate_limited": (AMBER, ""),
    "context_overflow": (SKY, "/"),
    "auth_error": (PLUM, "x"),
    "network_transient": (GREEN, "\\"),
    "network_permanent": (BLUE, "-"),
    "tool_not_found": (OLIVE, "+"),
    "validation": (SILVER, "."),
    "unknown": (VERMILION, "|"),
}
_OUTCOME_STYLES: dict[str, Style] = {
    "recovered": (GREEN, ""),
    "exhausted": (VERMILION, "x"),
    "surfaced": (AMBER, "/"),
    "escalated": (PLUM, "+"),
    "aborted": (SKY, "."),
    "unresolved": (SILVER, "-"),
}


def errors_timeline(given: Table | pl.DataFrame) -> Chart:
    """Errors by day, stacked by reason; of `errors-timeline`."""
    rows = rows_of(given, "errors-timeline", "day", "reason", "errors")
    days = sorted(set(rows["day"]))
    kept = days[-MAX_DAYS:]
    found: dict[str, Counter[date]] = defaultdict(Counter)
    strange: set[str] = set()
    for row in rows.iter_rows(named=True):
        if row["reason"] not in _REASON_STYLES:
            strange.add(row["reason"])
        if row["day"] >= kept[0]:
            found[row["reason"] if row["reason"] in _REASON_STYLES else OTHER][row["day"]] += row["errors"]
    names = (name for name in (*_REASON_STYLES, OTHER) if name in found)
    bars = tuple(day_bars(found[name], name, _REASON_STYLES.get(name, OTHER_STYLE)) for name in names)
    notes = [f"the latest {len(kept)} of {len(days)} days"] if len(days) > len(kept) else []
    if strange:
        notes.append(f"{OTHER} stands for {len(strange)} beyond the eight reasons")
    return Chart("Errors by day and reason", "; ".join(notes), day_axis(kept), counts("errors"), bars)


def outcomes(given: Table | pl.DataFrame) -> Chart:
    """Errors by reason, split by what became of them, callers added up; of `errors-by-reason-caller-outcome`."""
    rows = rows_of(given, "errors-by-reason-caller-outcome", "reason", "outcome", "errors")
    rows = rows.group_by("reason", "outcome").agg(pl.col("errors").sum())
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows.iter_rows(named=True):
        outcome = row["outcome"] if row["outcome"] in _OUTCOME_STYLES else OTHER
        found[row["reason"] or "(none)"][outcome] += row["errors"]
    ends = {reason: f"{outcomes.total():,}" for reason, outcomes in found.items()}
    return _outcome_bars("What became of the errors, by reason", found, "errors", ends)


def retries(given: Table | pl.DataFrame) -> Chart:
    """Retry chains by reason, split by how they ended, with the share that recovered; of `retries-outcomes`."""
    rows = rows_of(given, "retries-outcomes", "reason", "recovery_share", *_OUTCOME_STYLES)
    found: dict[str, Counter[str]] = {}
    ends: dict[str, str] = {}
    for row in rows.iter_rows(named=True):
        reason = row["reason"] or "(none)"
        found[reason] = Counter({outcome: row[outcome] for outcome in _OUTCOME_STYLES})
        share = row["recovery_share"]
        ends[reason] = "–" if share is None else f"{share:.0%}"
    title = "How retry chains ended, by reason, and the share that recovered"
    return _outcome_bars(title, found, "retry chains", ends)


def _outcome_bars(title: str, found: Mapping[str, Counter[str]], unit: str, ends: Mapping[str, str]) -> Chart:
    """Horizontal bars by reason, the longest on top, with a text at each end."""
    ranked = sorted(found, key=lambda name: (-found[name].total(), name))
    kept = ranked[:MAX_REASONS]
    names = tuple(map(short, kept))
    present = {name for counter in found.values() for name in counter if counter[name]}
    bars = []
    for outcome in (name for name in (*_OUTCOME_STYLES, OTHER) if name in present):
        lengths = tuple(found[reason][outcome] for reason in kept)
        tips = tuple(f"{name}: {length:,} {outcome}" for name, length in zip(names, lengths, strict=True))
        bars.append(Bars(outcome, _OUTCOME_STYLES.get(outcome, OTHER_STYLE), names, lengths, tips))
    longest = max((found[name].total() for name in kept), default=1)
    return Chart(
        title,
        f"{len(kept)} of {len(ranked)} reasons" if len(ranked) > len(kept) else "",
        Axis(unit, form=",d", ends=(0, longest * 1.2), most_ticks=6, grid=False),
        Axis(kind="category", grid=False),
        tuple(bars),
        notes=tuple(Note(ends[reason], found[reason].total(), short(reason)) for reason in kept),
        gap=0.35,
        height=170 + 34 * len(kept),
    )
