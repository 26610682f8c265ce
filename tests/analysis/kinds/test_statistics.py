"""The tails, quantiles and corrections, held against scipy and against exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.analysis.kinds.statistics.tails import (
    beta_binomial_tail,
    false_discovery,
    negative_binomial_tail,
    negative_binomial_upper,
    wilson_interval,
)
from tests import Lazy, each_row

stats = Lazy("scipy.stats")


def _exact_beta_binomial_tail(k: int, n: int, a: Fraction, b: Fraction) -> Fraction:
    def rising(base: Fraction, steps: int) -> Fraction:
        product = Fraction(1)
        for step in range(steps):
            product *= base + step
        return product

    whole = rising(a + b, n)
    return sum((math.comb(n, j) * rising(a, j) * rising(b, n - j) / whole for j in range(k, n + 1)), Fraction(0))


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("n", [1, 7, 40, 150])
@each_row("share, correlation", [("1/33", "1/50"), ("1/10", "1/6"), ("1/2", "1/500"), ("2/3", "1/3")])
def test_the_beta_binomial_tail_keeps_nine_digits_however_far_out(n: int, share: str, correlation: str) -> None:
    """Against sums of exact fractions, where scipy's 1 - cdf has lost everything."""
    size = 1 / Fraction(correlation) - 1
    a = Fraction(share) * size
    for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
        exact = float(_exact_beta_binomial_tail(k, n, a, size - a))
        assert beta_binomial_tail(k, n, float(Fraction(share)), float(Fraction(correlation))) == pytest.approx(
            exact, rel=1e-9
        )


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@given(n=st.integers(1, 400), share=st.floats(0.01, 0.9), correlation=st.floats(0.001, 0.5), data=st.data())
def test_the_beta_binomial_tail_agrees_with_scipy(
    n: int, share: float, correlation: float, data: st.DataObject
) -> None:
    """Wherever 1 - cdf still has digits."""
    k = data.draw(st.integers(0, n))
    size = 1 / correlation - 1
    theirs = stats.betabinom.sf(k - 1, n, share * size, (1 - share) * size)
    assert beta_binomial_tail(k, n, share, correlation) == pytest.approx(theirs, rel=1e-6, abs=1e-10)


@given(k=st.integers(0, 300), shape=st.floats(0.2, 50), success=st.floats(0.01, 0.99))
def test_the_negative_binomial_tail_agrees_with_scipy(k: int, shape: float, success: float) -> None:
    """On both sides of the mean, as far out as scipy keeps its digits."""
    theirs = stats.nbinom.sf(k - 1, shape, success)
    assert negative_binomial_tail(k, shape, success) == pytest.approx(theirs, rel=1e-8, abs=1e-60)


@each_row("k", [1, 5, 40, 120])
@each_row("success", [Fraction(1, 3), Fraction(9, 10)])
def test_the_negative_binomial_tail_keeps_nine_digits(k: int, success: Fraction) -> None:
    """With a shape of two, where P(X >= k) has a closed form: q^k (1 + k p)."""
    exact = float((1 - success) ** k * (1 + k * success))
    assert negative_binomial_tail(k, 2.0, float(success)) == pytest.approx(exact, rel=1e-9)


@given(shape=st.floats(0.2, 50), success=st.floats(0.01, 0.99))
def test_the_upper_count_is_the_least_that_is_rarely_exceeded(shape: float, success: float) -> None:
    """Its own tail is within the probability, that of one less is not."""
    upper = negative_binomial_upper(shape, success)
    assert negative_binomial_tail(upper + 1, shape, success) <= 0.025 + 1e-9
    assert upper == 0 or negative_binomial_tail(upper, shape, success) > 0.025 - 1e-9


@given(trials=st.integers(1, 5000), data=st.data())
def test_the_wilson_interval_agrees_with_scipy(trials: int, data: st.DataObject) -> None:
    """For whole counts; ours takes effective ones too."""
    seen = data.draw(st.integers(0, trials))
    theirs = stats.binomtest(seen, trials).proportion_ci(0.95, method="wilson")
    assert wilson_interval(seen / trials, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_q_values_agree_with_scipy(p_values: list[float]) -> None:
    """Benjamini-Hochberg, ties and order included."""
    assert false_discovery(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)))


@pytest.mark.parametrize("count", [1_000, 2_000, 5_000, 10**6])
def test_the_tail_of_a_count_beyond_all_bounds_is_told_at_once(count: int) -> None:
    """Where the terms are less than any number that a machine has in full, it is nothing."""
    assert 0.0 <= negative_binomial_tail(count, 0.9, 0.62) < 1e-200


def test_the_upper_end_of_a_large_count_is_near_the_exact_one() -> None:
    """Within two per cent; and where no machine has the first term, it is told all the same."""
    for shape, mean in ((2.0, 25_000.0), (40.0, 50_000.0), (500.0, 20_000.0)):
        success = shape / (shape + mean)
        exact = stats.nbinom.ppf(0.975, shape, success)
        assert negative_binomial_upper(shape, success) == pytest.approx(exact, rel=0.02)
    assert negative_binomial_upper(700.0, 700.0 / (700.0 + 1e6)) > 1e6
