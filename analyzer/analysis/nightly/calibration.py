"""The false-alarm rate of the tests on a store's own history, and how much stricter the tests become by it.

It is measured once a week, on history up to its Monday, so that the nights of a week agree; on a sample, to be quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection import Settings, calibrated, widened
from analyzer.analysis.detection.statistics.calibration import WARM_UP_DAYS
from analyzer.analysis.observations import Observations, drawn

BUDGET = 2.0
"""False alarms per 1,000 caller-days. The sample is small: at half of it, where the settings aim, one history in twenty
is widened by chance."""
MEASURED_DAYS = 84
"""Days of history, before the Monday, that are measured."""
SAMPLE = 500
"""Caller-days that are measured at most."""
DRAWS = 3
"""Histories that are drawn under the null hypothesis, each of all these caller-days."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The calibration of one week."""

    on: date
    """The Monday of the week; the history before it was measured."""
    rung: int = 0
    """Steps by which the tests are stricter than by default."""
    per_thousand: float | None = None
    """False alarms per 1,000 caller-days at this rung; None where history is too short to tell."""

    @property
    def settings(self) -> Settings:
        """The settings for the nights of that week."""
        return widened(Settings(), self.rung)

    @property
    def note(self) -> str | None:
        """A sentence that says so where tests were made stricter; None where they were not."""
        if not self.rung or self.per_thousand is None:
            return None
        said = (
            f"this history is noisy, so the tests of shares and messages were made stricter by {self.rung} of 4 steps"
        )
        if self.per_thousand > BUDGET:
            said += f"; even so {self.per_thousand:.1f} false alarms per 1,000 caller-days are to be expected"
        return said


def monday_of(day: date) -> date:
    """The Monday of the week that a day lies in."""
    return day - timedelta(days=day.weekday())


def calibrate(seen: Observations, monday: date) -> Calibrated:
    """The false-alarm rate on the history before `monday`, and the first rung that keeps the budget."""
    since = monday - timedelta(days=MEASURED_DAYS)
    counts = _sampled(seen.counts.filter((pl.col("day") < monday) & (pl.col("day") >= since)))
    templates = seen.templates.filter((pl.col("day") < monday) & (pl.col("day") >= since)).join(
        counts.select("caller").unique(), on="caller", how="semi"
    )
    days = counts["day"].unique().sort()
    if not len(days) or (days[-1] - days[0]).days < WARM_UP_DAYS:
        return Calibrated(monday)
    found = calibrated(counts, templates, budget=BUDGET, draws=DRAWS)
    return Calibrated(monday, found.rung, found.measured.per_thousand if found.measured.caller_days else None)


def _sampled(counts: pl.DataFrame) -> pl.DataFrame:
    """The rows of callers that are drawn by their names, whole ones, up to SAMPLE rows."""
    days_of = dict(counts.group_by("caller").len().iter_rows())
    chosen: list[str] = []
    total = 0
    # Each has a day at least: no more of them can take part.
    for caller in drawn(days_of, SAMPLE):
        if chosen and total + days_of[caller] > SAMPLE:
            break
        chosen.append(caller)
        total += days_of[caller]
    return counts.filter(pl.col("caller").is_in(chosen))
