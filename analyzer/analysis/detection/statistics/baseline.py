"""The unknown share that a caller's earlier days and the fleet lead one to expect, and how certain it is.

Sessions are the unit: given the day, whether one session shows an unknown error says nothing of another. Groups
(distinct pairs of session and template) cluster in sessions and are corrected for it.

How much the share of a caller differs from day to day is learned from its own days and the fleet's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import exp, expm1, log, log1p, sqrt
from operator import sub
from statistics import NormalDist
from typing import NamedTuple

from analyzer.analysis.detection.statistics.tails import log_beta_binomial_odds

DAY_NOISES = (0.15, 0.3, 0.5, 0.75, 1.1)
"""Standard deviations that the log-odds of a day's share may have around its level; which one holds is learned."""
_NOISE_PRIOR = (1.0, 6.0, 3.0, 1.0, 0.5)
_FLEET_WEIGHT = 0.3
"""Weight of another caller's day as evidence of a caller's day noise; a day of its own has 1."""
_FLEET_CALLERS = 5
"""Number of other callers whose evidence counts at most."""
_CELL = 0.2
_CELLS = tuple(_CELL * step for step in range(-6, 23))
"""Middles of the cells into which the log-odds of a day are cut; the outermost take what lies beyond."""
_CELL_FACTORS = tuple(exp(cell) for cell in _CELLS)
_NEGLIGIBLE = 1e-7
_MOST_CORRELATION = 0.6
_LEAST_CORRELATION = 1e-4
_MOST_DAY_CORRELATION = 0.3


@dataclass(frozen=True, slots=True)
class Noise:
    """The probabilities of each day noise of a caller."""

    weights: tuple[float, ...] = tuple(each / sum(_NOISE_PRIOR) for each in _NOISE_PRIOR)
    """Posterior of DAY_NOISES."""

    def cells(self, evenness: float) -> list[tuple[float, float]]:
        """Factors on the odds of a span, mean 1, and their probabilities; days of a span add up in variance."""
        masses = [0.0] * len(_CELLS)
        for deviation, weight in zip(DAY_NOISES, self.weights, strict=True):
            if weight > _NEGLIGIBLE:
                of_span = sqrt(log1p(expm1(deviation * deviation) * evenness))
                masses = [
                    mass + weight * part for mass, part in zip(masses, _cell_masses(round(of_span, 3)), strict=True)
                ]
        return [(factor, mass) for factor, mass in zip(_CELL_FACTORS, masses, strict=True) if mass > _NEGLIGIBLE]

    def day_correlation(self, spread: float) -> float:
        """Intra-class correlation of a day on a share p with this spread p (1 - p)."""
        return sum(
            w * day_correlation(spread, deviation) for w, deviation in zip(self.weights, DAY_NOISES, strict=True)
        )


def day_noise(own: Sequence[float], others: Sequence[float], other_callers: int) -> Noise:
    """Posterior of DAY_NOISES from log-likelihoods: the caller's own, and the sum of the others', which weighs less."""
    fleet_weight = _FLEET_WEIGHT * min(other_callers, _FLEET_CALLERS) / other_callers if other_callers else 0.0
    scores = [
        log(prior) + mine + fleet_weight * theirs for prior, mine, theirs in zip(_NOISE_PRIOR, own, others, strict=True)
    ]
    best = max(scores)
    weights = [exp(score - best) for score in scores]
    total = sum(weights)
    return Noise(tuple(weight / total for weight in weights))


def day_correlation(spread: float, deviation: float) -> float:
    """Intra-class correlation of a day: lognormal odds of this deviation, on a share p with spread p (1 - p)."""
    return min(_MOST_DAY_CORRELATION, spread * expm1(deviation * deviation))


@cache
def _cell_masses(deviation: float) -> tuple[float, ...]:
    """Mass of each cell under log-odds that are normal with this deviation, centred so that the odds have mean 1."""
    normal = NormalDist(-deviation * deviation / 2, max(0.001, deviation))
    below = [0.0, *(normal.cdf(cell + _CELL / 2) for cell in _CELLS[:-1]), 1.0]
    return tuple(b - a for a, b in pairwise(below))


