"""How often the tests of shares are wrong where nothing changes."""

from __future__ import annotations

from analyzer.analysis.detection import detect
from analyzer.analysis.detection.statistics.baseline import Counts, History, fleet_prior, level
from analyzer.analysis.detection.statistics.tails import wilson_interval
from tests.analysis.detection_data import simulated, templates


def test_without_changes_alarms_stay_within_the_budget() -> None:
    """Twelve callers of twelve weeks, days of moderate noise: at most two in a thousand caller-days."""
    found = detect(simulated(21, callers=12), templates())
    assert found.height <= 2 * 12 * 84 / 1000


def test_the_interval_of_the_expected_share_covers_the_truth() -> None:
    """In at least nine of ten histories of six weeks without day noise, at a nominal 95 %."""
    covered = 0
    for seed in range(60):
        history = History()
        for row in simulated(100 + seed, days=42, day_noise=0.0).iter_rows(named=True):
            counts = Counts(
                row["sessions"],
                row["unknown_sessions_replayed"],
                row["sessions"],
                row["unknown_sessions_replayed"],
            )
            history.add(row["day"].toordinal(), counts)
        last = max(history.days)
        seen = level(history, last - 41, last, 0.0, fleet_prior([]))
        trials = seen.session_share * (1 - seen.session_share) / seen.session_error
        low, high = wilson_interval(seen.session_share, trials)
        covered += low <= 0.05 <= high
    assert covered >= 54
