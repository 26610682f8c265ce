"""The week's calibration: quick, the same for every night of a week, stricter where history is noisy."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import polars as pl
import pytest

from analyzer.analysis.detection import Detection, Settings, widened
from analyzer.analysis.detection.detection import RUNGS
from analyzer.analysis.nightly import calibration
from analyzer.analysis.nightly.calibration import SAMPLE, Calibrated, calibrate, monday_of
from analyzer.analysis.observations import Observations
from analyzer.store.sums.tables import empty
from tests.analysis.detection_data import FIRST, constant, simulated, templates
from tests.analysis.observed import MadeRows


def seen(counts: pl.DataFrame) -> Observations:
    """A history of counts alone."""
    others = {
        name: empty(name)
        for name in ("known_templates", "mixes", "rules", "repeats", "loud", "relays", "volumes", "work", "chains")
    }
    others["versions"] = pl.DataFrame(schema={"caller": pl.String, "ruleset": pl.String, "first_on": pl.Date})
    nothing = pl.DataFrame(schema={"day": pl.Date, "caller": pl.String})
    missing = [name for name in empty("counts").columns if name not in counts.columns]
    counts = counts.with_columns(pl.lit(0, pl.Int64).alias(name) for name in missing)
    return Observations(
        FIRST + timedelta(days=83), "UTC", None, counts, templates(), **others, rows=MadeRows(nothing, nothing)
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


def test_a_noisy_history_makes_the_tests_stricter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that fire every week are taken up the ladder until the budget holds, or to its end."""
    loose = Settings(
        spike_alpha=0.05, drift_alpha=0.05, witness_alpha=0.2, min_ratio=1.0, min_rise=0.0, false_discovery_rate=1.0
    )
    monkeypatch.setattr(calibration, "Settings", lambda: loose)
    history, monday = seen(simulated(30, sessions=30)), FIRST + timedelta(days=84)
    monkeypatch.setattr(calibration, "BUDGET", 8)
    kept = calibrate(history, monday)
    assert kept.rung > 0 and (kept.per_thousand or 0) <= 8
    assert kept.settings == widened(loose, kept.rung)
    monkeypatch.setattr(calibration, "BUDGET", -1)
    assert calibrate(history, monday).rung == RUNGS


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


def numbers(loud: bool = False) -> Observations:
    """Three callers whose errors come as usual, or at the end six times as often for a day."""
    random = Random(7)
    days = [FIRST + timedelta(days=number) for number in range(84)]
    rows = [
        (day, caller, number + 60 * (loud and day == days[-9] and caller == "a"))
        for day in days
        for caller in "abc"
        if (number := sum(random.random() < 0.3 for _ in range(20)))
    ]
    known = {"day": [row[0] for row in rows], "caller": [row[1] for row in rows]}
    number = [row[2] for row in rows]
    reason = {"provider": "p", "model": "", "reason": "rate_limited"}
    volumes = pl.DataFrame({**known, "sessions": number, "groups": number}).with_columns(
        pl.lit(value).alias(name) for name, value in reason.items()
    )
    work = pl.DataFrame({**known, "sessions": [max(30, each) for each in number]}).with_columns(observed="sessions")
    totals = pl.DataFrame({**known, "sessions": number, "groups": number})
    frames = {"volumes": volumes, "work": work}
    return replace(seen(totals), **{name: one.select(empty(name).columns) for name, one in frames.items()})


def test_numbers_of_errors_are_measured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calm ones raise no alarm in any order of their days; a loud day that nobody takes out raises the rate."""
    drawn = [calibration._shuffled(numbers(), seed) for seed in range(3)]
    assert sum(calibration._false_alarms(one, Settings()) for one in drawn) == 0
    before, after = numbers().volumes, drawn[0].volumes
    assert not after.equals(before)
    for name, own in after.group_by("caller"):
        assert sorted(own["groups"]) == sorted(before.filter(caller=name[0])["groups"])
    assert (calm := calibrate(numbers(), FIRST + timedelta(days=84))).rung == 0
    monkeypatch.setattr(calibration, "_without", lambda seen, found: seen)
    loud = calibrate(numbers(loud=True), FIRST + timedelta(days=84))
    assert (loud.per_thousand or 0) > (calm.per_thousand or 0)


def test_what_was_found_is_no_false_alarm() -> None:
    """A true rise is taken out, day and caller, before the days trade places; so is a text that was new."""
    from analyzer.analysis.nightly.detections import detections

    loud = numbers(loud=True)
    quiet = calibration._without(loud, detections(loud))
    gone = loud.volumes.join(quiet.volumes, on=["day", "caller"], how="anti")
    assert set(gone["caller"]) == {"a"}
    assert gone["day"].max() >= FIRST + timedelta(days=75)  # type: ignore[operator]
    assert sum(calibration._false_alarms(calibration._shuffled(quiet, seed), Settings()) for seed in range(3)) <= 1
    days = [FIRST + timedelta(days=80)] * 3
    texts = pl.DataFrame({"day": days, "caller": ["a", "b", "c"], "template": ["x", "x", "y"]}).with_columns(
        sessions=pl.lit(5, pl.Int64), events=pl.lit(5, pl.Int64)
    )
    told = [
        Detection(day=days[0], caller=None, finding="shared_template", template="x", sessions=9),
        Detection(day=days[0], caller="c", finding="template", template="y", sessions=9),
        Detection(day=days[0], caller="c", finding="template", template="z", sessions=9),
        Detection(day=days[0], caller=None, finding="outage", scope="p", onset=days[0]),
    ]
    left = calibration._without(replace(numbers(), templates=texts), told[:3])
    assert left.templates.is_empty()
    assert days[0] not in set(calibration._without(loud, told[3:]).counts["day"])