def day_evidence(unknown: int, sessions: int, share: float, error: float) -> tuple[float, ...]:
    """Log-likelihood of each of DAY_NOISES, up to a constant, by a day of a caller with this share of this variance."""
    size = 1 / bounded(error / (share * (1 - share))) - 1
    odds = share / (1 - share)
    scores = []
    for factor in _CELL_FACTORS:
        shifted = odds * factor / (1 + odds * factor)
        scores.append(log_beta_binomial_odds(unknown, sessions, shifted * size, (1 - shifted) * size))
    best = max(scores)
    likelihood = [exp(score - best) for score in scores]
    return tuple(
        log(sum(mass * each for mass, each in zip(_cell_masses(noise), likelihood, strict=True)) + _NEGLIGIBLE)
        for noise in DAY_NOISES
    )


def bounded(correlation: float) -> float:
    """An intra-class correlation that a beta distribution can have without loss of digits."""
    return min(_MOST_CORRELATION, max(_LEAST_CORRELATION, correlation))


NOISE_GAP = 14
"""Days after which a day counts as evidence of noise."""
_STRATUM_GROUPS, _STRATUM_SESSIONS = 40.0, 20.0
"""Weight of the whole week's share in that of weekdays or weekends, in groups and sessions."""
_WEAKEST, _STRONGEST = 5.0, 200.0
"""Bounds of the fleet's weight in a caller's share, in trials."""
_LEAST_SUCCESSES = 0.5
"""Unknown ones that the fleet's prior is worth at least: with less it would all but rule out what it has not seen."""


class Counts(NamedTuple):
    """One day of one caller."""

    groups: int
    unknown_groups: int
    sessions: int
    unknown_sessions: int


_NOBODY: Mapping[Counts, int] = {}


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


_NO_DAY = Counts(0, 0, 0, 0)


class Sums(NamedTuple):
    """The counts of some days."""

    weekdays: Counts = _NO_DAY
    weekends: Counts = _NO_DAY
    squares: int = 0
    """The sum of the squares of each day's sessions."""

    @property
    def whole(self) -> Counts:
        """All days together."""
        return add((self.weekdays, self.weekends))

    def with_day(self, day: int, counts: Counts) -> Sums:
        """Those of one day more."""
        squares = self.squares + counts.sessions * counts.sessions
        if is_weekend(day):
            return Sums(self.weekdays, add((self.weekends, counts)), squares)
        return Sums(add((self.weekdays, counts)), self.weekends, squares)

    def without(self, other: Sums) -> Sums:
        """Those that are left without others that are part of them."""
        weekdays = Counts(*map(sub, self.weekdays, other.weekdays))
        weekends = Counts(*map(sub, self.weekends, other.weekends))
        return Sums(weekdays, weekends, self.squares - other.squares)


_NOTHING = Sums()


@dataclass(slots=True)
class History:
    """The days of one caller so far, without those that belong to incidents."""

    days: dict[int, Counts] = field(default_factory=dict)
    """By proleptic ordinal."""
    excluded: set[int] = field(default_factory=set)
    since: int = 0
    """Days before it are no part of the baseline: another level was accepted."""
    noise_evidence: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """By day: log-likelihood of each of DAY_NOISES."""
    noise_total: list[float] = field(default_factory=lambda: [0.0] * len(DAY_NOISES))
    """The sum over the days that were old enough."""
    _uncounted: list[int] = field(default_factory=list)
    """Days of `noise_evidence` that are not counted yet, in order."""
    _order: list[int] = field(default_factory=list)
    """The days, in order."""
    _running: list[Sums] = field(default_factory=lambda: [_NOTHING])
    """The sums of the days of the baseline before each of `_order`, as far as they were needed."""

    def add(self, day: int, counts: Counts) -> None:
        """Appends a day, which is later than all the others."""
        self.days[day] = counts
        self._order.append(day)

    def between(self, first: int, last: int) -> Sums:
        """The sums of the days of the baseline within both ends."""
        begin, end = bisect_left(self._order, max(first, self.since)), bisect_right(self._order, last)
        if begin >= end:
            return _NOTHING
        running = self._running
        for day in self._order[len(running) - 1 : end]:
            running.append(running[-1] if day in self.excluded else running[-1].with_day(day, self.days[day]))
        return running[end].without(running[begin])

    def exclude(self, day: int) -> None:
        """Removes a day from the baseline, and its evidence of noise."""
        self.excluded.add(day)
        self._forget_sums(day)
        evidence = self.noise_evidence.pop(day, None)
        if day in self._uncounted:
            self._uncounted.remove(day)
        elif evidence is not None:
            self.noise_total = [total - part for total, part in zip(self.noise_total, evidence, strict=True)]

    def include(self, days: range) -> None:
        """Takes days into the baseline again."""
        self.excluded.difference_update(days)
        self._forget_sums(days.start)

    def _forget_sums(self, day: int) -> None:
        del self._running[bisect_left(self._order, day) + 1 :]

    def forget(self, before: int) -> None:
        """Lets go of what is known of the days before one, but for their evidence of noise, which is counted."""
        self.days = {day: counts for day, counts in self.days.items() if day >= before}
        self.noise_evidence = {day: known for day, known in self.noise_evidence.items() if day >= before}
        self.excluded = {day for day in self.excluded if day >= before}
        self._order, self._running = list(self.days), [_NOTHING]

    def count_noise(self, day: int) -> None:
        """Counts the evidence of days that are old enough today: the first days of a drift must not pass for noise."""
        while self._uncounted and self._uncounted[0] <= day - NOISE_GAP:
            evidence = self.noise_evidence[self._uncounted.pop(0)]
            self.noise_total = [total + part for total, part in zip(self.noise_total, evidence, strict=True)]

    def learn_noise(self, day: int, level: Level) -> None:
        """Keeps the likelihood of a day under each of DAY_NOISES, for `count_noise` to count later."""
        counts = self.days[day]
        self.noise_evidence[day] = day_evidence(
            counts.unknown_sessions, counts.sessions, level.session_share, level.session_error
        )
        self._uncounted.append(day)


