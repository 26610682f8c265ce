"""The test of hand-offs to a fresh context: more of them than the same caller and step had on similar days before.

Hand-offs are counted against exposure, the sessions (or hours) that the caller was at work, given with the counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame
from analyzer.analysis.detection.settings import BASELINE_DAYS
from analyzer.analysis.detection.statistics.baseline import is_weekend
from analyzer.analysis.detection.statistics.tails import negative_binomial_tail, negative_binomial_upper

MIN_RELAYS = 3
MIN_RATIO = 1.5
MIN_DAYS = 7
"""Days of baseline below which nothing is said."""
_SHRINK_DAYS = 10.0
_PRIOR_DISPERSION = 0.1
"""Squared coefficient of variation that a daily rate has where the days are too few to tell."""

_Day = tuple[int, int, float]
"""Proleptic ordinal, relays, exposure."""


def relay_frequency(relays: pl.DataFrame, alpha: float = 0.001) -> pl.DataFrame:
    """Findings `relays`: a day of a caller and step with more hand-offs than its history allows.

    `relays`: one row a day, caller and step: columns `day`, `caller`, `step`, `relays`, `sessions` (with a hand-off),
    `most` (hand-offs of one session), `exposure` (above 0; the same unit throughout, such as sessions at work).
    `observed` and `expected` are hand-offs of the day; `scope` is the step.
    """
    found = relay_days(relays, alpha).filter(pl.col("found"))
    return frame(
        Detection(
            day=row["day"],
            caller=row["caller"],
            finding="relays",
            onset=row["day"],
            observed=float(row["relays"]),
            expected=row["expected"],
            low=0.0,
            high=row["high"],
            p_value=row["p_value"],
            q_value=row["p_value"],
            statistic=row["relays"] / row["expected"],
            sessions=row["sessions"],
            scope=row["step"],
            note=f"{row['relays']} relays, {row['expected']:.1f} expected, at most {row['most']} in one session",
        )
        for row in found.iter_rows(named=True)
    )


def relay_days(relays: pl.DataFrame, alpha: float = 0.001) -> pl.DataFrame:
    """Every day of each caller and step, with what the days before it lead one to expect; columns as `relay_frequency`.

    Beside them `p_value`, `expected` and `high` (all three null with too little history; see `rate_tail`), and `found`:
    whether the day is a finding.
    """
    judged: list[tuple[float | None, float | None, float | None, bool]] = []
    daily = relays.sort("caller", "step", "day")
    for _, rows in daily.group_by(["caller", "step"], maintain_order=True):
        history: list[_Day] = []
        for day, count, exposure, sessions in rows.select("day", "relays", "exposure", "sessions").iter_rows():
            today = (day.toordinal(), count, exposure)
            tail = rate_tail(history, today)
            found = False
            if tail is not None:
                p_value, expected, _ = tail
                found = p_value <= alpha and count >= max(MIN_RELAYS, MIN_RATIO * expected) and sessions >= 2
            judged.append((*(tail or (None, None, None)), found))
            if not found:  # A day out of the ordinary does not become the ordinary.
                history.append(today)
    return daily.hstack(pl.DataFrame(judged, schema=_JUDGED, orient="row"))


_JUDGED = {"p_value": pl.Float64, "expected": pl.Float64, "high": pl.Float64, "found": pl.Boolean}


def rate_tail(history: Sequence[_Day], today: _Day) -> tuple[float, float, float] | None:
    """P(as many or more), the count expected, and the one exceeded in 2.5 % of cases; None with too little history.

    The rate has a gamma distribution around that of the days alike (weekday or weekend, shrunk to all days), with the
    squared coefficient of variation of the baseline days; the predictive is a negative binomial.
    """
    day, count, exposure = today
    days = [each for each in history if day - BASELINE_DAYS <= each[0] < day and each[2] > 0]
    if len(days) < MIN_DAYS or exposure <= 0:
        return None
    total, whole = sum(each[1] for each in days), sum(each[2] for each in days)
    rate = (total + 0.5) / whole
    alike = [each for each in days if is_weekend(each[0]) == is_weekend(day)]
    # The whole week weighs as much as five of its days.
    weight = 5 * whole / len(days)
    share = (sum(each[1] for each in alike) + weight * rate) / (sum(each[2] for each in alike) + weight)
    means = [rate * each[2] for each in days]
    excess = sum((each[1] - mean) ** 2 - mean for each, mean in zip(days, means, strict=True))
    squares = sum(mean * mean for mean in means)
    spread = max(0.0, excess / squares) * len(days) / max(1, len(days) - 1)
    dispersion = (len(days) * spread + _SHRINK_DAYS * _PRIOR_DISPERSION) / (len(days) + _SHRINK_DAYS)
    dispersion += (1 + dispersion * total / len(days)) / (total + 0.5)  # The baseline is an estimate, too.
    expected = share * exposure
    shape = 1 / dispersion
    success = shape / (shape + expected)
    high = negative_binomial_upper(shape, success)
    return negative_binomial_tail(count, shape, success), expected, float(high)
