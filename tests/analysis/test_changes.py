"""Changes that people write down, and what became of them in a made-up history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analyzer.analysis import charts, overview
from analyzer.analysis.changes import change_outcomes, expected_changes, note_change, withdraw_change
from analyzer.analysis.timeline import timeline
from analyzer.errors import AnalyzerError
from analyzer.report import render_html
from analyzer.report.changes import change_outcomes_document
from analyzer.report.writers.text import to_text
from analyzer.store import Store, open_store
from analyzer.store.upkeep.rebuild import rebuild

CHANGED = datetime(2025, 11, 10)
EXPECTED = ["waited_seconds=-50%", "errors=-50%", "recovered_share=+300%", "requests=-1%"]


@pytest.fixture
def log(native: Callable[..., bytes], tmp_path: Path) -> str:
    """Twenty sessions a day for a week on either side: the waiting halves from 18 to 22 s, the errors stay."""
    lines = []
    for number in range(14 * 20):
        at = f"{CHANGED + timedelta(days=number // 20 - 7, hours=1 + number % 20):%Y-%m-%dT%H:%M:%S}"
        names = {"session": f"s-{number}", "caller": "planner", "operation": f"o-{number}"}
        waited = (18.0 + number % 5) / (1 if number < 140 else 2)
        lines.append(native(f"e-{number}", at=at, reason="rate_limited", **names))
        end = {"outcome": "recovered" if number % 3 else "exhausted", "attempts": 2, "waited_seconds": waited}
        lines.append(native(f"x-{number}", "retry.settled", at=at, **end, **names))
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return str(path)


def test_a_change_is_judged_marked_and_kept_by_a_rebuild(log: str, tmp_path: Path) -> None:
    """Waiting fell as expected, errors did not, no log counts requests; charts, sessions and a new store know it."""
    path = str(tmp_path / "x.duckdb")
    with open_store(path, writable=True) as store:
        store.ingest([log])
        noted = note_change(store, "retries 5 →\n3", CHANGED, expected=expected_changes(EXPECTED), by="ana")
        later = note_change(store, "another prompt", CHANGED + timedelta(days=2))
        newest, oldest = change_outcomes(store)
        assert (newest.change, oldest.change.id, oldest.change.text) == (later, noted.id, "retries 5 → 3")
        verdicts = {each.figure: each.verdict for each in oldest.expectations}
        assert verdicts == {
            "waited_seconds": "as_expected",
            "errors": "not_seen",
            "recovered_share": "not_seen",
            "requests": "too_few",
        }
        assert oldest.expectations[0].realised == pytest.approx(-0.5, abs=0.01)
        assert oldest.others == ("another prompt",)
        text = " ".join(to_text(change_outcomes_document([oldest]), 80).split())
        assert "seconds waited a session: expected -50.0%, realised -5" in text
        assert "Not distinguishable from other changes of these two weeks: another prompt" in text
        report = overview(store)
        chart = charts.errors_timeline(report.tables["errors-timeline"])
        assert [mark.text for mark in charts.with_changes(chart, report.tables["changes-noted"]).uprights] == [
            "retries 5 → 3",
            "another prompt",
        ]
        assert "retries 5 → 3" in render_html(report)
        assert report.totals.events == 2 * 14 * 20
        withdraw_change(store, later.id[:30])
        assert [each.change.id for each in change_outcomes(store)] == [noted.id]
    rebuild(path, [log])
    with open_store(path) as store:
        assert [each.change for each in change_outcomes(store)] == [noted]


def test_a_session_that_a_change_fell_into_shows_it(memory: Store, samples: Path) -> None:
    """It stands between the events before and after it."""
    memory.ingest([str(samples)])
    session = "5e1f0c2a-0000-4000-8000-00000000c0de"
    first, *_, last = timeline(memory, session).happenings
    note_change(memory, "another key", first.occurred_at + (last.occurred_at - first.occurred_at) / 2)
    shown = [happening.message for happening in timeline(memory, session).happenings]
    assert 0 < shown.index("another key") < len(shown) - 1


def test_a_change_of_today_waits_for_its_week(memory: Store) -> None:
    """Its outcome is none yet, and the document names the day."""
    note_change(memory, "now", expected={"errors": -0.1})
    (outcome,) = change_outcomes(memory)
    assert outcome.comparison is None
    assert f"Judged from {outcome.judged_from:%Y-%m-%d}" in to_text(change_outcomes_document([outcome]), 80)


@pytest.mark.parametrize(
    ("text", "at", "expected", "message"),
    [
        ("", None, [], "a change of 0 characters"),
        ("x" * 501, None, [], "501 characters"),
        ("x", datetime(2199, 1, 1), [], "still to come"),
        ("x", None, ["waited=-3%"], "unknown figure 'waited'"),
        ("x", None, ["waited_seconds=3"], "not FIGURE"),
    ],
)
def test_a_change_that_says_nothing_is_refused(
    memory: Store, text: str, at: datetime | None, expected: list[str], message: str
) -> None:
    """The error says what is wrong, and nothing is written down."""
    with pytest.raises(AnalyzerError, match=message):
        note_change(memory, text, at, expected=expected_changes(expected))
    with pytest.raises(AnalyzerError, match="no change 'abcdef'"):
        withdraw_change(memory, "abcdef")
    assert change_outcomes(memory) == ()
