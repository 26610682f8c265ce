"""Tail probabilities and quantiles, accurate far out, with nothing but `math`.

Tails are summed from the observed value away from the mean, never taken as 1 - cdf, so small ones keep their digits.
"""

from __future__ import annotations

import math
from math import exp, lgamma, log
from statistics import NormalDist
from sys import float_info

_NORMAL = NormalDist()
_LARGE = 20_000
"""Mean of a count from which on its upper end is not added up."""
_LEAST_LOG = -700.0
_NEGLIGIBLE = 1e-17
_LEAST_EXPECTED = 5
"""Sessions that a share must have on average in each cell for the test of it to be more than an approximation."""


def log_beta_binomial_odds(k: int, n: int, a: float, b: float) -> float:
    """Log of B(k + a, n - k + b) / B(a, b): the beta-binomial probability of k of n without its coefficient."""
    return lgamma(k + a) + lgamma(n - k + b) - lgamma(n + a + b) - lgamma(a) - lgamma(b) + lgamma(a + b)


def log_binomial_coefficient(n: float, k: float) -> float:
    """Log of n over k."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def beta_binomial_tail(k: int, n: int, share: float, correlation: float) -> float:
    """P(X >= k) of a beta-binomial over n trials with this mean share and intra-class correlation, both in (0, 1).

    The terms follow from each other by the ratio (n-j)(j+a) / ((j+1)(n-j-1+b)) (Johnson, Kemp & Kotz 2005, 6.9.2).
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
    """P(X >= k), X the failures before the shape-th success, each of probability `success` in (0, 1).

    It is the predictive of a Poisson count whose rate has a gamma distribution (Greenwood & Yule 1920).
    """
    if k <= 0:
        return 1.0
    failure = 1 - success
    if k <= shape * failure / success:
        # Left of the mean the short side is below k, and 1 - cdf loses nothing.
        return max(0.0, 1.0 - sum(_negative_binomial(j, shape, success) for j in range(k)))
    term = _negative_binomial(k, shape, success)
    if term < float_info.min:
        return 0.0  # the least numbers are rounded back to themselves: their series would not end
    total = 0.0
    j = k
    while term > _NEGLIGIBLE * total:
        total += term
        term *= failure * (j + shape) / (j + 1)
        j += 1
    # What is left is less than a geometric series of the last ratio.
    return min(1.0, total)


def negative_binomial_lower(k: int, shape: float, success: float) -> float:
    """P(X <= k) of the same variable."""
    return min(1.0, sum(_negative_binomial(j, shape, success) for j in range(k + 1)))


def negative_binomial_upper(shape: float, success: float, exceeded: float = 0.025) -> int:
    """The least count that is exceeded with a probability of at most `exceeded`; of large counts nearly that."""
    mean = shape * (1 - success) / success
    first = shape * log(success)
    if mean > _LARGE or first < _LEAST_LOG:
        # Adding up to there takes long, or begins with less than any number that a machine has. The rate is a gamma
        # variable, whose cube root is nearly normal (Wilson & Hilferty 1931).
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
    """Score interval of a share seen in (effectively) so many trials (Wilson 1927; Brown, Cai & DasGupta 2001)."""
    if trials <= 0:
        return 0.0, 1.0
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    shrunk = trials / (trials + z * z)
    middle = shrunk * share + (1 - shrunk) / 2
    half = shrunk * z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def false_discovery(p_values: list[float]) -> list[float]:
    """Q-values in the order given: the least false discovery rate at which each counts (Benjamini & Hochberg 1995)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    q_values = [1.0] * len(p_values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        least = min(least, p_values[index] * len(order) / rank)
        q_values[index] = least
    return q_values


def chance_of_shares(hits: int, total: int, later: int, whole: int) -> float:
    """The chance that two shares differ so much, had nothing changed.

    N-1 chi-square (Campbell 2007), of few hits Fisher's exact test.
    """
    size, both = total + whole, hits + later
    if min(both, size - both) * min(total, whole) / size < _LEAST_EXPECTED:
        return _fisher(hits, total, later, whole)
    pooled = both / size
    spread = math.sqrt(pooled * (1 - pooled) * (1 / total + 1 / whole) * size / (size - 1))
    return two_sided((later / whole - hits / total) / spread)


def _fisher(hits: int, total: int, later: int, whole: int) -> float:
    """Fisher's exact test of two shares, two-sided: all tables that are no likelier than the one at hand."""
    both = hits + later
    logs = [
        log_binomial_coefficient(total, count) + log_binomial_coefficient(whole, both - count)
        for count in range(max(0, both - whole), min(both, total) + 1)
    ]
    most = log_binomial_coefficient(total + whole, both)
    seen = logs[hits - max(0, both - whole)]
    return min(1.0, sum(exp(each - most) for each in logs if each <= seen + 1e-9))


def two_sided(z: float) -> float:
    """The chance of a standard normal value at least as far from zero."""
    return math.erfc(abs(z) / math.sqrt(2))
