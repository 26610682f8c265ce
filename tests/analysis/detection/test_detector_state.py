"""Shortcuts of the tests: whoever stops and goes on, or looks at fewer days, finds what a look at everything finds."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analyzer.analysis.detection import detect, volume_units
from analyzer.analysis.detection import fleet as fleet_tests
from analyzer.analysis.detection.detection import frame
from analyzer.analysis.detection.fleet import DetectorState
from analyzer.analysis.detection.signals.relays import relay_days, relay_frequency
from tests.analysis.detection.test_volume import fleet, found
from tests.analysis.detection_data import FIRST, counts, simulated, step, templates

DAYS = 130
SHARES = {"spike": step(0.05, 0.5, 60, 61), "drift": step(0.05, 0.3, 45, 60), "accepted": step(0.05, 0.3, 50)}


def resumed(of: pl.DataFrame, messages: pl.DataFrame, every: int) -> pl.DataFrame:
    """The findings of a state that stops after so many days, is written down, and goes on."""
    state = DetectorState()
    last = of["day"].max()
    stops = [FIRST + timedelta(days=number) for number in range(5, DAYS, every)]
    for stop in [*stops, last]:
        state.go_on(of.filter(pl.col("day") <= stop), messages.filter(pl.col("day") <= stop))
        state.forget()
        state = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=DetectorState)
    return frame(state.found)


@pytest.mark.parametrize("name", SHARES)
def test_a_walk_that_stops_and_goes_on_finds_the_same(name: str) -> None:
    """Down to the last digit, with incidents that go on, end or are accepted, and messages that come back."""
    of = simulated(7, SHARES[name], days=DAYS, callers=3)
    random = Random(name)
    texts = [("c0", 30, "new", 3), ("c0", 31, "new", 4), ("c1", 90, "new", 5)]
    texts += [("c2", day, f"t{random.randrange(4)}", random.randrange(1, 5)) for day in range(2, DAYS, 3)]
    messages = templates(texts)
    whole = detect(of, messages)
    assert whole["finding"].n_unique() > 1
    assert_frame_equal(resumed(of, messages, 9), whole, check_exact=True)


def test_a_walk_begins_anew_where_a_crowd_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who belongs to it is known of the whole history alone."""
    monkeypatch.setattr(fleet_tests, "LEAST_SINGLE_DAYS", 5)
    passing = counts([(f"p{number}", 40 + number, 3, 1, 4, 1) for number in range(20)])
    of = pl.concat([simulated(7, SHARES["drift"], days=80), passing])
    whole = detect(of, templates())
    assert not whole.is_empty()
    assert_frame_equal(resumed(of, templates(), 19), whole, check_exact=True)


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
        relay_frequency(of).select("day", "caller", "p_value", "expected", "high"),
        unusual.select("day", "caller", "p_value", "expected", "high").sort("day", "caller"),
        check_exact=True,
    )
