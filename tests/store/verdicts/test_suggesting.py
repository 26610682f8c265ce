"""The second opinion in the store: once for each distinct facts, beside the verdict, and never instead of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.classifier import extract
from analyzer.classifier.suggestion import suggest
from analyzer.store import Store
from analyzer.store.verdicts import rulesets

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


@pytest.mark.parametrize("view", ["errors_under(null)", "comparable_errors(null, null)", "verdicts"])
def test_the_other_views_of_errors_have_it_too(memory: Store, log: Path, view: str) -> None:
    """Beside an unknown verdict, and nowhere else."""
    memory.ingest([str(log)])
    proposed = memory.sql("select reason, suggested_reason, suggested_probability from errors order by event_id").rows()
    asked = f"select reason, suggested_reason, suggested_probability from {view} order by event_id"
    assert memory.sql(asked).rows() == proposed
    assert any(row[1] for row in proposed)


def test_a_view_of_another_ruleset_proposes_where_that_one_knows_nothing(
    memory: Store, log: Path, tmp_path: Path
) -> None:
    """And no longer where it knows the error."""
    memory.ingest([str(log)])
    rules = tmp_path / "rules.toml"
    rules.write_text(
        """
[[rule]]
id = "heron"
reason = "validation"
text = ["traffic to this heron"]
source = "made up"
examples = ["Traffic to this heron is slow", "traffic to this heron stands"]
counter_examples = ["traffic to that heron"]
""",
        "utf-8",
    )
    memory.reclassify(str(rules), apply=True)
    assert memory.sql("select count(suggested_reason) from errors_under(null)").rows() == [(0,)]
    assert memory.sql("select count(suggested_reason) from errors_under('none such')").rows() == [(2,)]
    assert memory.sql("select recorded, count(suggested_reason) from verdicts group by all order by all").rows() == [
        (False, 0),
        (True, 2),
    ]


def test_each_text_is_asked_about_once(memory: Store, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many errors say it, and however often logs are read."""
    asked: list[str | None] = []
    monkeypatch.setattr(
        "analyzer.classifier.suggestion.suggest", lambda facts: asked.append(facts.message) or suggest(facts)
    )
    monkeypatch.setattr(rulesets, "CHUNK", 1)
    memory.ingest([str(log)])
    memory.ingest([str(log)])
    assert sorted(filter(None, asked)) == sorted([LATE, PARKED])
