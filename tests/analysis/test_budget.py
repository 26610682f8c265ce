"""A budget of dollars a day, over requests whose costs are in their log."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.analysis.budget import budget_state
from analyzer.errors import AnalyzerError
from analyzer.recovery import hooks
from analyzer.report.objectives import budget_document
from analyzer.report.writers.text import to_text
from analyzer.store import Selection, Store


@pytest.fixture
def spent(memory: Store, native: Callable[..., bytes], tmp_path: Path) -> Store:
    """Four dollars at 22:30 of the day before, and at 8:00 and 9:30 of the day; one request without a price."""
    requests = [
        ("20T22:30", 4.0, "shop"),
        ("21T08:00", 4.0, "shop"),
        ("21T09:30", 4.0, "farm"),
        ("21T09:31", None, "shop"),
    ]
    lines = [
        native(f"u-{at}", "usage.recorded", f"2026-11-{at}:00", project=project, model="x", input_tokens=1)
        if cost is None
        else native(f"u-{at}", "usage.recorded", f"2026-11-{at}:00", project=project, cost_usd=cost)
        for at, cost, project in requests
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    memory.ingest([str(tmp_path / "log.jsonl")])
    return memory


@pytest.mark.parametrize(
    ("daily", "timezone", "state", "spent_usd", "passes"),
    [
        (7.99, "UTC", "passed", 8.0, None),
        (10.0, "UTC", "near", 8.0, "10:30"),
        # Four dollars an hour pass 64 at midnight sharp, which is the next day.
        (64.0, "UTC", "within", 8.0, None),
        (63.0, "UTC", "near", 8.0, "23:45"),
        # In Berlin the day began at 23:00 UTC, in Sydney at 13:00 UTC.
        (12.5, "Australia/Sydney", "near", 12.0, "10:07"),
    ],
)
def test_a_budget_is_told_of_before_it_is_passed(
    spent: Store, daily: float, timezone: str, state: str, spent_usd: float, passes: str | None
) -> None:
    """The pace is that of the last hour, and the day is that of the zone."""
    budget = budget_state(spent, daily, datetime(2026, 11, 21, 10), timezone)
    assert (budget.state, budget.spent_usd, budget.last_hour_usd, budget.unpriced) == (state, spent_usd, 4.0, 1)
    assert (budget.passes_at and f"{budget.passes_at:%H:%M}") == passes
    assert ("At this pace" in to_text(budget_document(budget), 80)) == (passes is not None)


def test_a_project_has_a_budget_of_its_own(spent: Store) -> None:
    """Requests of others do not count, and a day without any is within."""
    with spent.selecting(Selection(project="farm")):
        assert budget_state(spent, 5, datetime(2026, 11, 21, 10)).spent_usd == 4.0
    nothing = budget_state(spent, 5, datetime(2026, 11, 25))
    assert (nothing.state, nothing.spent_usd, nothing.last_at) == ("within", 0.0, None)
    for daily in (0, -1, float("nan")):
        with pytest.raises(AnalyzerError, match="a budget of"):
            budget_state(spent, daily)


def test_a_hook_stops_its_agent_while_the_file_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints what Claude Code takes as an order to end the turn; without the file nothing."""
    path = tmp_path / "stop"
    assert hooks.run("stop", str(path)) == 0
    assert capsys.readouterr().out == ""
    path.write_text("$21.00 of $20.00 spent today (105.0%).\n", "utf-8")
    assert hooks.run("stop", str(path)) == 0
    assert json.load(io.StringIO(capsys.readouterr().out)) == {
        "continue": False,
        "stopReason": "$21.00 of $20.00 spent today (105.0%).",
    }
