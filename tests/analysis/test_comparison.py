"""Two sides of sessions beside each other: the figures are right, noise is called noise, and a true change is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer import compare, open_store
from analyzer.analysis.comparison import CHANCE, DIMENSIONS, ComparedFigure, Comparison, _figures
from analyzer.analysis.kinds.statistics.tails import _fisher, wilson_interval
from analyzer.analysis.tables import window
from analyzer.errors import AnalyzerError
from analyzer.report.changes import comparison_document
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.text import to_text
from analyzer.store import Store
from tests.analysis.histories import line


def sessions(count: int, chance: random.Random, failing: float) -> pl.DataFrame:
    """As the query gives them: waits with a long tail, few sessions with many errors, tools of uneven quality."""
    rows = []
    for _ in range(count):
        bad = chance.random() < failing
        errors = 1 + int(chance.expovariate(1 / 3)) if bad else 0
        calls, broken = int(chance.expovariate(1 / 20)), chance.betavariate(1, 9)
        reason = chance.choice(("rate_limited", "auth_error")) if bad else ""
        rows.append(
            {
                "errors": errors,
                "unknown_errors": min(errors, int(chance.random() < 0.2)),
                "counted_errors": errors,
                "reasons": reason,
                "chains": int(bad),
                "recovered_chains": int(bad and chance.random() < 0.6),
                "waited_seconds": chance.expovariate(1 / 30) if bad else 0.0,
                "relays": int(chance.random() < 0.1),
                "requests": 1 + int(chance.expovariate(1 / 15)),
                "tool_calls": calls,
                "tool_failures": sum(chance.random() < broken for _ in range(calls)),
                "tokens": 5_000 * calls + int(chance.expovariate(1 / 20_000)),
                "cost_usd": chance.expovariate(2),
            }
        )
    return pl.DataFrame(rows)


def clear(figures: tuple[ComparedFigure, ...]) -> list[ComparedFigure]:
    """Those that are called more than noise."""
    return [each for each in figures if each.verdict in {"worse", "better", "other"}]


@pytest.mark.parametrize(("first", "second", "failing"), [(12, 12, 0.2), (200, 20, 0.1), (400, 400, 0.05)])
def test_sides_that_are_alike_are_rarely_told_apart(first: int, second: int, failing: float) -> None:
    """Of 80 comparisons of sessions from one source hardly more than one in twenty finds any change at all."""
    chance = random.Random(f"{first} {second}")
    alarmed = sum(
        bool(clear(_figures(sessions(first, chance, failing), sessions(second, chance, failing)))) for _ in range(80)
    )
    assert alarmed / 80 <= CHANCE + 0.03


def test_twice_as_many_failing_sessions_are_found() -> None:
    """Of 300 sessions a side, 30 % against 60 % failing is always called worse."""
    chance = random.Random(5)
    for _ in range(20):
        found = _figures(sessions(300, chance, 0.3), sessions(300, chance, 0.6))
        assert "worse" in {each.verdict for each in found if each.figure == "failed_sessions"}


def test_an_interval_holds_the_true_change() -> None:
    """Of 150 intervals of the share and of errors a session at least 92 % hold the true change."""
    chance = random.Random(11)
    held = dict.fromkeys(("failed_sessions", "errors"), 0)
    for _ in range(150):
        for each in _figures(sessions(150, chance, 0.2), sessions(150, chance, 0.35)):
            if each.figure in held:
                # A failing session has 1 + floor(Exp(mean 3)) errors: 1 + 1 / (e^(1/3) - 1) on average.
                true = 0.15 * (1 if each.figure == "failed_sessions" else 1 + 1 / (2.718281828459045 ** (1 / 3) - 1))
                assert each.low is not None and each.high is not None
                held[each.figure] += each.low <= true <= each.high
    assert min(held.values()) / 150 >= 0.92


def test_what_is_called_a_change_has_an_interval_without_zero() -> None:
    """One session of few that repeats an error is no change: the spread of the many others says nothing of it."""
    few, many = sessions(19, random.Random(1), 0.0), sessions(63, random.Random(2), 0.0)
    loud = few.with_columns(errors=pl.Series([30, 4, *[0] * 17]))
    (errors,) = (each for each in _figures(loud, many) if each.figure == "errors")
    assert errors.low is not None and errors.high is not None and errors.p_value is not None
    assert errors.low < 0 < errors.high and errors.verdict == "noise"
    assert errors.p_value > CHANCE


@pytest.mark.parametrize(("sides", "failing"), [(14, 0.4), (40, 0.3), (300, 0.2)])
def test_an_interval_leaves_out_zero_where_the_change_is_no_noise(sides: int, failing: float) -> None:
    """So it is of every figure that is judged, however many are compared."""
    chance = random.Random(f"{sides}")
    for _ in range(40):
        for each in _figures(sessions(sides, chance, 0.1), sessions(sides, chance, failing)):
            if each.low is not None and each.high is not None and each.verdict != "too_few":
                assert (each.low <= 0 <= each.high) == (each.verdict == "noise"), each


def test_textbook_values() -> None:
    """Wilson's interval of 1 in 29 (Newcombe 1998) and Fisher's test of the tea (1935)."""
    low, high = wilson_interval(1 / 29, 29)
    assert (round(low, 4), round(high, 4)) == (0.0061, 0.1718)
    assert round(_fisher(3, 4, 1, 4), 4) == 0.4857


def test_few_sessions_are_shown_and_not_judged() -> None:
    """With nine sessions of a side nothing is called worse, however bad it looks."""
    found = _figures(sessions(9, random.Random(1), 0.0), sessions(300, random.Random(2), 0.9))
    assert found and clear(found) == []


@pytest.fixture
def weeks(tmp_path: Path) -> Callable[..., Store]:
    """Makes a store of two weeks of 40 sessions each: how many of them fail, and what the later ones say."""

    def make(before: int, after: int, said: str = "Overloaded") -> Store:
        lines = []
        for week, (failing, text) in enumerate(((before, "Overloaded"), (after, said))):
            for number in range(40):
                at = f"2026-11-{2 + 7 * week:02}T10:{number:02}:00"
                name, version = f"s-{week}-{number}", f"2.{week}"
                known = {"caller": "planner", "agent": "claude-code", "agent_version": version}
                seen = {**known, "requests": 5, "started_at": at, "ended_at": at, "part": "a", "tools": {"Bash": 4}}
                lines.append(line(f"o{name}", at=at, session=name, kind="session.observed", **seen))
                used = {"model": "claude-opus-4-5", "input_tokens": 10_000 * (1 + week), "cache_read_tokens": 5_000}
                lines.append(line(f"u{name}", at=at, session=name, kind="usage.recorded", **known, **used))
                if number < failing:
                    failed = {
                        **known,
                        "reason": "network_transient",
                        "detail": "overloaded",
                        "facts": {"message": text},
                    }
                    lines.append(line(f"e{name}", at=at, session=name, **failed))
        (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
        store = open_store(":memory:")
        store.ingest([str(tmp_path / "log.jsonl")])
        return store

    return make


WEEKS = ("2026-11-02..2026-11-09", "2026-11-09..2026-11-16")


def figures(found: Comparison) -> dict[str, tuple[Any, Any, str]]:
    """Both values and the verdict by name."""
    return {each.figure: (each.before, each.after, each.verdict) for each in found.figures}


def test_two_weeks(weeks: Callable[..., Store]) -> None:
    """Shares and rates are those of the sessions that began in each week, and the new message is named."""
    with weeks(4, 24, "the planner lost its way") as store:
        found = compare(store, *WEEKS)
    assert (found.before.sessions, found.after.sessions) == (40, 40)
    assert figures(found)["failed_sessions"] == (0.1, 0.6, "worse")
    assert figures(found)["errors"] == (0.1, 0.6, "worse")
    assert figures(found)["requests"] == (5.0, 5.0, "noise")
    assert figures(found)["tool_calls"] == (4.0, 4.0, "noise")
    assert figures(found)["tokens"] == (15_000.0, 25_000.0, "other")
    assert [round(usd, 4) for usd in figures(found)["cost_usd"][:2]] == [0.0525, 0.1025]
    assert [(each.message, each.sessions) for each in found.came] == [("the planner lost its way", 24)]
    assert [(each.message, each.sessions) for each in found.went] == [("Overloaded", 4)]
    text = to_text(comparison_document(found), 80)
    assert text.startswith("3 worse: sessions with an error 10.0% before, 60.0% after;")
    assert max(map(len, text.splitlines())) <= 80
    assert "| WORSE | sessions with an error |" in to_markdown(comparison_document(found))


def test_two_versions_equal_two_weeks(weeks: Callable[..., Store]) -> None:
    """A dimension tells the same sessions apart as the weeks in which its values were used."""
    with weeks(4, 24) as store:
        by_week = compare(store, *WEEKS)
        by_version = compare(store, by="agent_version", values=("2.0", "2.1"))
        assert figures(by_version) == figures(by_week)
        nothing = compare(store, by="agent_version", values=("2.0", "9.9"))
    assert (nothing.after.sessions, clear(nothing.figures)) == (0, [])
    shown = to_text(comparison_document(nothing), 80)
    assert shown.startswith("No session of agent_version 9.9: nothing to compare.")
    assert "analyzer sql" in shown


def test_a_frame_and_a_dictionary_say_the_same(weeks: Callable[..., Store]) -> None:
    """Python, JSON and the text speak of the same figures."""
    with weeks(4, 24) as store:
        found = compare(store, *WEEKS)
    listed = found.to_dict()["figures"]
    assert [row["figure"] for row in listed] == found.to_polars()["figure"].to_list()
    assert found.to_dict()["schema"] == "analyzer.compare/1"
    assert "sessions with an error worse" in repr(found)


def test_the_week_before_stands_beside_one_that_is_named(memory: Store) -> None:
    """Without a first window it is as long as the second and ends where that begins; ends may stand in any order."""
    found = compare(memory, after="2026-11-09..2026-11-16")
    assert found.before.window == window("2026-11-02", "2026-11-09")
    assert compare(memory, before="7d..14d").before.window.since < compare(memory).after.window.since  # type: ignore[operator]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "colour", "values": ("a", "b")}, "unknown dimension 'colour'"),
        ({"by": "model", "values": ("a", "a")}, "model needs two values that differ"),
        ({"by": "model", "values": ("a",)}, "model needs two values that differ"),
        ({"by": "model", "values": ("a", "b"), "before": "7d"}, "two windows and a dimension at once"),
        ({"values": ("a", "b")}, "nothing to tell the two sides apart by"),
        ({"last": "7d"}, "nothing to tell the two sides apart by"),
        ({"before": "x..y"}, "not a time"),
        ({"after": "..2026-11-09"}, "nothing lies before a window without a beginning"),
        ({"before": "2026-11-01..2026-11-02", "after": "2026-11-01..2026-11-02"}, "both windows are the same"),
    ],
)
def test_what_cannot_be_compared_is_refused(memory: Store, asked: dict[str, Any], said: str) -> None:
    """Each with what is wrong."""
    with pytest.raises(AnalyzerError, match=said):
        compare(memory, **asked)


def test_every_dimension_is_a_column_of_sessions(memory: Store) -> None:
    """A dimension that the view lacks would compare nothing with nothing."""
    assert set(DIMENSIONS) <= set(memory.view("sessions").columns)
