"""What is no error, such as tools that fail and logs that arrive twice: counts against exposure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.signals import SIGNALS, signals

START = date(2026, 3, 2)
DAYS = 44
CHANGE = 38
SESSIONS = 30
"""Sessions a day of each caller."""
Row = tuple[str, str, str, int, int, int, int]
"""Caller, signal, name, level, sessions, groups, exposure."""


def found(rows: Callable[[int], list[Row]]) -> list[Detection]:
    """What the rows of each day, 0-based, show, of callers that are at work every day."""
    every = [(START + timedelta(days=day), *row) for day in range(DAYS) for row in rows(day)]
    columns = ["day", "caller", "signal", "name", "level", "sessions", "groups", "exposure"]
    counts = pl.DataFrame(every, columns, orient="row")
    days = counts.select(day=pl.date_range(START, START + timedelta(days=DAYS - 1), eager=True).alias("day"))
    work = counts.select("caller").unique().join(days, how="cross").with_columns(observed=pl.lit(SESSIONS, pl.Int64))
    return signals(counts, work.select("day", "caller", "observed"))


def waits(*callers: str, longer: int = 0, provider: str = "openai") -> list[Row]:
    """Ten chains of each caller that wait from 4 to 32 seconds, or so many powers of two longer."""
    of_level = ((2, 5), (3, 4), (4, 1))
    return [(one, "wait", provider, level + longer, many, many, many) for one in callers for level, many in of_level]


def test_a_tool_that_fails_more_often_than_before_is_found_on_its_days() -> None:
    """Of the tool over all callers, until it works again."""
    bad = range(CHANGE, CHANGE + 2)
    rises = found(lambda day: [("", "tool", "browser", 0, *((28, 70) if day in bad else (4, 6 + day % 3)), 30)])
    assert [(one.finding, one.scope, (one.day - START).days) for one in rises] == [
        ("tool_failures", "browser", day) for day in bad
    ]
    assert str(rises[0].note).startswith(
        "the tool browser failed in 28 of 30 sessions that used it on 2026-04-09, 70 times"
    )


def test_a_tool_that_fails_in_one_project_is_its_own() -> None:
    """It went from 4 % to most of its calls; elsewhere the tool fails in a fifth of the sessions, as ever."""
    worse = {CHANGE: (10, 21), CHANGE + 1: (11, 11), CHANGE + 2: (7, 8)}

    def rows(day: int) -> list[Row]:
        failed, sessions = worse.get(day, (int(day % 3 == 0), 8))
        return [
            ("shop", "tool", "browser", 0, failed, failed, sessions),
            *((f"caller-{number}", "tool", "browser", 0, 8 + day % 3, 8 + day % 3, 40) for number in range(6)),
        ]

    assert {(one.caller, one.scope) for one in found(rows)} == {("shop", "browser")}


def test_a_new_caller_has_no_vote_on_a_tool() -> None:
    """It fails in 62 of 100 sessions from its first day on, as it will: the tool is no worse than before."""

    def rows(day: int) -> list[Row]:
        new = [("new", "tool", "browser", 0, 62, 62, 100)] if day >= CHANGE else []
        return [*((f"caller-{number}", "tool", "browser", 0, 3 + day % 2, 4, 30) for number in range(4)), *new]

    assert found(rows) == []


def test_a_hosts_logs_that_arrive_twice_are_not_its_largest_callers() -> None:
    """One caller has most of what stands there twice; the other one's sessions stand there twice as well."""
    rises = found(
        lambda day: (
            [("a", "copy", "node-1", 0, 12, 12, 0), ("b", "copy", "node-1", 0, 3, 3, 0)]
            if day == CHANGE
            else [("c", "empty", "", 0, 1, 1, 0)]
        )
    )
    assert [(one.caller, one.scope) for one in rises] == [(None, "node-1")]


def test_tools_that_are_used_more_fail_more_often_in_all() -> None:
    """Three times the sessions with three times the failures are none."""
    assert found(lambda day: [("", "tool", "Bash", 0, *((12, 18, 90) if day >= CHANGE else (4, 6, 30)))]) == []


