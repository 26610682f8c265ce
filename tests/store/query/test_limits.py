"""Usage limits as logs state them, and when they are reached: the view `limits` and the query `limits-ahead`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import overview
from analyzer.events import EventLog
from analyzer.report.overview_words import limits_words
from analyzer.store import Store

BEGIN = datetime(2026, 11, 2, 8)
RESET = BEGIN + timedelta(hours=5)
Ahead = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ahead(memory: Store, native: Callable[..., bytes], tmp_path: Path) -> Ahead:
    """What `limits-ahead` answers after limits were stated: minutes after the begin, and shares used by then."""

    def answered(*stated: tuple[float, float], minutes: int = 300, reset: datetime = RESET, **given: Any) -> Any:
        lines = [
            native(
                f"l-{minute}-{minutes}",
                "limit.observed",
                (BEGIN + timedelta(minutes=minute)).isoformat(),
                caller="a",
                provider="openai",
                window_minutes=minutes,
                used_share=used,
                reset_at=reset.isoformat() + "Z",
            )
            for minute, used in stated
        ]
        path = tmp_path / f"limits-{minutes}.jsonl"
        path.write_bytes(b"".join(lines))
        memory.ingest([str(path)])
        return memory.query("limits-ahead", **given).rows(named=True)

    return answered


def test_a_steady_pace_says_when_the_limit_is_reached(ahead: Ahead) -> None:
    """A hundredth a minute leaves forty minutes at 60 percent, without a doubt where no leap was ever seen."""
    (row,) = ahead(*((minute, 0.2 + minute / 100) for minute in range(0, 41, 5)))
    assert (row["used_share"], row["hourly_share"]) == (pytest.approx(0.6), pytest.approx(0.6))
    assert row["reached_at"] == BEGIN + timedelta(minutes=80)
    assert abs(row["earliest_at"] - row["reached_at"]) < timedelta(minutes=1)
    assert abs(row["latest_at"] - row["reached_at"]) < timedelta(minutes=1)


def test_another_share_is_forecast_where_it_is_asked_for(ahead: Ahead) -> None:
    """Eighty percent are reached twenty minutes before all of it; what is used already is reached now."""
    stated = [(minute, 0.2 + minute / 100) for minute in range(0, 41, 5)]
    assert ahead(*stated, share=0.8)[0]["reached_at"] == BEGIN + timedelta(minutes=60)
    assert ahead(*stated, share=0.5)[0]["reached_at"] == BEGIN + timedelta(minutes=40)


def test_leaps_make_the_range_wide(ahead: Ahead) -> None:
    """The same pace in leaps may be there sooner or later; the early end is never before what is known."""
    leaps = [(0, 0.2), (5, 0.21), (10, 0.40), (15, 0.41), (20, 0.42), (25, 0.58), (40, 0.6)]
    (row,) = ahead(*leaps)
    assert row["reached_at"] == BEGIN + timedelta(minutes=80)
    assert BEGIN + timedelta(minutes=40) <= row["earliest_at"] < BEGIN + timedelta(minutes=75)
    assert row["latest_at"] > BEGIN + timedelta(minutes=85)


def test_a_limit_that_resets_before_is_not_reached(ahead: Ahead) -> None:
    """At a pace for which the window is too short there is no time of reaching it."""
    (row,) = ahead((0, 0.1), (20, 0.11), (40, 0.12))
    assert row["hourly_share"] == pytest.approx(0.03)
    assert (row["reached_at"], row["latest_at"]) == (None, None)


@pytest.mark.parametrize("stated", [[(0, 0.5)], [(0, 0.5), (10, 0.6)], [(0, 0.5), (5, 0.5), (9, 0.5)]])
def test_two_statements_and_standstill_are_no_pace(ahead: Ahead, stated: list[tuple[float, float]]) -> None:
    """The share used is told, and nothing ahead of it."""
    (row,) = ahead(*stated)
    assert row["used_share"] == stated[-1][1]
    assert (row["hourly_share"], row["reached_at"]) == (None, None)


def test_a_pace_is_that_of_the_last_fifth_of_the_window_in_hand(ahead: Ahead) -> None:
    """Neither what an earlier window used nor what was hours ago counts."""
    before = BEGIN + timedelta(minutes=30)
    assert ahead((0, 0.7), (10, 0.8), (20, 0.9), reset=before) != []
    rows = ahead((40, 0.0), (50, 0.3), (200, 0.4), (220, 0.45), (240, 0.5))
    assert [(row["used_share"], round(row["hourly_share"], 3)) for row in rows] == [(0.5, 0.15)]


def test_each_window_is_a_limit_of_its_own_and_an_ended_one_is_none(ahead: Ahead) -> None:
    """A week goes on when its five hours have ended."""
    ahead((0, 0.1), (10, 0.2))
    rows = ahead((0, 0.02), (400, 0.03), minutes=10080, reset=BEGIN + timedelta(days=6))
    assert [row["window_minutes"] for row in rows] == [10080]


def test_a_program_may_state_limits_itself(memory: Store, tmp_path: Path) -> None:
    """What it reads from headers is a row, with what it leaves out as null; a share beyond the whole is none."""
    with EventLog(tmp_path / "log") as log:
        log.limit_observed(caller="a", provider="groq", window_minutes=60, used_share=0.25)
        log.limit_observed(caller="a", provider="groq", window_minutes=60, used_share=25)
    memory.ingest([str(tmp_path / "log")])
    rows = memory.sql("select provider, plan, window_minutes, used_share, reset_at from limits").rows()
    assert rows == [("groq", None, 60, 0.25, None)]
    assert memory.query("limits-ahead")["used_share"].to_list() == [0.25]


def test_a_moment_of_the_past_is_judged_by_what_was_known_then(ahead: Ahead) -> None:
    """`until` leaves out what was stated later."""
    until = BEGIN + timedelta(minutes=11)
    assert ahead((0, 0.1), (10, 0.2), (20, 0.9), until=until)[0]["used_share"] == 0.2


def test_a_report_says_what_is_ahead_while_it_is(ahead: Ahead, memory: Store) -> None:
    """The limit of which most is used, its pace and its reset; a window that has ended is no news."""
    ahead(*((minute, 0.2 + minute / 100) for minute in range(0, 41, 5)))
    made = overview(memory)
    assert limits_words(made) == ""
    assert limits_words(replace(made, generated_at=BEGIN + timedelta(hours=1))) == (
        "60.0% of the 5-hour limit of openai used at 2026-11-02 08:40 UTC; at this pace reached 09:20 (09:20 to"
        " 09:20), reset 13:00."
    )
