"""Compute tail probabilities and quantiles, accurate far out, only with `math`.

Tails are summed from the observed value away from the mean, never taken as 1 - cdf, so small ones
keep their digits.
"""

from __future__ import annotations

import math
from math import exp, lgamma, log
from statistics import NormalDist
from sys import float_info

_NORMAL = NormalDist()
_LARGE = 20_000
"""Mean of a count from which its upper quantile is approximated, not summed."""
_LEAST_LOG = -700.0
_NEGLIGIBLE = 1e-17
_LEAST_EXPECTED = 5
"""Least expected sessions in each cell of a table of two shares for the chi-square test; else
Fisher's."""


def log_beta_binomial_odds(k: int, n: int, a: float, b: float) -> float:
    """Return log(B(k + a, n - k + b) / B(a, b)): a beta-binomial without its coefficient."""
    return lgamma(k + a) + lgamma(n - k + b) - lgamma(n + a + b) - lgamma(a) - lgamma(b) + lgamma(a + b)


def log_binomial_coefficient(n: float, k: float) -> float:
    """Return the log of n over k."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def beta_binomial_tail(k: int, n: int, share: float, correlation: float) -> float:
    """Return P(X >= k) of a beta-binomial over n trials.

    `share` is its mean share and `correlation` its intra-class correlation, both in (0, 1).
    The terms follow from each other by the ratio (n-j)(j+a) / ((j+1)(n-j-1+b)) (Johnson, Kemp &
    Kotz 2005, 6.9.2).
    """
    if k <= 0:
        return 1.0
    if k > n:
        return 0.0
    size = 1 / correlation - 1
    a = share * size
    b = size - a
    term = exp(log_binomial_coefficient(n, k) + log_beta_binomial_odds(k, n, a, b))
    total = 0.0
    rising = k < share * n
    for j in range(k, n + 1):
        total += term
        if not rising and term < _NEGLIGIBLE * total and (n - j) * term < _NEGLIGIBLE * total:
            break
        if j < n:
            ratio = (n - j) * (j + a) / ((j + 1) * (n - j - 1 + b))
            rising = ratio > 1
            term *= ratio
    return min(1.0, total)


def negative_binomial_tail(k: int, shape: float, success: float) -> float:
    """Return P(X >= k) for X failures before the shape-th success of probability `success`.

    `success` is in (0, 1). It is the predictive of a Poisson count whose rate has a gamma
    distribution (Greenwood & Yule 1920).
    """
    if k <= 0:
        return 1.0
    failure = 1 - success
    if k <= shape * failure / success:
        # Left of the mean the short side is below k, and 1 - cdf loses nothing.
        return max(0.0, 1.0 - sum(_negative_binomial(j, shape, success) for j in range(k)))
    term = _negative_binomial(k, shape, success)
    if term < float_info.min:
        return 0.0  # subnormal numbers round to themselves, so their series would not end
    total = 0.0
    j = k
    while term > _NEGLIGIBLE * total:
        total += term
        term *= failure * (j + shape) / (j + 1)
        j += 1
    # The rest is less than a geometric series of the last ratio.
    return min(1.0, total)


def negative_binomial_lower(k: int, shape: float, success: float) -> float:
    """Return P(X <= k) of the variable of `negative_binomial_tail`."""
    return min(1.0, sum(_negative_binomial(j, shape, success) for j in range(k + 1)))


def negative_binomial_upper(shape: float, success: float, exceeded: float = 0.025) -> int:
    """Return the least count exceeded with at most this probability; approximate if large."""
    mean = shape * (1 - success) / success
    first = shape * log(success)
    if mean > _LARGE or first < _LEAST_LOG:
        # Summing up to there would take long, or begin with a number too small for a float. The
        # rate is a gamma variable, whose cube root is nearly normal (Wilson & Hilferty 1931).
        root = 1 - 1 / (9 * shape) + _NORMAL.inv_cdf(1 - exceeded) / (3 * math.sqrt(shape))
        return math.ceil(mean * root**3)
    count, total, term = 0, 0.0, exp(first)
    while True:
        total += term
        if 1 - total <= exceeded:
            return count
        term *= (1 - success) * (count + shape) / (count + 1)
        count += 1


def _negative_binomial(k: int, shape: float, success: float) -> float:
    return exp(lgamma(k + shape) - lgamma(k + 1) - lgamma(shape) + shape * log(success) + k * math.log1p(-success))


def wilson_interval(share: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the score interval of a share of trials (Wilson 1927; Brown, Cai & DasGupta 2001)."""
    if trials <= 0:
        return 0.0, 1.0
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    shrunk = trials / (trials + z * z)
    middle = shrunk * share + (1 - shrunk) / 2
    half = shrunk * z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def false_discovery(p_values: list[float]) -> list[float]:
    """Return the q-value of each p-value, in their order (Benjamini & Hochberg 1995)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    q_values = [1.0] * len(p_values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        least = min(least, p_values[index] * len(order) / rank)
        q_values[index] = least
    return q_values


def chance_of_shares(hits: int, total: int, later: int, whole: int) -> float:
    """Return the chance that two shares differ so much if nothing had changed.

    The N-1 chi-square test (Campbell 2007); for few hits Fisher's exact test.
    """
    size, both = total + whole, hits + later
    if min(both, size - both) * min(total, whole) / size < _LEAST_EXPECTED:
        return _fisher(hits, total, later, whole)
    pooled = both / size
    spread = math.sqrt(pooled * (1 - pooled) * (1 / total + 1 / whole) * size / (size - 1))
    return two_sided((later / whole - hits / total) / spread)


def _fisher(hits: int, total: int, later: int, whole: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of two shares."""
    both = hits + later
    logs = [
        log_binomial_coefficient(total, count) + log_binomial_coefficient(whole, both - count)
        for count in range(max(0, both - whole), min(both, total) + 1)
    ]
    most = log_binomial_coefficient(total + whole, both)
    seen = logs[hits - max(0, both - whole)]
    return min(1.0, sum(exp(value - most) for value in logs if value <= seen + 1e-9))


def two_sided(z: float) -> float:
    """Return the chance of a standard normal value at least as far from zero."""
    return math.erfc(abs(z) / math.sqrt(2))
