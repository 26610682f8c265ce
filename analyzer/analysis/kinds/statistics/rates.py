"""Compare the counts per exposure of a day, or of a span of days, with those of the days before.

The rate of a day has a gamma distribution around that of the days alike (weekdays or weekends,
shrunk to all days), with the squared coefficient of variation of the baseline days; the predictive
is a negative binomial (Greenwood & Yule 1920).

The module also has the running sums from which stretches of days are summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from analyzer.analysis.kinds.statistics.tails import (
    beta_binomial_tail,
    negative_binomial_lower,
    negative_binomial_tail,
    negative_binomial_upper,
)
from analyzer.analysis.periods import BASELINE_DAYS

MIN_DAYS = 7
"""Least days of baseline for a test."""
MIN_DAYS_OF_SHARES = 5
"""The same for counts that are a part of the exposure: a share cannot be as far off."""
_PRIOR_DISPERSION = 0.1
"""Squared coefficient of variation assumed of a daily rate if the days are too few to estimate
it."""
_PRIOR_KNOWN = 25.0
"""Weight of that assumption: one over its variance between names."""
_MOST_KNOWN = 400.0
"""Most weight of the estimate from the days: the next days may differ more than they did."""
STRATUM_COUNT = 3.0
"""Count at the rate of the whole week that is added to that of weekdays, or of weekends: with few
counts nobody can tell their rates apart."""
_ALIKE = 0.5
"""Power of the evenness of days with errors: the mood of a provider or network lasts for days."""
_MOST_SHARE = 0.95
"""Expected part of the exposure from which a bounded count is treated as an unbounded one."""
_MOST_CORRELATION = 0.9


class CountedDay(NamedTuple):
    """The count and the exposure of one day."""

    day: int
    """Proleptic ordinal."""
    number: int
    exposure: float
    """What the count grows with, such as sessions; in the same unit for all days."""


class RateTail(NamedTuple):
    """The expectation that a baseline gives for a span."""

    p_value: float
    """P(as many or more) if nothing had changed."""
    expected: float
    high: float
    """The count that is exceeded in 2.5 % of cases."""


class _Baseline(NamedTuple):
    """The days before a span, and the count that they predict for it."""

    days: list[CountedDay]
    total: int
    rates: dict[bool, float]
    """Counts per exposure of weekdays (False) and weekends (True)."""
    expected: float


def is_weekend(day: int) -> bool:
    """Return whether a day (proleptic ordinal) is a Saturday or a Sunday."""
    return (day - 1) % 7 >= 5


def rate_tail(
    history: Sequence[CountedDay],
    span: Sequence[CountedDay],
    gap: int = 1,
    prior: float = 0.5,
    ratio: float = 0.0,
    *,
    bounded: bool = False,
) -> RateTail | None:
    """Return the upper tail of a span's counts, in order of days; None with too little history.

    The result is None too if the span has less than `ratio` times the expected count.

    The baseline is the days of `history` up to `gap` days before the last day of the span. `prior`
    is added to its number: days without any do not prove that there are none. With `bounded`,
    counts are a part of the exposure, such as the sessions that failed: then the count is
    beta-binomial, with the same mean and dispersion.
    """
    base = _baseline(history, span, gap, prior)
    count = sum(counted.number for counted in span)
    if base is None or count < ratio * base.expected or (not bounded and len(base.days) < MIN_DAYS):
        return None
    shape = _shape(base, span, prior, _ALIKE)
    success = shape / (shape + base.expected)
    high = float(negative_binomial_upper(shape, success))
    trials = round(sum(counted.exposure for counted in span))
    share = base.expected / trials if bounded and trials else 1.0
    if not bounded or count > trials or share >= _MOST_SHARE:
        return RateTail(negative_binomial_tail(count, shape, success), base.expected, high)
    correlation = min(_MOST_CORRELATION, share / (shape * (1 - share)))
    return RateTail(beta_binomial_tail(count, trials, share, correlation), base.expected, min(high, float(trials)))


def rate_fall(
    history: Sequence[CountedDay], span: Sequence[CountedDay], gap: int = 1, doubt: float = 0.0
) -> tuple[float, float] | None:
    """Return P(as many or fewer) of a span's counts and the expected count; see `rate_tail`.

    `doubt` is the squared coefficient of variation of the span's exposure, if that is only estimated.
    """
    base = _baseline(history, span, gap, 0.5)
    if base is None or len(base.days) < MIN_DAYS:
        return None
    shape = 1 / (1 / _shape(base, span, 0.5, 1.0) + doubt)
    count = sum(counted.number for counted in span)
    return negative_binomial_lower(count, shape, shape / (shape + base.expected)), base.expected


def _baseline(history: Sequence[CountedDay], span: Sequence[CountedDay], gap: int, prior: float) -> _Baseline | None:
    last = span[-1].day
    first = last - BASELINE_DAYS - gap + 1
    days = [counted for counted in history if first <= counted.day <= last - gap and counted.exposure > 0]
    exposure = sum(counted.exposure for counted in span)
    if len(days) < MIN_DAYS_OF_SHARES or exposure <= 0:
        return None
    total, whole = sum(counted.number for counted in days), sum(counted.exposure for counted in days)
    weight = STRATUM_COUNT * whole / (total + prior)
    rates: dict[bool, float] = {}
    for weekend in (False, True):
        alike = [counted for counted in days if is_weekend(counted.day) == weekend]
        number = sum(counted.number for counted in alike) + STRATUM_COUNT
        rates[weekend] = number / (sum(counted.exposure for counted in alike) + weight)
    expected = sum(rates[is_weekend(counted.day)] * counted.exposure for counted in span)
    return _Baseline(days, total, rates, expected)


def _shape(base: _Baseline, span: Sequence[CountedDay], prior: float, alike: float) -> float:
    """Return the shape of the negative binomial around the expected count.

    `alike` is the power of a span's evenness by which the deviations of its days cancel each other:
    1 if they are independent.
    """
    days, total, rates, _ = base
    # Around the means that the forecast uses: around one mean, the weekly cycle would count as noise.
    means = [rates[is_weekend(counted.day)] * counted.exposure for counted in days]
    excess = sum((counted.number - mean) ** 2 - mean for counted, mean in zip(days, means, strict=True))
    spread = max(0.0, excess / sum(mean * mean for mean in means)) * len(days) / max(1, len(days) - 1)
    # Days with few counts hardly tell the spread: its estimate has the variance
    # 2 / (days * mean ** 2).
    weight = min(_MOST_KNOWN, sum(mean * mean for mean in means) / 2)
    dispersion = (weight * spread + _PRIOR_KNOWN * _PRIOR_DISPERSION) / (weight + _PRIOR_KNOWN)
    # The baseline is an estimate, too.
    estimate = (1 + dispersion * total / len(days)) / (total + prior)
    evenness = sum(counted.exposure**2 for counted in span) / sum(counted.exposure for counted in span) ** 2
    return float(1 / (dispersion * evenness**alike + estimate))


def every_day(rows: pl.DataFrame, unit: Sequence[str], back: int) -> pl.DataFrame:
    """Add rows of nulls for all other days of a unit's span and the `back` days before it.

    `rows` has `day`, and at most one row for a day of a unit.
    """
    spans = rows.group_by(unit).agg(pl.col("day").min().alias("first"), pl.col("day").max().alias("last"))
    days = pl.date_ranges(pl.col("first").dt.offset_by(f"-{back}d"), pl.col("last"))
    days_of_units = spans.select(*unit, day=days).explode("day")
    return days_of_units.join(rows, on=[*unit, "day"], how="left", maintain_order="left")


def running(*columns: str) -> Iterable[pl.Expr]:
    """Return the running sums that `stretch` takes; the columns must not hold nulls."""
    return (pl.col(name).cum_sum().alias(f"{name}_so_far") for name in columns)


def stretch(column: str, first: int, last: int) -> pl.Expr:
    """Sum a column over the days from `first` to `last` days before a row's day, both included."""
    so_far = pl.col(f"{column}_so_far")
    return so_far.shift(last, fill_value=0) - so_far.shift(first + 1, fill_value=0)
