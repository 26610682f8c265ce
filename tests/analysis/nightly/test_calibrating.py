"""The week's calibration: quick, the same for every night of a week, stricter where history is noisy."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from analyzer.analysis.detection import Settings
from analyzer.analysis.nightly.calibration import SAMPLE, Calibrated, calibrate, monday_of
from analyzer.analysis.observations import Observations
from tests.analysis.detection_data import FIRST, constant, simulated, templates
from tests.analysis.observed import MadeRows


def seen(counts: pl.DataFrame) -> Observations:
    """A history of counts alone."""
    empty = pl.DataFrame()
    others = dict.fromkeys(
        ("mixes", "rules", "repeats", "loud", "relays", "volumes", "work", "chains", "versions"), empty
    )
    return Observations(
        FIRST + timedelta(days=83), "UTC", None, counts, templates(), **others, rows=MadeRows(empty, empty)
    )


def test_a_calm_history_leaves_the_settings_alone() -> None:
    """A rate within budget, no note."""
    found = calibrate(seen(simulated(3, callers=3)), FIRST + timedelta(days=84))
    assert found.rung == 0
    assert found.settings == Settings()
    assert found.per_thousand is not None
    assert found.note is None


def test_a_history_that_is_too_short_says_so() -> None:
    """No rate."""
    found = calibrate(seen(constant(days=20)), FIRST + timedelta(days=21))
    assert found == Calibrated(FIRST + timedelta(days=21))


def test_what_comes_after_the_monday_has_no_say() -> None:
    """Nor does the order of rows; the same week gives the same answer."""
    monday = monday_of(FIRST + timedelta(days=72))
    whole = simulated(5, callers=2)
    cut = whole.filter(pl.col("day") < monday)
    assert calibrate(seen(whole.reverse()), monday) == calibrate(seen(cut), monday)
    assert monday.weekday() == 0


def test_a_large_fleet_is_sampled_by_whole_callers() -> None:
    """At most so many caller-days are drawn anew, or one caller."""
    from analyzer.analysis.nightly.calibration import _sampled

    drawn = _sampled(constant(days=84, callers=30))
    assert drawn.height <= SAMPLE
    assert set(drawn.group_by("caller").len()["len"]) == {84}
    assert _sampled(constant(days=84 * 8, callers=1)).height == 84 * 8


def test_stricter_tests_are_noted() -> None:
    """With what remains over the budget."""
    assert "stricter by 2 of 4 steps" in (Calibrated(FIRST, 2, 1.5).note or "")
    assert "even so 3.0 false alarms" in (Calibrated(FIRST, 4, 3.0).note or "")
    assert Calibrated(FIRST, 2, 1.5).settings.spike_alpha < Settings().spike_alpha
