"""The crowd: callers with errors on one day alone. Where there are very many, they are counted instead of watched.

Such a caller cannot have a finding. For the fleet (its share, and how much days differ) all of them with the same
counts are alike, so the number of them is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from analyzer.analysis.detection.statistics.baseline import NOISE_GAP, Counts, Prior, fresh_evidence
from analyzer.analysis.detection.statistics.noise import DAY_NOISES

LEAST_CROWD = 20_000
"""Fewer callers are watched one by one: a watch costs a kilobyte, and a look at it every day."""


def split_crowd(totals: pl.DataFrame, min_sessions: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of callers to watch, and of those that are a crowd, from the columns of `detect`'s counts."""
    # One row stands for a day of a caller.
    alone = ~totals["caller"].is_duplicated() & (totals["unknown_sessions_replayed"] < min_sessions)
    if alone.sum() < LEAST_CROWD:
        return totals, totals.clear()
    return totals.filter(~alone), totals.filter(alone)


@dataclass(slots=True)
class Crowd:
    """The numbers of callers of the crowd, by day and counts."""

    days: dict[int, Counter[Counts]] = field(default_factory=dict)
    """How many callers had such counts, by proleptic ordinal."""
    callers: int = 0
    """Of the days so far."""
    noise_total: list[float] = field(default_factory=lambda: [0.0] * len(DAY_NOISES))
    """As in `History`, summed over the crowd."""
    _unheard: dict[int, list[float]] = field(default_factory=dict)

    def between(self, first: int, last: int) -> Counter[Counts]:
        """The number of callers by their counts, over the days from first to last."""
        found: Counter[Counts] = Counter()
        for day, counts in self.days.items():
            if first <= day <= last:
                found.update(counts)
        return found

    def today(self, day: int) -> int:
        """The number of callers on this day."""
        return sum(self.days.get(day, {}).values())

    def hear_noise(self, day: int) -> None:
        """Counts the evidence of days that are old enough today, as `History.hear_noise` does."""
        for each in [each for each in self._unheard if each <= day - NOISE_GAP]:
            evidence = self._unheard.pop(each)
            self.noise_total = [total + part for total, part in zip(self.noise_total, evidence, strict=True)]

    def settle(self, day: int, prior: Prior, *, fleet: bool) -> None:
        """Adds the callers of a day; their evidence of noise is measured against the fleet, as they have no history."""
        of_day: Mapping[Counts, int] = self.days.get(day, {})
        self.callers += sum(of_day.values())
        if not (fleet and of_day):
            return
        evidence = [0.0] * len(DAY_NOISES)
        for counts, times in of_day.items():
            own = fresh_evidence(day, counts, prior)
            evidence = [total + times * part for total, part in zip(evidence, own, strict=True)]
        self._unheard[day] = evidence
