"""The measured false-alarm rate, and the sizes of the tests it rests on."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from analyzer.analysis.detection import Settings, detect
from analyzer.analysis.detection.statistics.baseline import Counts, History, fleet_prior, level
from analyzer.analysis.detection.statistics.tails import wilson_interval
from analyzer.analysis.nightly.calibration import _nulls, _share_episodes, false_alarm_rate
from tests.analysis.detection_data import FIRST, constant, counts, simulated, step, templates

LOOSE = Settings(
    spike_alpha=0.05, drift_alpha=0.05, witness_alpha=0.2, min_ratio=1.0, min_rise=0.0, false_discovery_rate=1.0
)


def test_without_changes_alarms_stay_within_the_budget() -> None:
    """Twelve callers of twelve weeks, days of moderate noise: at most two in a thousand caller-days."""
    found = detect(simulated(21, callers=12), templates())
    assert found.height <= 2 * 12 * 84 / 1000


def test_the_measured_rate_is_that_of_the_settings_on_histories_alike() -> None:
    """Loose settings fire; A/A on one history says within a factor of two what they do on fresh ones."""
    said = false_alarm_rate(simulated(22, callers=3, sessions=20), templates(), LOOSE, draws=4)
    assert said.low < said.per_thousand < said.high
    episodes = sum(
        _share_episodes(detect(fresh_history, templates(), LOOSE).filter(pl.col("day") >= FIRST + timedelta(days=28)))
        for fresh_history in (simulated(seed, callers=3, sessions=20) for seed in range(40, 46))
    )
    seen = 1000 * episodes / (6 * 3 * 56)
    assert seen > 5
    assert 0.5 < said.per_thousand / seen < 2


def test_incidents_do_not_count_as_false_alarms() -> None:
    """A true step leaves the measured rate where it was."""
    with_step = false_alarm_rate(simulated(28, step(0.05, 0.3, 50), callers=3), templates(), draws=4)
    assert with_step.per_thousand <= 4


def test_a_history_shorter_than_the_warm_up_is_not_measured() -> None:
    """Nor is none at all."""
    assert false_alarm_rate(constant(days=10), templates(), draws=2).caller_days == 0
    assert false_alarm_rate(counts([]), templates()).caller_days == 0


@pytest.mark.parametrize("day_noise", [0.0, 0.6])
def test_the_noise_of_days_is_measured(day_noise: float) -> None:
    """Within a quarter of log-odds, from a year of days."""
    measured = _nulls(simulated(31, days=364, sessions=80, day_noise=day_noise))["c0"].noise
    assert measured == pytest.approx(day_noise, abs=0.25)


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
