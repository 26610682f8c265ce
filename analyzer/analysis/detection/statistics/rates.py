"""Counts against exposure: how many of something a day or a span of days has, beside what the days before it had.

The rate of a day has a gamma distribution around that of the days alike (weekdays or weekends, shrunk to all days),
with the squared coefficient of variation of the baseline days; the predictive is a negative binomial (Greenwood & Yule
1920).

Stretches of days that are held against each other are found here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS
from analyzer.analysis.detection.statistics.tails import (
    beta_binomial_tail,
    negative_binomial_lower,
    negative_binomial_tail,
    negative_binomial_upper,
)

MIN_DAYS = 7
"""Days of baseline below which nothing is said."""
MIN_DAYS_OF_SHARES = 5
"""The same of counts that are a part of the exposure: a share cannot be as far off."""
_PRIOR_DISPERSION = 0.1
"""Squared coefficient of variation that a daily rate has where the days are too few to tell."""
_PRIOR_KNOWN = 25.0
"""One over the variance that it has from one name to another."""
_MOST_KNOWN = 100.0
"""The same that days can say of it at most: the next ones may differ more than they did."""
STRATUM_DAYS = 5
"""Days of the whole week that weigh as much as what is known of weekdays, or of weekends, alone."""


_MOST_SHARE = 0.95
"""Expected part of the exposure from which on a count that is a part of it is not told from one that is not."""
_MOST_CORRELATION = 0.9


class CountedDay(NamedTuple):
    """One day of what is counted."""

    day: int
    """Proleptic ordinal."""
    number: int
    exposure: float
    """What the count grows with, such as sessions; the same unit throughout."""


class RateTail(NamedTuple):
    """What a baseline says of a span."""

    p_value: float
    """P(as many or more), had nothing changed."""
    expected: float
    high: float
    """The count that is exceeded in 2.5 % of cases."""


class _Baseline(NamedTuple):
    """The days before a span, and what they lead one to expect of it."""

    days: list[CountedDay]
    total: int
    rate: float
    expected: float


def is_weekend(day: int) -> bool:
    """Whether a day (proleptic ordinal) is a Saturday or a Sunday."""
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
    """The tail of the counts of a span, in order of days; None with too little history.

    None also where the span has less than `ratio` times what is expected.

    The baseline is what `history` holds of the days up to `gap` days before the last one of the span. `prior` is
    added to its number: days without any do not prove that there are none. `bounded` are counts that are a part of the
    exposure, such as the sessions that failed: then the count is beta-binomial, of the same mean and dispersion.
    """
    base = _baseline(history, span, gap, prior)
    count = sum(each.number for each in span)
    if base is None or count < ratio * base.expected or (not bounded and len(base.days) < MIN_DAYS):
        return None
    shape = _shape(base, span, prior)
    success = shape / (shape + base.expected)
    high = float(negative_binomial_upper(shape, success))
    trials = round(sum(each.exposure for each in span))
    share = base.expected / trials if bounded and trials else 1.0
    if not bounded or count > trials or share >= _MOST_SHARE:
        return RateTail(negative_binomial_tail(count, shape, success), base.expected, high)
    correlation = min(_MOST_CORRELATION, share / (shape * (1 - share)))
    return RateTail(beta_binomial_tail(count, trials, share, correlation), base.expected, min(high, float(trials)))


def rate_fall(history: Sequence[CountedDay], span: Sequence[CountedDay], gap: int = 1) -> tuple[float, float] | None:
    """P(as many or fewer) of the counts of a span, and what is expected of it; else as `rate_tail`."""
    base = _baseline(history, span, gap, 0.5)
    if base is None or len(base.days) < MIN_DAYS:
        return None
    shape = _shape(base, span, 0.5)
    count = sum(each.number for each in span)
    return negative_binomial_lower(count, shape, shape / (shape + base.expected)), base.expected


def _baseline(history: Sequence[CountedDay], span: Sequence[CountedDay], gap: int, prior: float) -> _Baseline | None:
    last = span[-1].day
    first = last - BASELINE_DAYS - gap + 1
    days = [each for each in history if first <= each.day <= last - gap and each.exposure > 0]
    exposure = sum(each.exposure for each in span)
    if len(days) < MIN_DAYS_OF_SHARES or exposure <= 0:
        return None
    total, whole = sum(each.number for each in days), sum(each.exposure for each in days)
    rate = (total + prior) / whole
    weight = STRATUM_DAYS * whole / len(days)
    expected = 0.0
    for weekend in (False, True):
        own = sum(each.exposure for each in span if is_weekend(each.day) == weekend)
        if own:
            alike = [each for each in days if is_weekend(each.day) == weekend]
            share = sum(each.number for each in alike) + weight * rate
            expected += own * share / (sum(each.exposure for each in alike) + weight)
    return _Baseline(days, total, rate, expected)


def _shape(base: _Baseline, span: Sequence[CountedDay], prior: float) -> float:
    """The shape of the negative binomial around what is expected."""
    days, total, rate, _ = base
    means = [rate * each.exposure for each in days]
    excess = sum((each.number - mean) ** 2 - mean for each, mean in zip(days, means, strict=True))
    spread = max(0.0, excess / sum(mean * mean for mean in means)) * len(days) / max(1, len(days) - 1)
    # Days with hardly any counts say next to nothing of it: the estimate's own variance is 2 / (days * mean ** 2).
    known = min(_MOST_KNOWN, sum(mean * mean for mean in means) / 2)
    dispersion = (known * spread + _PRIOR_KNOWN * _PRIOR_DISPERSION) / (known + _PRIOR_KNOWN)
    # The baseline is an estimate, too.
    estimate = (1 + dispersion * total / len(days)) / (total + prior)
    # Days of a span that differ by themselves level each other out.
    evenness = sum(each.exposure**2 for each in span) / sum(each.exposure for each in span) ** 2
    return 1 / (dispersion * evenness + estimate)


def every_day(rows: pl.DataFrame, unit: Sequence[str], back: int) -> pl.DataFrame:
    """The rows and all other days of their unit's span, from `back` days before it on; their values are null.

    `rows` has `day`, and one row at most for a day of a unit.
    """
    spans = rows.group_by(unit).agg(pl.col("day").min().alias("first"), pl.col("day").max().alias("last"))
    days = pl.date_ranges(pl.col("first").dt.offset_by(f"-{back}d"), pl.col("last"))
    every = spans.select(*unit, day=days).explode("day")
    return every.join(rows, on=[*unit, "day"], how="left", maintain_order="left")


def running(*columns: str) -> Iterable[pl.Expr]:
    """The running sums that `stretch` takes; none of the columns holds a null."""
    return (pl.col(name).cum_sum().alias(f"{name}_so_far") for name in columns)


def stretch(column: str, first: int, last: int) -> pl.Expr:
    """The sum of a column over the days from `first` to `last` days before that of a row, both of them included."""
    so_far = pl.col(f"{column}_so_far")
    return so_far.shift(last, fill_value=0) - so_far.shift(first + 1, fill_value=0)
