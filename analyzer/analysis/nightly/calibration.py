"""How often the tests would have cried wolf on this very history, and how much stricter they have to be for it.

Measured once a week, on history up to its Monday, so that the nights of a week agree; on a sample, so that it is quick.
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
"""Caller-days that are drawn anew at most, each of them DRAWS times."""
DRAWS = 3


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What a week's calibration came to."""

    on: date
    """The Monday before which history was looked at."""
    rung: int = 0
    per_thousand: float | None = None
    """None where the history is too short to tell."""

    @property
    def settings(self) -> Settings:
        """What the nights of that week are judged by."""
        return widened(Settings(), self.rung)

    @property
    def note(self) -> str | None:
        """One sentence, where the budget asked for stricter tests."""
        if not self.rung or self.per_thousand is None:
            return None
        said = (
            f"this history is noisy, so the tests of shares and messages were made stricter by {self.rung} of 4 steps"
        )
        if self.per_thousand > BUDGET:
            said += f"; even so {self.per_thousand:.1f} false alarms per 1,000 caller-days are to be expected"
        return said


def monday_of(day: date) -> date:
    """The first day of its week."""
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
    """Whole callers, drawn by their names, until there are caller-days enough."""
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
