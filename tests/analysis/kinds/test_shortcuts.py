"""Shortcuts of the tests: whoever looks at fewer days finds what a look at everything finds."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analyzer.analysis.kinds.detection import frame
from analyzer.analysis.kinds.families.relays import relay_days, relay_frequency
from analyzer.analysis.kinds.statistics import units as volume_units
from tests.analysis.detection_data import FIRST
from tests.analysis.kinds.test_volume import fleet, found


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("seen", [True, False])
def test_days_that_cannot_be_a_rise_are_left_out_alone(seen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rises that end, last, follow each other, or are those of many callers: a close look at all finds no others."""

    def more(number: int, caller: str) -> dict[str, int]:
        lasting = {"network_transient": 30} if caller == "a" and number >= 50 else {}
        if number in {40, 44, 58} and caller.endswith("o"):
            return {"rate_limited": 40}
        return {"validation": 25} if caller == "b" and number in {41, 42, 60, 90} else lasting

    made = fleet({"a": 60, "b": 40, "co": 30, "do": 30, "eo": 20}, more, seen=seen, days=95)
    fewer = found(made)
    assert {one.finding for one in fewer} >= {"volume", "outage"}
    near = volume_units._near
    monkeypatch.setattr(volume_units, "_near", lambda rows, work: near(rows, work).with_columns(clear=pl.lit(True)))
    assert found(made) == fewer


def test_exposure_that_begins_to_be_sessions_hides_no_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The days before are no part of its baseline, so those after are all looked at."""
    volumes, work = fleet(
        {"a": 60, "b": 40}, lambda number, _: {"validation": 25} if number in {60, 75} else {}, days=90
    )
    begins = FIRST + timedelta(days=50)
    early = pl.col("day") < begins
    work = work.with_columns(
        exposure=pl.when(early).then(1.0).otherwise("exposure"),
        seen=pl.when(early).then(pl.lit(False)).otherwise("seen"),
    )
    fewer = found((volumes, work))
    assert fewer
    near = volume_units._near
    monkeypatch.setattr(volume_units, "_near", lambda rows, work: near(rows, work).with_columns(clear=pl.lit(True)))
    assert found((volumes, work)) == fewer


def test_hand_offs_that_cannot_be_many_are_left_out_alone() -> None:
    """The findings are those of the days that a chart shows as unusual."""
    random = Random(3)
    rows = [
        (FIRST + timedelta(days=day), f"c{caller}", "s", relays, min(relays, 3), 2, 10.0)
        for caller in range(3)
        for day in range(80)
        for relays in [random.choice((0, 1, 2, 2, 3)) + (12 if (day, caller) in {(50, 0), (51, 0), (79, 2)} else 0)]
    ]
    names = ["day", "caller", "step", "relays", "sessions", "most", "exposure"]
    of = pl.DataFrame(rows, names, orient="row")
    unusual = relay_days(of).filter("found")
    assert unusual.height == 3
    assert_frame_equal(
        frame(relay_frequency(of)).select("day", "caller", "p_value", "expected", "high"),
        unusual.select("day", "caller", "p_value", "expected", "high").sort("day", "caller"),
        check_exact=True,
    )
