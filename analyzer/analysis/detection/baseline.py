"""What a caller's days before lead one to expect: a share, how sure of it one is, and how much days differ by
themselves.

Sessions are the unit: given the day, whether one session shows an unknown error says nothing of another. Groups
(distinct pairs of session and template) cluster in sessions and are corrected for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, expm1, log
from typing import NamedTuple

from analyzer.analysis.detection.tails import beta_binomial_tail, log_beta_binomial_odds

DAY_NOISES = (0.15, 0.3, 0.5, 0.75, 1.1)
"""Standard deviations that the log-odds of a day's share may have around its level; which one holds is learned."""
_NOISE_PRIOR = (3.0, 4.0, 3.0, 1.0, 0.5)
_FLEET_WEIGHT = 0.3
"""What a day of another caller says of this caller's day noise, in own days."""
_FLEET_CALLERS = 5
"""So many other callers at most are heard."""
_STRATUM_GROUPS, _STRATUM_SESSIONS = 40.0, 20.0
"""Weight of the whole week's share in that of weekdays or weekends, in groups and sessions."""
_WEAKEST, _STRONGEST = 5.0, 200.0
"""Bounds of the fleet's weight in a caller's share, in trials."""
_MOST_CORRELATION = 0.6
_LEAST_CORRELATION = 1e-4
_MOST_DAY_CORRELATION = 0.3


class Counts(NamedTuple):
    """One day of one caller."""

    groups: int
    unknown_groups: int
    sessions: int
    unknown_sessions: int


def add(days: Iterable[Counts]) -> Counts:
    """The sum of days, column by column."""
    a = b = c = d = 0
    for day in days:
        a += day[0]
        b += day[1]
        c += day[2]
        d += day[3]
    return Counts(a, b, c, d)


def is_weekend(day: int) -> bool:
    """Whether a proleptic ordinal (`date.toordinal`) is a Saturday or Sunday."""
    return (day - 1) % 7 >= 5


@dataclass(slots=True)
class History:
    """The days of one caller so far, without those that belong to incidents."""

    days: dict[int, Counts] = field(default_factory=dict)
    """By proleptic ordinal."""
    excluded: set[int] = field(default_factory=set)
    since: int = 0
    """Days before have no say: another level was accepted."""
    noise_evidence: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """By day: log-likelihood of each of DAY_NOISES."""
    noise_total: list[float] = field(default_factory=lambda: [0.0] * len(DAY_NOISES))

    def between(self, first: int, last: int) -> list[tuple[int, Counts]]:
        """Days of the baseline within both ends."""
        days, excluded = self.days, self.excluded
        return [
            (day, days[day]) for day in range(max(first, self.since), last + 1) if day in days and day not in excluded
        ]

    def exclude(self, day: int) -> None:
        """Takes a day out of the baseline, and back what it taught about noise."""
        self.excluded.add(day)
        evidence = self.noise_evidence.pop(day, None)
        if evidence is not None:
            self.noise_total = [total - part for total, part in zip(self.noise_total, evidence, strict=True)]

    def learn_noise(self, day: int, level: Level, most: float = float("inf")) -> None:
        """Keeps how well each day noise would have foretold the day, none worse than the best by more than `most`."""
        counts = self.days[day]
        share = level.session_share
        spread = share * (1 - share)
        evidence = []
        for noise in DAY_NOISES:
            size = 1 / _bounded(day_correlation(spread, noise) + level.session_error / spread) - 1
            evidence.append(
                log_beta_binomial_odds(counts.unknown_sessions, counts.sessions, share * size, (1 - share) * size)
            )
        least = max(evidence) - most
        evidence = [max(least, each) for each in evidence]
        self.noise_evidence[day] = tuple(evidence)
        self.noise_total = [total + part for total, part in zip(self.noise_total, evidence, strict=True)]


class Prior(NamedTuple):
    """What the fleet says of a caller that is not known: Beta distributions, as pseudo-counts (unknown, other)."""

    groups: tuple[float, float]
    sessions: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Level:
    """What is expected of a day or a span."""

    group_share: float
    session_share: float
    group_error: float
    """Variance of `group_share` by the sampling of the baseline."""
    session_error: float
    clustering: float
    """Variance of the unknown groups over that of independent ones, from clusters of geometric size: 2 U / K - 1."""
    sessions: int
    """Sessions of the baseline."""
    day_sessions: float
    """Sessions of a typical baseline day, weighted by sessions."""


def level(history: History, first: int, last: int, weekend: float, prior: Prior) -> Level:
    """The baseline from first to last day, for a span of which the part `weekend` (0..1 of sessions) is weekend."""
    strata = ([0, 0, 0, 0], [0, 0, 0, 0])
    squares = 0
    for day, counts in history.between(first, last):
        stratum = strata[is_weekend(day)]
        for index, value in enumerate(counts):
            stratum[index] += value
        squares += counts.sessions * counts.sessions
    _, unknown, sessions, unknown_sessions = (a + b for a, b in zip(*strata, strict=True))
    group = _stratified([(s[1], s[0]) for s in strata], weekend, prior.groups, _STRATUM_GROUPS)
    session = _stratified([(s[3], s[2]) for s in strata], weekend, prior.sessions, _STRATUM_SESSIONS)
    clustering = max(1.0, 2 * (unknown + 1.5) / (unknown_sessions + 1.2) - 1) if unknown_sessions else 1.5
    day_sessions = squares / sessions if sessions else 0.0
    return Level(group[0], session[0], group[1], session[1], clustering, sessions, day_sessions)


