"""Objectives: budgets and burn rates of a made-up history, by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import check
from analyzer.analysis.objectives import objective_states, objectives_of
from analyzer.analysis.summary.day_figures import night_figures
from analyzer.errors import AnalyzerError
from analyzer.report.night.metrics import render_prometheus
from analyzer.report.objectives import objective_sentences, objectives_document
from analyzer.report.writers.text import to_text
from analyzer.store import Store

NOW = datetime(2026, 11, 20, 12)
OBJECTIVES = {"sessions_done": 0.95, "waited_minutes": 2, "callers": {"coder": {"sessions_done": 0.5, "days": 7}}}


def session(native: Callable[..., bytes], number: int, minutes_ago: int, outcome: str, *, caller: str) -> list[bytes]:
    """A session that waited a minute; `answered` failed, and was answered later."""
    at = NOW - timedelta(minutes=minutes_ago)
    names: dict[str, Any] = {"session": f"s-{number}", "caller": caller, "at": at.isoformat()}
    chain = {"operation": f"o-{number}", "reason": "rate_limited"}
    end = {"outcome": "recovered" if outcome == "recovered" else "exhausted", "attempts": 2, "waited_seconds": 60.0}
    lines = [native(f"e-{number}", **chain, **names), native(f"x-{number}", "retry.settled", **end, **chain, **names)]
    if outcome == "answered":
        later = (at + timedelta(seconds=1)).isoformat()
        lines.append(native(f"u-{number}", "usage.recorded", **{**names, "at": later, "input_tokens": 1}))
    return lines


@pytest.fixture
def history(memory: Store, native: Callable[..., bytes], tmp_path: Path) -> Store:
    """A hundred sessions of a planner, of which four fail, two of them within the last hour; two of a coder."""
    made = [(ago, "recovered", "planner") for ago in (*range(10_000, 10_088), *range(100, 108))]
    made += [(10, "exhausted", "planner"), (20, "exhausted", "planner")]
    made += [(9_000, "exhausted", "planner"), (9_001, "exhausted", "planner"), (5_000, "answered", "coder")]
    made += [(5_001, "exhausted", "coder"), (50_000, "exhausted", "coder")]
    lines = [
        line
        for number, (ago, outcome, caller) in enumerate(made)
        for line in session(native, number, ago, outcome, caller=caller)
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    memory.ingest([str(tmp_path / "log.jsonl")])
    return memory


def test_budgets_and_burn_rates_are_those_of_the_workbook(history: Store) -> None:
    """102 sessions ended in 30 days; the one of a month before counts nowhere."""
    done, waits, coder = objective_states(history, objectives_of(OBJECTIVES), NOW)
    assert (done.sessions, done.used, done.allowed) == (102, 5, pytest.approx(5.1))
    assert done.budget_left == pytest.approx(1 - 5 / 5.1)
    assert done.burn_1h == pytest.approx(2 / (2 * 0.05)) and done.burn_6h == pytest.approx(2 / (10 * 0.05))
    assert done.burns_fast and not done.is_missed
    assert (waits.value, waits.budget_left, waits.burn_1h) == (1.0, 0.5, 0.5)
    assert not waits.burns_fast
    assert (coder.sessions, coder.used, coder.value, coder.budget_left) == (2, 1, 0.5, 0.0)
    assert (coder.burn_1h, coder.burn_6h) == (None, None)


def test_the_words_say_first_what_is_wrong(history: Store) -> None:
    """A fast burn, a missed objective, and one without any session."""
    states = objective_states(history, objectives_of({"sessions_done": 0.95}), NOW)
    assert objective_sentences(states)[0] == (
        "Burning fast: sessions that do their work: 95.1% (at least 95.0% in 30 days); "
        "2.0% of the budget left, burn rate 20.0 over 1 h, 4.0 over 6 h."
    )
    missed = objective_states(history, objectives_of({"sessions_done": 0.99}), NOW)
    assert objective_sentences(missed)[0].startswith("Missed: sessions that do their work: 95.1%")
    text = to_text(objectives_document(missed), 100)
    assert "MISSED" in text and "burn 1 h" in text
    nobody = objective_states(history, objectives_of({"callers": {"nobody": {"waited_minutes": 1}}}), NOW)
    assert objective_sentences(nobody) == [
        "Objective, minutes waited a session of nobody: no session ended in 30 days."
    ]


def test_gauges_have_them(history: Store) -> None:
    """The budget that is left, and both burn rates; a caller without a session in these hours has none."""
    night = check(history, until="2026-11-20")
    states = objective_states(history, objectives_of(OBJECTIVES), NOW)
    lines = render_prometheus(night, night_figures(history, night), states).decode().splitlines()
    assert 'analyzer_objective_budget_left{caller="coder",objective="sessions_done"} 0.0' in lines
    burns = [line for line in lines if line.startswith("analyzer_objective_burn_rate{")]
    assert len(burns) == 4
    assert 'analyzer_objective_burn_rate{caller="",hours="6",objective="waited_minutes"} 0.5' in burns


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"sessions": 0.9}, "unknown key in"),
        ({"sessions_done": 1}, "sessions_done = 1"),
        ({"sessions_done": True}, "sessions_done = True"),
        ({"waited_minutes": "2"}, "waited_minutes = '2'"),
        ({"waited_minutes": 2, "days": 0}, "days = 0"),
        ({"callers": {"a": 3}}, "objective.callers.a is no table"),
        ({"days": 3}, "has no objective"),
        ([], "objective is no table"),
    ],
)
def test_a_table_that_sets_no_objective_is_refused(section: object, message: str) -> None:
    """The error names the file and what is wrong."""
    with pytest.raises(AnalyzerError, match=message) as error:
        objectives_of(section)
    assert error.value.message.startswith("analyzer.toml: ")
