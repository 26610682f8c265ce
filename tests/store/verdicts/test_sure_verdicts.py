"""How sure verdicts are, in the views: as recorded, and as a ruleset judges history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.store import Store

ERRORS = {
    "a": ({"status": 500, "message": "the heron sat on the mains"}, "weak"),
    "b": ({"status": 529, "type": "overloaded_error"}, "strong"),
    "c": ({"message": "the quota heron is asleep"}, None),
}


@pytest.fixture
def store(memory: Store, tmp_path: Path, native: Callable[..., bytes]) -> Store:
    """Three errors, recorded as strong whatever they are."""
    lines = [
        native(name, at="2026-10-20T08:00:00", session=name, caller="probe", confidence="strong", facts=facts)
        for name, (facts, _) in ERRORS.items()
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    memory.ingest([str(tmp_path / "log.jsonl")])
    return memory


def test_the_recorded_confidence_is_shown_until_a_ruleset_is_applied(store: Store) -> None:
    """Then that of its verdicts is; the view of verdicts keeps both."""
    assert store.sql("select distinct confidence from errors").rows() == [("strong",)]
    store.reclassify(apply=True)
    judged = [(name, confidence) for name, (_, confidence) in ERRORS.items()]
    assert store.sql("select event_id, confidence from errors order by event_id").rows() == judged
    asked = "select event_id, confidence from verdicts where {} recorded order by event_id"
    assert store.sql(asked.format("not")).rows() == judged
    assert store.sql(asked.format("")).rows() == [(name, "strong") for name in ERRORS]


def test_any_ruleset_says_how_sure_it_is(store: Store) -> None:
    """Also one that is not applied; its status is beside it."""
    digest = store.judge_history()
    rows = store.sql(f"select event_id, confidence, status from errors_under('{digest}') order by event_id").rows()
    assert rows == [("a", "weak", 500), ("b", "strong", 529), ("c", None, None)]
