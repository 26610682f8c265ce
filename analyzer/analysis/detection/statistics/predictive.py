"""The probability of as many unknown errors in a span of days as it shows, had nothing changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analyzer.analysis.detection.statistics.baseline import Counts, Level, add
from analyzer.analysis.detection.statistics.noise import Noise, bounded
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail


class SpanSum(NamedTuple):
    """The sum of the days judged together."""

    counts: Counts
    session_evenness: float
    """Sum of squared sessions a day over the squared sum: 1 for one day, 1/d for d alike ones."""
    group_evenness: float
    days_with_unknown: int


def span(days: Sequence[Counts]) -> SpanSum:
    """Adds up days, of which one at least has a session."""
    total = add(days)
    return SpanSum(
        total,
        sum(day.sessions**2 for day in days) / total.sessions**2,
        sum(day.groups**2 for day in days) / total.groups**2,
        sum(day.unknown_sessions > 0 for day in days),
    )


def session_tail(of: SpanSum, expected: Level, noise: Noise) -> float:
    """P(as many sessions with an unknown error or more), had nothing changed."""
    counts = of.counts
    correlation = _baseline_correlation(expected.session_share, expected.session_error, expected, noise)
    cells = noise.cells(of.session_evenness)
    return _tail(counts.unknown_sessions, counts.sessions, expected.session_share, correlation, cells)


def group_tail(of: SpanSum, expected: Level, noise: Noise) -> float:
    """P(as many unknown groups or more), had nothing changed; their clustering in sessions is included."""
    counts = of.counts
    correlation = _baseline_correlation(expected.group_share, expected.group_error, expected, noise)
    clustering = expected.clustering
    return _tail(
        counts.unknown_groups,
        counts.groups,
        expected.group_share,
        correlation * clustering + (clustering - 1) / max(1, counts.groups - 1),
        noise.cells(of.group_evenness),
    )


def _baseline_correlation(share: float, error: float, expected: Level, noise: Noise) -> float:
    """The correlation that the baseline's error adds to that of a span, with the baseline's own day noise in it."""
    spread = share * (1 - share)
    return error * (1 + max(0.0, expected.day_sessions - 1) * noise.day_correlation(spread)) / spread


def _tail(k: int, n: int, share: float, correlation: float, cells: Sequence[tuple[float, float]]) -> float:
    """The beta-binomial tail, averaged over the factors that day noise may put on the odds of the span."""
    odds = share / (1 - share)
    total = 0.0
    for factor, weight in cells:
        shifted = odds * factor / (1 + odds * factor)
        total += weight * beta_binomial_tail(k, n, shifted, bounded(correlation))
    return min(1.0, total)
