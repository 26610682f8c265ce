"""Views that are worked out once: the same answers, for as long as the block lasts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis.summary.overview import overview
from analyzer.analysis.tables import Window
from analyzer.store import Store
from analyzer.store.query import pinning


def _kinds(store: Store) -> dict[str, str]:
    rows = store.sql(
        "select table_name, table_type from information_schema.tables"
        " where table_name in ('errors', 'relays', 'retries', 'sessions', 'endings', 'usage')"
        " and table_type = 'LOCAL TEMPORARY'"
    )
    return dict(rows.rows())


def test_a_report_says_the_same_with_and_without(memory: Store, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure of the samples' report, but for the moment it was made at."""
    memory.ingest([str(samples)])
    pinned = overview(memory, Window()).to_dict()
    monkeypatch.setattr(pinning, "PINNED", {})
    plain = overview(memory, Window()).to_dict()
    assert pinned | {"generated_at": ""} == plain | {"generated_at": ""}
    assert pinned["totals"]["errors"] == 121


@pytest.mark.parametrize("days", [(3, 6), (5, 6)])
def test_a_report_of_a_window_says_the_same_with_and_without(
    memory: Store,
    jsonl: Callable[..., Path],
    native: Any,
    monkeypatch: pytest.MonkeyPatch,
    days: tuple[int, int],
) -> None:
    """Chains and hand-offs that begin before it, end behind it or take all of it have the same figures."""
    start = datetime(2026, 11, 1)
    lines = []
    for number in range(160):
        at = (start + timedelta(hours=1.4 * number)).isoformat()
        known = {"operation": f"op-{number // 9:02}", "caller": "ab"[number % 2], "session": f"s{number % 7}"}
        facts = {"message": "nobody knows" if number % 3 else "Too Many Requests"}
        if number % 30 == 10:
            left = {"operation": f"op-{number // 9:02}-left", "caller": "a", "session": f"left-{number}"}
            lines.append(native(f"l{number}", at=at, reason="unknown", facts=facts, **left))
            lines.append(native(f"r{number}", "retry.scheduled", at, attempt=1, delay_seconds=1, **left))
        if number % 15 == 14:
            lines.append(native(f"c{number}", "relay.resumed", at, relay=f"r{number // 15}", post_tokens=1, **known))
        if number % 3 == 1:
            used = {"model": "claude-opus-4-5", "caller": known["caller"], "session": known["session"]}
            tokens = {"input_tokens": number, "cache_read_tokens": 9 * (number % 8), "cache_write_tokens": 90}
            lines.append(native(f"u{number}", "usage.recorded", at, request=f"q{number}", **used, **tokens))
        if number % 5 == 4:
            lines.append(native(f"e{number}", "retry.settled", at, outcome="recovered", attempts=2, **known))
        elif number % 5 == 3:
            lines.append(
                native(f"e{number}", "relay.triggered", at, relay=f"r{number // 15}", pre_tokens=number, **known)
            )
        else:
            lines.append(native(f"e{number}", at=at, reason="unknown", facts=facts, **known))
    memory.ingest([str(jsonl("a.jsonl", *(line.decode().strip() for line in lines)))])
    window = Window(*(start + timedelta(days=number) for number in days))
    pinned = overview(memory, window).to_dict()
    monkeypatch.setattr(pinning, "PINNED", {})
    plain = overview(memory, window).to_dict()
    assert pinned | {"generated_at": ""} == plain | {"generated_at": ""}
    assert pinned["totals"]["retry_chains"]
    causes = {row["cause"] for row in pinned["tables"]["cost-of-failure"]["rows"]}
    assert {"failed_request", "expired_cache"} <= causes
    # Hand-offs lie further apart than the shortest window is long.
    assert ("compaction" in causes) == (days != (5, 6))
    assert pinned["tables"]["endings-by-kind"]["rows"]


def test_within_the_block_they_stay_and_behind_it_they_go_on(
    memory: Store, jsonl: Callable[..., Path], native: Any
) -> None:
    """What is read meanwhile shows once the block has ended, also where it ended by an error."""
    memory.ingest([str(jsonl("a.jsonl", native("1", reason="unknown").decode().strip()))])
    other = str(jsonl("b.jsonl", native("2", reason="unknown").decode().strip()))
    with pytest.raises(KeyError), memory.pinned():
        assert set(_kinds(memory)) == set(pinning.PINNED)
        memory.ingest([other])
        assert memory.sql("from errors").height == 1
        raise KeyError
    assert _kinds(memory) == {}
    assert memory.sql("from errors").height == 2


def test_a_copy_that_is_let_go_of_gives_its_place_to_the_view(
    memory: Store, jsonl: Callable[..., Path], native: Any
) -> None:
    """The view has all of its columns, and is made of the copies that are left."""
    memory.ingest([str(jsonl("a.jsonl", native("1", reason="rate_limited", message="slow").decode().strip()))])
    with memory.pinned() as drop:
        assert memory.sql("select message from errors").item() is None
        drop("errors")
        assert set(_kinds(memory)) == set(pinning.PINNED) - {"errors"}
        assert memory.sql("select message from errors").item() == "slow"


def test_no_room_for_a_copy_costs_nothing_but_time(
    memory: Store, jsonl: Callable[..., Path], native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that cannot be made is done without."""
    memory.ingest([str(jsonl("a.jsonl", native("1", reason="unknown").decode().strip()))])
    monkeypatch.setattr(pinning, "PINNED", {"retries": "*", "no_such_view": "*", "relays": "*"})
    with memory.pinned():
        assert set(_kinds(memory)) == {"retries"}
        assert memory.sql("from errors").height == 1
    assert _kinds(memory) == {}


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, steps in pinning._AFTER.items() for number in range(len(steps))]
)
def test_no_room_for_the_rest_of_a_copy_leaves_none_of_it(
    memory: Store, samples: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """A copy of a window's part alone would answer for the whole; the copies before it stay."""
    memory.ingest([str(samples)])
    steps = list(pinning._AFTER[name])
    steps[number] = "select no_such_column from internal.event_v1"
    monkeypatch.setitem(pinning._AFTER, name, tuple(steps))
    with memory.pinned(datetime(2026, 11, 1)):
        left = _kinds(memory)
    assert name not in left
    assert left["sessions"] == "LOCAL TEMPORARY"