class Prior(NamedTuple):
    """The expectation for a caller without a history: Beta distributions, as pseudo-counts (unknown, other)."""

    groups: tuple[float, float]
    sessions: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Level:
    """The shares that are expected of a day or a span."""

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
    sums = history.between(first, last)
    _, unknown, sessions, unknown_sessions = sums.whole
    strata = sums.weekdays, sums.weekends
    group = _stratified([(s[1], s[0]) for s in strata], weekend, prior.groups, _STRATUM_GROUPS)
    session = _stratified([(s[3], s[2]) for s in strata], weekend, prior.sessions, _STRATUM_SESSIONS)
    squares = sums.squares
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


def fresh_evidence(day: int, counts: Counts, prior: Prior) -> tuple[float, ...]:
    """The evidence of noise in a caller's first day, as in `learn_noise`, with the fleet as the only expectation."""
    expected = level(History(), day, day - 1, float(is_weekend(day)), prior)
    return day_evidence(counts.unknown_sessions, counts.sessions, expected.session_share, expected.session_error)


def fleet_prior(totals: Sequence[Counts], crowd: Mapping[Counts, int] = _NOBODY) -> Prior:
    """Beta priors by the method of moments over callers (Kleinman 1973), their weight held within bounds.

    `crowd` has further callers: how many there are with such totals.
    """
    return Prior(
        _beta(
            [(each.unknown_groups, each.groups) for each in totals],
            [(each.unknown_groups, each.groups, times) for each, times in crowd.items()],
        ),
        _beta(
            [(each.unknown_sessions, each.sessions) for each in totals],
            [(each.unknown_sessions, each.sessions, times) for each, times in crowd.items()],
        ),
    )


def _beta(seen: Sequence[tuple[int, int]], crowd: Sequence[tuple[int, int, int]]) -> tuple[float, float]:
    callers = len(seen) + sum(times for *_, times in crowd)
    trials = sum(n for _, n in seen) + sum(n * times for _, n, times in crowd)
    if trials < 20:
        return 0.5, 0.5
    mean = (sum(k for k, _ in seen) + sum(k * times for k, _, times in crowd) + 0.5) / (trials + 1)
    weight = _WEAKEST
    if callers >= 3:
        distance = sum((k / n - mean) ** 2 * n for k, n in seen)
        distance += sum((k / n - mean) ** 2 * n * times for k, n, times in crowd)
        excess = distance / (mean * (1 - mean)) - (callers - 1)
        squares = sum(n * n for _, n in seen) + sum(n * n * times for _, n, times in crowd)
        exposure = trials - squares / trials
        correlation = max(1e-6, excess / exposure) if exposure > 0 else 1.0
        weight = min(_STRONGEST, max(_WEAKEST, 1 / correlation - 1))
    weight = max(weight, _LEAST_SUCCESSES / mean)
    return mean * weight, (1 - mean) * weight
