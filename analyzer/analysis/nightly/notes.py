"""The notes of a night: sentences on what limits its judgement, and on changes that are no findings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

import polars as pl

from analyzer.analysis.kinds.families.causes import flips
from analyzer.analysis.kinds.families.shares import unjudged
from analyzer.analysis.kinds.scope import Scope
from analyzer.analysis.kinds.statistics.rates import MIN_DAYS
from analyzer.analysis.observations import Observations
from analyzer.analysis.periods import RECENT_DAYS
from analyzer.readable import counted
from analyzer.store import CallerDays, Store

MAX_NAMED = 20
"""Callers that are named where the same holds for many."""
MOST_AHEAD = timedelta(minutes=10)
"""Time that clocks may differ by."""
MIN_FLIPPED = 0.05
"""Least change, against the week before, of the difference between the recorded and the replayed unknown share."""


def notes(seen: Observations) -> Iterator[str]:
    """Yield the notes of one night."""
    counts = seen.counts
    if counts.is_empty():
        yield "no errors in this store up to that day"
        return
    newest = seen.days[-1]
    if newest != seen.night:
        yield f"no error came in on {seen.night}; the last day with any is {newest}: are the logs still read?"
    if kept := int(counts["not_replayed"].sum()):
        errors = "1 error" if kept == 1 else f"{kept:,} errors"
        yield f"{errors} could not be judged again, without facts or rules, and count as they were recorded"
    yield from _rule_changes(seen)
    yield from _classifier_changes(seen)


def clocks_ahead(store: Store, moment: datetime) -> Iterator[str]:
    """Name the machines whose events are dated ahead of a moment, now (naive UTC).

    Their nights are judged too late.

    Raises:
        QueryError: the store cannot be asked.
    """
    rows = store.query("detection-ahead", at=moment + MOST_AHEAD)
    for host, events, last_at in rows.head(MAX_NAMED).iter_rows():
        hours = (last_at - moment).total_seconds() / 3_600
        whose = f" of {host}" if host else ""
        yield f"up to {hours:,.1f} h ahead of now: {counted(events, 'event')}{whose}; is the clock right there?"


def too_little_history(seen: Observations, day: date) -> str:
    """Say why a day without findings cannot be judged, in one sentence; empty if it can be."""
    if seen.counts.is_empty() and seen.relays.is_empty():
        return ""
    days = seen.days_before(day)
    if len(days) < MIN_DAYS:
        first_to_last = f" ({' to '.join(dict.fromkeys(map(str, (days[0], days[-1]))))})" if days else ""
        there = f"there {'is' if len(days) == 1 else 'are'} {len(days)}{first_to_last}"
        return f"Needs {MIN_DAYS} days of history before {day}; {there}."
    if new := sum(when == day for when, _ in unjudged(seen.counts)):
        return f"{counted(new, 'caller')} with many unknown errors on {day} had too little history before it."
    return ""


def newest_versions(versions: pl.DataFrame, day: date) -> tuple[tuple[str, str, date], ...]:
    """Return (caller, newest ruleset, its first day) of callers with several up to a day.

    Only errors without facts count.
    """
    dated = versions.filter(pl.col("first_on") <= day).group_by("caller", maintain_order=True)
    rows = dated.agg(pl.col("ruleset", "first_on").last(), pl.len().alias("rulesets")).filter(pl.col("rulesets") > 1)
    return tuple(rows.select("caller", "ruleset", "first_on").sort("caller").iter_rows())


def _rule_changes(seen: Observations) -> Iterator[str]:
    changed = newest_versions(seen.versions, seen.night)
    for caller, _, first_on in changed[:MAX_NAMED]:
        text = f"{Scope(caller).who}: its errors without facts are judged by other rules since {first_on}"
        yield f"{text}; those before take no part, so it is judged from then on"
    if (more := len(changed) - MAX_NAMED) > 0:
        yield f"the same holds for {more:,} more callers"


def _classifier_changes(seen: Observations) -> Iterator[str]:
    """Yield a note if recorded and replayed reasons differ in another way than in the week before."""
    today, before = (
        seen.counts.filter(
            pl.col("day").is_between(seen.night - timedelta(days=first), seen.night - timedelta(days=last))
        )
        for first, last in ((0, 0), (RECENT_DAYS, 1))
    )
    if before.is_empty() or today.is_empty():
        return
    gaps = [_gap(side) for side in (before, today)]
    changed = gaps[1] - gaps[0]
    if abs(changed) < MIN_FLIPPED:
        return
    errors = seen.rows.groups([CallerDays(None, seen.night, seen.night)])
    pairs = [flip for flip in flips(errors) if "unknown" in {flip.old_reason, flip.reason}]
    if pairs:
        pair = pairs[0]
        text = f"{counted(pair.groups, 'message')} of {seen.night} logged as {pair.old_reason}"
        yield f"today's rules say {pair.reason} for {text}: the classifier changed, not the errors"


def _gap(counts: pl.DataFrame) -> float:
    """Return the recorded minus the replayed share of unknown verdicts."""
    names = ("unknown_verdicts", "unknown_verdicts_replayed", "verdicts")
    recorded, replayed, every = (int(counts[name].sum()) for name in names)
    return (recorded - replayed) / every
