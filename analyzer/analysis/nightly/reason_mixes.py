"""The test of each caller's mix of reasons, day by day: the last week against the baseline before it.

Invariant: a day is judged from that day and the days before it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection import Detection, jensen_shannon, reason_drift
from analyzer.analysis.detection.reasons import counted, most_changed, shares, table_test
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.observations import drawn

ALPHA = 0.001
MIN_DIVERGENCE = 0.03
"""Least divergence beyond that of chance, in bits: days differ by themselves, and many sessions see all of it."""
MIN_SESSIONS = 10
MAX_SESSIONS = (600, 300)
"""Of the baseline and of the week: of more, so many take part, drawn by their names. A shuffle costs by the session."""

_Day = dict[str, frozenset[str]]
"""The reasons of a day's sessions."""


def mix_changes(groups: pl.DataFrame) -> list[Detection]:
    """Findings `reasons`, one a day and caller whose mix of reasons differs.

    `groups` has `day`, `caller`, `session`, `reason` and `was_unknown`. Errors that were unknown when they came have no
    part, whatever the rules of today call them: they are what the tests of shares judge. A chi-square
    test on sessions and a least divergence come first; what passes them opens with `reason_drift`'s exact test. While
    it lasts the chi-square alone goes on.
    """
    sessions = (
        groups.filter(~pl.col("was_unknown"))
        .group_by("caller", "day", "session")
        .agg(pl.col("reason").unique())
        .sort("caller", "day", "session")
    )
    # Who had fewer in all of history cannot have had enough of them in a week.
    enough = sessions.group_by("caller").len().filter(pl.col("len") >= MIN_SESSIONS)
    sessions = sessions.join(enough, on="caller", how="semi", maintain_order="left")
    found: list[Detection] = []
    for (caller,), rows in sessions.group_by(["caller"], maintain_order=True):
        days: dict[date, _Day] = {}
        for day, session, reasons in rows.select("day", "session", "reason").iter_rows():
            days.setdefault(day, {})[session] = frozenset(reasons)
        found += _of_caller(str(caller), days)
    return found


def _of_caller(caller: str, days: Mapping[date, _Day]) -> Iterator[Detection]:
    daily = {day: counted(sessions.values()) for day, sessions in days.items()}
    last: date | None = None
    for day in days:
        spans = _spans(day)
        before, after = (_total(daily, span) for span in spans)
        screened = _screen(before, after)
        if screened is None:
            continue
        p_value, divergence, chance = screened
        if sum(len(days[each]) for each in spans[1] if each in days) < MIN_SESSIONS:
            continue
        if last is not None and (day - last).days <= RECENT_DAYS:
            found = Detection(
                day=day, caller=caller, finding="reasons", observed=divergence, expected=chance, p_value=p_value
            )
            found = replace(found, q_value=p_value, note=most_changed(shares(before), shares(after)))
        else:
            drift = reason_drift(*_samples(days, spans), day=day, caller=caller, alpha=ALPHA)
            if drift is None:
                continue
            found = drift
        last = day
        yield replace(found, sessions=sum(len(days[each]) for each in spans[1] if each in days))


def _spans(day: date) -> tuple[list[date], list[date]]:
    back = [day - timedelta(days=number) for number in range(RECENT_DAYS + BASELINE_DAYS)]
    return back[RECENT_DAYS:], back[:RECENT_DAYS]


def _total(daily: Mapping[date, Mapping[str, int]], span: Sequence[date]) -> Counter[str]:
    total: Counter[str] = Counter()
    for day in span:
        total.update(daily.get(day, {}))
    return total


def _screen(before: Counter[str], after: Counter[str]) -> tuple[float, float, float] | None:
    """P-value by chi-square, divergence, and the one of chance; None where there is nothing to look into."""
    if not before or not after:
        return None
    divergence = jensen_shannon(shares(before), shares(after))
    if divergence < MIN_DIVERGENCE:
        return None
    reasons = sorted({*before, *after})
    p_value, _, chance = table_test(*([side[reason] for reason in reasons] for side in (before, after)))
    return (p_value, divergence, chance) if divergence - chance >= MIN_DIVERGENCE and p_value <= ALPHA else None


def _samples(days: Mapping[date, _Day], spans: tuple[list[date], list[date]]) -> list[list[frozenset[str]]]:
    """The reasons of each session, over all days of its span."""
    samples = []
    for span, most in zip(spans, MAX_SESSIONS, strict=True):
        merged: dict[str, frozenset[str]] = {}
        for day in span:
            for session, reasons in days.get(day, {}).items():
                merged[session] = merged.get(session, frozenset()) | reasons
        names = sorted(merged) if len(merged) <= most else drawn(merged, most)
        samples.append([merged[name] for name in names])
    return samples
