"""Very many callers of one day: counted instead of watched, and nothing that is found changes by it."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analyzer.analysis.detection import Settings, detect
from analyzer.analysis.detection import fleet as fleet_tests

FIRST = date(2026, 9, 7)
COUNTS = {
    "day": pl.Date,
    "caller": pl.String,
    "groups": pl.Int64,
    "unknown_groups_replayed": pl.Int64,
    "sessions": pl.Int64,
    "unknown_sessions_replayed": pl.Int64,
}
TEMPLATES = {"day": pl.Date, "caller": pl.String, "template": pl.String, "sessions": pl.Int64}


def history(passing: int, days: int = 45) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Six callers, two of which get worse after five weeks, and on every day so many that never come again."""
    random = Random(5)
    counts, templates = [], []
    for number in range(days):
        day = FIRST + timedelta(days=number)
        for caller in range(6 + passing):
            known = caller < 6
            sessions = 12 if known else random.randint(1, 2)
            worse = known and number >= 35 and caller < 2
            unknown = sum(random.random() < (0.5 if worse else 0.05) for _ in range(sessions))
            name = f"w{caller}" if known else f"p{number}-{caller}"
            counts.append((day, name, sessions, unknown, sessions, unknown))
            if unknown:
                templates.append((day, name, "new" if worse else f"t{caller % 7}", unknown))
    return pl.DataFrame(counts, COUNTS, orient="row"), pl.DataFrame(templates, TEMPLATES, orient="row")


def test_a_crowd_changes_nothing_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days, findings and figures are those of watching every caller, to nine digits."""
    counts, templates = history(passing=120)
    watched = detect(counts, templates)
    assert watched.height > 5
    monkeypatch.setattr(fleet_tests, "LEAST_SINGLE_DAYS", 10)
    assert_frame_equal(detect(counts, templates), watched, rel_tol=1e-9)


def test_a_crowd_is_of_callers_that_show_nothing_by_themselves() -> None:
    """Who was there on two days, or has sessions enough for a finding on its one day, is watched."""
    rows = [(FIRST, f"p{number}", 1, 0, 1, 0) for number in range(fleet_tests.LEAST_SINGLE_DAYS)]
    rows += [(FIRST, "many", 5, 3, 5, 3)]
    rows += [(FIRST + timedelta(days=number), "twice", 1, 0, 1, 0) for number in range(2)]
    counts = pl.DataFrame(rows, COUNTS, orient="row")
    watched, passing = fleet_tests.split_single_days(counts, Settings().min_sessions)
    assert set(watched["caller"]) == {"many", "twice"}
    assert passing.height == fleet_tests.LEAST_SINGLE_DAYS


def test_few_callers_of_one_day_are_no_crowd() -> None:
    """They are watched one by one, as ever."""
    counts, _ = history(passing=3)
    watched, passing = fleet_tests.split_single_days(counts, Settings().min_sessions)
    assert watched.height == counts.height
    assert passing.is_empty()
