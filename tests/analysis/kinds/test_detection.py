"""`detect`: what it finds, what it leaves alone, and that a night judged again says the same."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Settings, frame, schema
from analyzer.analysis.kinds.families import shares
from analyzer.analysis.kinds.families.shares import DetectionError
from analyzer.errors import AnalyzerError
from tests.analysis.detection_data import FIRST, constant, counts, simulated, step, templates


def detect(*counted: pl.DataFrame) -> pl.DataFrame:
    """What is found, as a frame."""
    return frame(shares.detect(*counted))


def _index(day: date) -> int:
    return (day - FIRST).days


@pytest.mark.parametrize(
    "history",
    [
        *(
            pytest.param(constant(callers=callers, sessions=sessions, unknown=unknown), id=f"constant {sessions}")
            for callers, sessions, unknown in [(1, 40, 3), (1, 2, 1), (6, 10, 0), (12, 5, 5)]
        ),
        pytest.param(counts([("a", 0, 30, 30, 60, 60)]), id="a first day"),
        pytest.param(counts([("a", 0, 3, 0, 3, 0), ("a", 1, 9, 9, 9, 9)]), id="a bad day after a quiet one"),
        pytest.param(simulated(9, lambda day: 0.15 if day % 7 >= 5 else 0.05), id="thrice as high on weekends"),
        # More sessions show an unknown error because they hold more groups: the share of groups stays.
        pytest.param(
            counts([("a", day, 40, *((3, 80, 3) if day < 60 else (9, 240, 9))) for day in range(80)]),
            id="longer sessions",
        ),
        # The sessions are a second witness.
        pytest.param(
            counts([("a", day, 40, 3, 80, 3 if day != 60 else 43) for day in range(80)]), id="one session of many texts"
        ),
    ],
)
def test_what_is_no_rise_is_not_found(history: pl.DataFrame) -> None:
    """Whatever its level, volume and number of callers."""
    assert detect(history, templates()).is_empty()


def test_a_day_far_above_its_history_is_a_spike_of_that_day() -> None:
    """One row, with what was seen, what was expected, and the interval around it."""
    found = detect(simulated(1, step(0.05, 0.5, 60, 61)), templates())
    assert found.select("day", "caller", "finding", "state", "onset").rows() == [
        (FIRST + timedelta(days=60), "c0", "spike", "new", FIRST + timedelta(days=60))
    ]
    row = found.row(0, named=True)
    assert row["low"] < row["expected"] < row["high"] < row["observed"]
    assert row["p_value"] <= Settings().share_alpha
    assert row["groups"] >= row["sessions"] >= 3


def test_one_bad_day_is_no_drift_of_the_days_after_it() -> None:
    """Too weak to be a spike by itself, it is none of the spans that hold it either."""
    rows = [("a", day, 40, 3, 80, 3) if day != 60 else ("a", day, 40, 9, 80, 10) for day in range(84)]
    assert detect(counts(rows), templates()).is_empty()
    rows[61] = ("a", 61, 40, 11, 80, 13)
    assert set(detect(counts(rows), templates())["finding"]) == {"drift"}


def test_a_step_is_a_drift_that_goes_on_and_is_accepted_in_the_end() -> None:
    """Its onset is near the true day; four weeks on it is the new normal, and silence follows."""
    found = detect(simulated(2, step(0.05, 0.2, 45), days=120), templates())
    drift = found.filter(pl.col("finding") == "drift")
    assert abs(_index(drift["onset"][0]) - 45) <= 2
    assert drift["state"][0] == "new"
    assert drift["state"][-1] == "accepted"
    assert set(drift["state"][1:-1]) == {"ongoing"}
    assert _index(drift["day"][-1]) - _index(drift["onset"][0]) >= 28
    assert found.filter(pl.col("day") > drift["day"][-1]).is_empty()


def test_an_incident_does_not_raise_the_baseline_that_it_is_measured_against() -> None:
    """On its twentieth day as much is expected as on its first."""
    found = detect(simulated(3, step(0.05, 0.3, 50)), templates()).filter(pl.col("finding") == "drift")
    assert found["expected"].max() <= 1.3 * found["expected"].min()  # type: ignore[operator]


def test_after_an_incident_the_old_level_holds_again() -> None:
    """Ten bad days end, and a second incident weeks later is found as the first was."""
    rises = {*range(40, 50), *range(70, 80)}
    found = detect(simulated(4, lambda day: 0.25 if day in rises else 0.05, days=100), templates())
    days = {_index(day) for day in found["day"]}
    assert days & set(range(40, 44)) and days & set(range(70, 74))
    assert not days & set(range(56, 70))


def test_a_slow_rise_is_a_drift() -> None:
    """One by a point a day, while it is still rising."""
    found = detect(simulated(15, lambda day: 0.05 + max(0, min(21, day - 45)) * 0.01), templates())
    drift = found.filter(pl.col("finding") == "drift")
    assert 45 < _index(drift["day"][0]) <= 66


def test_a_new_caller_is_judged_by_its_own_days_alone() -> None:
    """However bad: whether it fares worse than the others' callers, nobody knows."""
    bad = simulated(7, lambda day: 0.4).filter(pl.col("day") >= FIRST + timedelta(days=50))
    found = detect(pl.concat([simulated(6, callers=5), bad.with_columns(pl.lit("new").alias("caller"))]), templates())
    assert "new" not in found["caller"]


