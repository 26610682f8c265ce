"""The second opinion in the store: once for each distinct facts, beside the verdict, and never instead of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.classifier import extract
from analyzer.classifier.suggestion import suggest
from analyzer.store import Store
from analyzer.store.verdicts import suggesting

LATE = "Traffic to this heron is throttled: slow down your requests"
PARKED = "Reply 7 belongs to no open call"
ASKED = "select message, reason, suggested_reason, suggested_probability from errors order by event_id"


@pytest.fixture
def log(jsonl: Callable[..., Path], native: Any) -> Path:
    """Two errors that say the same, one that the model knows nothing of, and one that a rule knew."""
    rows = [
        ("a", "unknown", LATE),
        ("b", "unknown", LATE),
        ("c", "unknown", PARKED),
        ("d", "validation", "Lane 4 is malformed: throttled requests"),
    ]
    lines = [native(name, reason=reason, facts={"message": said}).decode().strip() for name, reason, said in rows]
    return jsonl("log.jsonl", *lines)


def test_unknown_errors_have_it_in_the_view(memory: Store, log: Path) -> None:
    """With its probability; null where nothing is proposed and where a reason is known. The reason stays unknown."""
    proposed = suggest(extract(LATE))
    assert proposed is not None
    memory.ingest([str(log)])
    said = (proposed.reason, round(proposed.probability, 3))
    assert [row[1:] for row in memory.sql(ASKED).rows()] == [
        ("unknown", *said),
        ("unknown", *said),
        ("unknown", None, None),
        ("validation", None, None),
    ]


def test_each_text_is_asked_about_once(memory: Store, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many errors say it, and however often logs are read."""
    asked: list[str | None] = []
    monkeypatch.setattr(
        "analyzer.classifier.suggestion.suggest", lambda facts: asked.append(facts.message) or suggest(facts)
    )
    monkeypatch.setattr(suggesting, "CHUNK", 1)
    memory.ingest([str(log)])
    memory.ingest([str(log)])
    assert sorted(filter(None, asked)) == sorted([LATE, PARKED])
