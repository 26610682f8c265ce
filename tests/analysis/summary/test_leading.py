"""The sentences that a report opens with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from analyzer.analysis import Overview, overview
from analyzer.classifier.recovery_table import advice
from analyzer.events.times import now
from analyzer.store import Store, open_store
from tests.analysis.histories import line

Errors = list[dict[str, Any]]


def report_on(errors: Errors, tmp_path: Any) -> Overview:
    """A report on errors, each of a session of its own on the day before unless they say otherwise."""
    day = now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    lines = []
    for number, error in enumerate(errors):
        given = {"caller": "probe", "session": f"s-{number}", **error}
        at = day - timedelta(days=given.pop("ago", 0))
        lines.append(line(f"e-{number}", at=at.isoformat(), **given))
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    store: Store
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path)])
        return overview(store)


def overloaded(outcome: str = "exhausted", **more: Any) -> dict[str, Any]:
    """An error of an overloaded provider."""
    facts = {"status": 529, "message": "Overloaded"}
    return {"reason": "network_transient", "detail": "overloaded", "outcome": outcome, "facts": facts, **more}


def refused(**more: Any) -> dict[str, Any]:
    """An error of a key that is refused."""
    return {
        "reason": "auth_error",
        "outcome": "surfaced",
        "facts": {"status": 401, "message": "invalid x-api-key"},
        **more,
    }


def test_what_left_most_sessions_without_an_answer_comes_first(tmp_path: Any) -> None:
    """One session that repeats an error is one, and what recovered is no failure; the advice is that of its reason."""
    errors = [refused(), refused(), *[overloaded(session="loop")] * 5, *[overloaded("recovered") for _ in range(4)]]
    most, whose = report_on(errors, tmp_path).leading
    assert most.text == "Failed most: one auth_error message, 2 times in 2 of 7 sessions; 2 gave up."
    assert (most.topic, most.quote, most.advice) == ("most", "invalid x-api-key", advice("auth_error", None))
    assert whose.text == "Whose errors: provider 81.8%, account 18.2%."


def test_what_a_user_stopped_is_no_failure(tmp_path: Any) -> None:
    """Whose it was is said all the same."""
    stopped = {"reason": "unknown", "detail": "aborted", "facts": {"message": "Request was aborted by user"}}
    (whose,) = report_on([stopped, stopped], tmp_path).leading
    assert whose.text == "Whose errors: user 100.0%."


def test_without_an_error_nothing_is_said(tmp_path: Any) -> None:
    """A relay is no error."""
    relay = {"kind": "relay.completed", "step_id": "a"}
    assert report_on([relay], tmp_path).leading == ()


@pytest.mark.parametrize("before", [9, 12])
def test_a_week_is_held_against_the_one_before(before: int, tmp_path: Any) -> None:
    """By the share of sessions with errors; of fewer than ten sessions in either nothing is said."""
    calm = {"kind": "tool.failed", "tool": "Bash", "message": "no"}
    errors = [refused(ago=9), *[{**calm, "ago": 10} for _ in range(before - 1)]]
    errors += [refused(ago=2), refused(ago=1), refused(ago=3), *[{**calm, "ago": 2} for _ in range(9)]]
    said = [one.text for one in report_on(errors, tmp_path).leading if one.topic == "change"]
    text = "Sessions with errors in the last 7 days: 25.0% of 12; a week before 8.3% of 12."
    assert said == ([text] if before == 12 else [])