def test_waits_that_grow_are_the_providers_where_all_of_its_callers_wait() -> None:
    """And nobody else's."""
    rises = found(lambda day: waits("a", "b", "c", longer=2 if day == CHANGE else 0))
    assert {(one.finding, one.caller, one.scope) for one in rises} == {("waits_grow", None, "openai")}
    assert "retry chains waited for 16 s or more" in str(rises[0].note)


def test_waits_of_a_provider_are_the_callers_that_has_the_most_of_them() -> None:
    """The provider's other callers wait as they did, so its chains grow by one caller's alone."""
    others = waits("b", "c")
    rises = found(lambda day: waits("a", longer=4 if CHANGE <= day < CHANGE + 2 else 0) * 2 + others)
    assert {(one.finding, one.caller, one.scope) for one in rises} == {("waits_grow", "a", None)}


def test_waits_of_a_provider_that_no_log_names_are_the_callers() -> None:
    """Of the one that waits longer."""
    rises = found(lambda day: waits("a", provider="", longer=3 if day == CHANGE else 0) + waits("b", provider=""))
    assert {(one.caller, one.scope) for one in rises} == {("a", None)}


def test_waits_as_usual_find_nothing() -> None:
    """Nor does twice the number of chains."""
    assert found(lambda day: waits(*(("a", "b") if day < CHANGE else ("a", "b", "c", "d")))) == []


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (
            "sessions_aborted",
            "people stopped 20 of 30 sessions on 2026-04-09, 20 times, three a session at most (normally 1.0)",
        ),
        ("sessions_empty", "20 of 30 sessions did nothing on 2026-04-09 (normally 1.0)"),
        (
            "sessions_unanswered",
            "20 of 30 sessions ended with a failure and without an answer on 2026-04-09 (normally 1.0)",
        ),
    ],
)
def test_sessions_that_end_otherwise_are_their_callers(finding: str, said: str) -> None:
    """They are held against the sessions that its logs show, on days without any as well; another caller has none."""
    signal = SIGNALS[finding].counted

    def rows(day: int) -> list[Row]:
        many = 20 if day == CHANGE else 1
        return [("a", signal, "", 0, many, many, 0), *([("b", signal, "", 0, 1, 1, 0)] if day % 7 == 0 else [])]

    assert [(one.finding, one.caller, one.note) for one in found(rows)] == [(finding, "a", said)]


def test_logs_that_arrive_twice_are_the_hosts_where_logs_name_one() -> None:
    """Eight sessions of two callers stand in the logs twice on one day, and none before: the host's, not theirs."""
    rises = found(
        lambda day: (
            [(one, "copy", "node-1", 0, 4, 4, 0) for one in "ab"] if day == CHANGE else [("c", "empty", "", 0, 1, 1, 0)]
        )
    )
    assert [(one.finding, one.caller, one.scope) for one in rises] == [("shipped_twice", None, "node-1")]
    assert str(rises[0].note).startswith("the logs have 8 sessions twice, word for word, under other ids on 2026-04-09")


def test_retries_that_run_out_are_the_providers() -> None:
    """Nine in ten of its chains, where it was one."""
    rises = found(
        lambda day: [
            (one, "exhausted", "openai", 0, many, many, 10) for one in "ab" for many in [9 if day == CHANGE else 1]
        ]
    )
    assert [(one.finding, one.caller, one.scope) for one in rises] == [("retries_exhausted", None, "openai")]
    assert str(rises[0].note).startswith("18 of 20 retry chains ran out of tries on 2026-04-09")


def test_a_tool_is_not_blamed_for_the_day_of_its_worst_caller() -> None:
    """Two in three calls of one caller fail, as ever, and on one day it works six times as much as it did."""
    rises = found(
        lambda day: [
            ("careful", "tool", "browser", 0, 3 + day % 3, 3 + day % 3, 100),
            ("clumsy", "tool", "browser", 0, *((40, 40, 60) if day == CHANGE else (6 + day % 2, 6 + day % 2, 10))),
        ]
    )
    assert rises == []
