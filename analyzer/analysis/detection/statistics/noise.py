"""Day noise: how much the days of a caller differ by themselves, learned from the days so far.

The log-odds of a day are normal around their level. Their tail is heavier than that of a beta distribution of the same
variance, which is what a caller of many sessions shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, expm1, log, log1p, sqrt
from statistics import NormalDist

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
    heard = _FLEET_WEIGHT * min(other_callers, _FLEET_CALLERS) / other_callers if other_callers else 0.0
    scores = [log(prior) + mine + heard * theirs for prior, mine, theirs in zip(_NOISE_PRIOR, own, others, strict=True)]
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
