"""A part of a store: what has one project, agent, caller, reason, provider or model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import check, overview
from analyzer.analysis.summary.window_findings import select_nights
from analyzer.errors import AnalyzerError
from analyzer.store import Selection, Store, narrows, open_store
from tests import sampled

VIEWS = ("errors", "retries", "relays", "exhaustions", "sessions", "tool_failures", "tool_calls", "events", "verdicts")


def _lines(number: int, project: str, reason: str, model: str) -> Iterator[dict[str, Any]]:
    """A session with an error that is tried again in vain, a hand-off, a limit and a failed tool."""
    work = {
        "project": project,
        "agent": "claude-code",
        "caller": f"claude-code@{project}",
        "model": model,
        "provider": f"of-{model}",
    }
    ended = {"requests": 3, "part": "x", "tools": {"Bash": 2}, "ended_at": "2026-11-02T10:00:00Z"}
    chain = {"operation": f"op-{number}", "reason": reason, "attempt": 1}
    for kind, payload in (
        ("error.classified", chain),
        ("retry.scheduled", {**chain, "delay_seconds": 1}),
        # What it ends as is another reason than what its errors had.
        ("retry.settled", {**chain, "reason": "network_permanent", "outcome": "exhausted"}),
        ("relay.triggered", {"relay": f"r-{number}"}),
        ("agent.exhausted", {}),
        ("tool.failed", {"tool": "Bash", "kind": "exit_code", "message": "Exit code 1"}),
        ("session.observed", ended),
    ):
        yield {
            "v": 1,
            "id": f"{number}-{kind}",
            "type": kind,
            "timestamp": "2026-11-02T09:00:00Z",
            "sessionId": f"s-{number}",
            "payload": {**work, **payload},
        }


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three sessions: two projects, two reasons, two models."""
    given = [
        (1, "shop", "network_transient", "m1"),
        (2, "it's", "network_transient", "m2"),
        (3, "shop", "unknown", "m1"),
    ]
    lines = [json.dumps(line) for session in given for line in _lines(*session)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    with open_store(":memory:") as opened:
        opened.ingest([str(tmp_path)])
        yield opened


def _counts(store: Store) -> dict[str, int]:
    return {name: store.sql(f"select count(*) from {name}").item() for name in VIEWS}


@pytest.mark.parametrize(
    ("only", "sessions", "others"),
    sampled(
        [
            (Selection(project="shop"), 2, 2),
            (Selection(project="it's"), 1, 1),
            (Selection(agent="claude-code"), 3, 3),
            (Selection(caller="claude-code@shop"), 2, 2),
            (Selection(model="m2"), 1, 1),
            (Selection(provider="of-m1"), 2, 2),
            (Selection(project="shop", model="m2"), 0, 0),
            # What has no reason is in no part of one reason: hand-offs, limits and failed tools.
            (Selection(reason="network_transient"), 2, 0),
            (Selection(project="shop", reason="unknown"), 1, 0),
        ],
        step=2,
    ),
)
def test_every_view_shows_that_part_alone(store: Store, only: Selection, sessions: int, others: int) -> None:
    """And within the block alone."""
    whole = _counts(store)
    with store.selecting(only):
        part = _counts(store)
        outcomes = set(store.sql("select outcome from errors")["outcome"])
    assert _counts(store) == whole
    assert {part[name] for name in ("errors", "retries", "sessions", "verdicts")} == {sessions}
    assert {part[name] for name in ("relays", "exhaustions", "tool_failures", "tool_calls")} == {others}
    # A chain ends as another reason than its errors have, and they keep their end all the same.
    assert outcomes == ({"exhausted"} if sessions else set())
    assert whole["events"] == 21


def test_macros_show_that_part_alone(store: Store) -> None:
    """The errors as another ruleset judges them."""
    with store.selecting(Selection(project="shop")):
        assert store.sql("select count(*) from errors_under(null)").item() == 2
        assert store.sql("select count(*) from comparable_errors(null, null)").item() == 2
    assert store.sql("select count(*) from errors_under(null)").item() == 3


def test_a_report_of_a_part_says_so(store: Store) -> None:
    """Its figures are those of the part; a report of the whole store has no word of it."""
    part = overview(store, only=Selection(project="shop"))
    assert (part.totals.errors, part.totals.tool_failures, part.totals.exhaustions) == (2, 2, 2)
    assert part.to_dict()["only"] == {"project": "shop"}
    whole = overview(store)
    assert whole.totals.errors == 3
    assert "only" not in whole.to_dict()


def test_a_narrowed_check_leaves_the_night_as_it_was(samples: Path) -> None:
    """The whole fleet is judged; of its findings those about the part are told."""
    judged = open_store(":memory:")
    judged.ingest([str(samples)])
    night = check(judged, until="2026-11-10")
    caller = next(one.scope.caller for one in night.findings if one.scope.caller)
    (mine,) = select_nights(judged, [night], Selection(caller=caller))
    (none,) = select_nights(judged, [night], Selection(caller="nobody"))
    assert mine.findings
    assert {one.scope.caller for one in mine.findings} == {caller}
    assert not none.findings
    assert check(judged, until="2026-11-10").findings == night.findings
    assert select_nights(judged, [night], Selection()) == [night]
    judged.close()


def test_a_query_about_the_whole_store_has_no_parts() -> None:
    """A part of the files that were read is none of errors."""
    assert narrows("select * from errors_under($ruleset) as e")
    assert narrows("select 1 from a left join retries as r on true")
    assert not narrows("select * from sources")
    assert not Selection()
    assert str(Selection(project="shop", model="m")) == "project shop, model m"


@pytest.mark.parametrize("name", ["project", "agent", "caller", "reason", "provider", "model"])
def test_what_is_no_text_is_refused(name: str) -> None:
    """Half of a UTF-16 pair, which stands in Python for a byte that is no UTF-8."""
    with pytest.raises(AnalyzerError, match=rf"{name} '\\udcff' is not UTF-8"):
        Selection(**{name: "\udcff"})
