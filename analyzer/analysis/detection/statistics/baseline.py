"""The unknown share that a caller's earlier days and the fleet lead one to expect, and how certain it is.

Sessions are the unit: given the day, whether one session shows an unknown error says nothing of another. Groups
(distinct pairs of session and template) cluster in sessions and are corrected for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import sub
from typing import NamedTuple

from analyzer.analysis.detection.statistics.noise import DAY_NOISES, day_evidence

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
    _unheard: list[int] = field(default_factory=list)
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
        if day in self._unheard:
            self._unheard.remove(day)
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

    def hear_noise(self, day: int) -> None:
        """Counts the evidence of days that are old enough today: the first days of a drift must not pass for noise."""
        while self._unheard and self._unheard[0] <= day - NOISE_GAP:
            evidence = self.noise_evidence[self._unheard.pop(0)]
            self.noise_total = [total + part for total, part in zip(self.noise_total, evidence, strict=True)]

    def learn_noise(self, day: int, level: Level) -> None:
        """Keeps the likelihood of a day under each of DAY_NOISES, for `hear_noise` to count later."""
        counts = self.days[day]
        self.noise_evidence[day] = day_evidence(
            counts.unknown_sessions, counts.sessions, level.session_share, level.session_error
        )
        self._unheard.append(day)


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