def _stratified(
    strata: Sequence[tuple[int, int]], weekend: float, prior: tuple[float, float], weight: float
) -> tuple[float, float]:
    """Share and its variance; each stratum is shrunk to the caller's share, the caller's share to the fleet's."""
    unknown = strata[0][0] + strata[1][0] + prior[0]
    trials = strata[0][1] + strata[1][1] + prior[0] + prior[1]
    caller_share = unknown / trials
    borrowed = weight * trials / (trials + weight)
    share = error = 0.0
    for part, (stratum_unknown, stratum_trials) in ((1 - weekend, strata[0]), (weekend, strata[1])):
        if part:
            own = (stratum_unknown + weight * caller_share) / (stratum_trials + weight)
            share += part * own
            error += part * own * (1 - own) / (stratum_trials + borrowed)
    return share, error


def fleet_prior(totals: Sequence[Counts]) -> Prior:
    """Beta priors by the method of moments over callers (Kleinman 1973), their weight held within bounds."""
    return Prior(
        _beta([(each.unknown_groups, each.groups) for each in totals]),
        _beta([(each.unknown_sessions, each.sessions) for each in totals]),
    )


def _beta(seen: Sequence[tuple[int, int]]) -> tuple[float, float]:
    trials = sum(n for _, n in seen)
    if trials < 20:
        return 0.5, 0.5
    mean = (sum(k for k, _ in seen) + 0.5) / (trials + 1)
    weight = _WEAKEST
    if len(seen) >= 3:
        excess = sum((k / n - mean) ** 2 * n for k, n in seen) / (mean * (1 - mean)) - (len(seen) - 1)
        exposure = trials - sum(n * n for _, n in seen) / trials
        correlation = max(1e-6, excess / exposure) if exposure > 0 else 1.0
        weight = min(_STRONGEST, max(_WEAKEST, 1 / correlation - 1))
    return mean * weight, (1 - mean) * weight


def noise_weights(own: Sequence[float], others: Sequence[float], other_callers: int) -> tuple[float, ...]:
    """Posterior of DAY_NOISES from log-likelihoods: the caller's own, and the sum of the other callers', heard less."""
    heard = _FLEET_WEIGHT * min(other_callers, _FLEET_CALLERS) / other_callers if other_callers else 0.0
    scores = [log(prior) + mine + heard * theirs for prior, mine, theirs in zip(_NOISE_PRIOR, own, others, strict=True)]
    best = max(scores)
    weights = [exp(score - best) for score in scores]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


class Span(NamedTuple):
    """The sum of the days judged together."""

    counts: Counts
    session_evenness: float
    """Sum of squared sessions a day over the squared sum: 1 for one day, 1/d for d alike ones."""
    group_evenness: float
    days_with_unknown: int


def span(days: Sequence[Counts]) -> Span:
    """Adds up days, of which one at least has a session."""
    total = add(days)
    return Span(
        total,
        sum(day.sessions**2 for day in days) / total.sessions**2,
        sum(day.groups**2 for day in days) / total.groups**2,
        sum(day.unknown_sessions > 0 for day in days),
    )


def session_tail(of: Span, expected: Level, noise: Sequence[float]) -> float:
    """P(as many sessions with an unknown error or more): the beta-binomial predictive, mixed over the day noise."""
    return _tail(
        of.counts.unknown_sessions,
        of.counts.sessions,
        expected.session_share,
        expected.session_error,
        of.session_evenness,
        expected,
        noise,
        1.0,
    )


def group_tail(of: Span, expected: Level, noise: Sequence[float]) -> float:
    """The same of groups, their clustering in sessions included."""
    return _tail(
        of.counts.unknown_groups,
        of.counts.groups,
        expected.group_share,
        expected.group_error,
        of.group_evenness,
        expected,
        noise,
        expected.clustering,
    )


def _tail(
    k: int,
    n: int,
    share: float,
    error: float,
    evenness: float,
    expected: Level,
    noise: Sequence[float],
    clustering: float,
) -> float:
    """Correlation = day noise of the span + error of the baseline (its own day noise included) + clustering."""
    spread = share * (1 - share)
    total = 0.0
    for deviation, weight in zip(DAY_NOISES, noise, strict=True):
        if weight < 1e-4:
            continue
        day = day_correlation(spread, deviation)
        baseline = error * (1 + max(0.0, expected.day_sessions - 1) * day) * clustering / spread
        correlation = _bounded(day * evenness + baseline + (clustering - 1) / max(1, n - 1))
        total += weight * beta_binomial_tail(k, n, share, correlation)
    return min(1.0, total)


def day_correlation(spread: float, deviation: float) -> float:
    """Intra-class correlation of a day: lognormal odds of this deviation, on a share p with spread p (1 - p)."""
    return min(_MOST_DAY_CORRELATION, spread * expm1(deviation * deviation))


def _bounded(correlation: float) -> float:
    return min(_MOST_CORRELATION, max(_LEAST_CORRELATION, correlation))