def test_without_changes_alarms_stay_within_the_budget() -> None:
    """Twelve callers of twelve weeks, days of moderate noise: at most two in a thousand caller-days."""
    assert detect(simulated(21, callers=12), templates()).height <= 2 * 12 * 84 / 1000


def test_a_template_never_seen_before_is_found_on_the_days_that_show_it() -> None:
    """Until it was quiet for three days, with its first day as the onset; a one-off and an old one are not found."""
    seen = [("c0", day, "old", 1) for day in range(0, 84, 5)]
    seen += [("c0", 20 + 3 * day, f"one-off-{day}", 1) for day in range(20)]
    seen += [("c0", 50, "fresh", 1), ("c0", 51, "fresh", 3), ("c0", 52, "fresh", 2), ("c0", 60, "fresh", 2)]
    found = detect(constant(), templates(seen))
    assert found.select("day", "finding", "template", "onset").rows() == [
        (FIRST + timedelta(days=day), "template", "fresh", FIRST + timedelta(days=50)) for day in (51, 52)
    ]


def test_two_new_templates_of_one_night_are_one_finding() -> None:
    """The clearer one, the other in its note."""
    found = detect(constant(), templates([("c0", 50, "most", 9), ("c0", 50, "less", 6)]))
    assert found["template"].to_list() == ["most"]
    assert "less" in found["note"][0]


@pytest.fixture(scope="module")
def incident() -> pl.DataFrame:
    """Five callers, one with a spike and one with a step."""
    one = simulated(11, step(0.05, 0.2, 55), callers=5)
    spiky = simulated(12, step(0.05, 0.5, 40, 41)).with_columns(pl.lit("spiky").alias("caller"))
    return pl.concat([one, spiky])


_NEWS = [("c3", 50, "fresh", 9)]


def test_a_night_judged_again_says_the_same(incident: pl.DataFrame) -> None:
    """To the last digit."""
    assert detect(incident, templates(_NEWS)).equals(detect(incident, templates(_NEWS)))


def test_the_order_of_rows_and_names_of_callers_change_nothing(incident: pl.DataFrame) -> None:
    """Shuffled rows give the same frame."""
    shuffled = incident.sample(fraction=1, shuffle=True, seed=3)
    assert detect(shuffled, templates(_NEWS)).equals(detect(incident, templates(_NEWS)))


def test_repeats_of_events_change_nothing(incident: pl.DataFrame) -> None:
    """Groups and sessions are counted, however often each repeats."""
    doubled = incident.with_columns(pl.col("events") * 2)
    assert detect(doubled, templates(_NEWS)).equals(detect(incident, templates(_NEWS)))


@pytest.mark.parametrize("cut", [30, 41, 50, 57, 70])
def test_what_was_found_does_not_change_with_the_days_after_it(incident: pl.DataFrame, cut: int) -> None:
    """A future cut off leaves the past as it was, every column of it."""
    end = FIRST + timedelta(days=cut)
    whole = detect(incident, templates(_NEWS)).filter(pl.col("day") <= end)
    early = detect(incident.filter(pl.col("day") <= end), templates(_NEWS).filter(pl.col("day") <= end))
    assert early.equals(whole)


def test_findings_have_one_row_a_day_caller_and_finding_in_a_fixed_shape(incident: pl.DataFrame) -> None:
    """Also when there are none."""
    found = detect(incident, templates(_NEWS))
    assert dict(found.schema) == schema()
    assert not found.select("day", "caller", "finding").is_duplicated().any()
    assert dict(detect(incident.clear(), templates()).schema) == schema()


def test_counts_that_cannot_be_are_refused() -> None:
    """With the column or the caller named, and a hint."""
    with pytest.raises(DetectionError, match="unknown_groups_replayed") as caught:
        detect(constant().drop("unknown_groups_replayed"), templates())
    assert isinstance(caught.value, AnalyzerError) and caught.value.hint
    with pytest.raises(DetectionError, match="impossible counts of a"):
        detect(counts([("a", 0, 2, 3, 4, 3)]), templates())
    with pytest.raises(DetectionError, match="template"):
        detect(constant(), templates().drop("template"))
