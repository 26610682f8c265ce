"""Views that are worked out once: the same answers, for as long as the block lasts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis.summary.overview import overview
from analyzer.analysis.window import Window
from analyzer.store import Store
from analyzer.store.db import pinning


def _kinds(store: Store) -> dict[str, str]:
    rows = store.sql(
        "select table_name, table_type from information_schema.tables where table_name in ('errors', 'retries')"
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


def test_no_room_for_a_copy_costs_nothing_but_time(
    memory: Store, jsonl: Callable[..., Path], native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that cannot be made is done without."""
    memory.ingest([str(jsonl("a.jsonl", native("1", reason="unknown").decode().strip()))])
    monkeypatch.setattr(pinning, "PINNED", {"retries": "*", "no_such_view": "*", "errors": "*"})
    with memory.pinned():
        assert set(_kinds(memory)) == {"retries"}
        assert memory.sql("from errors").height == 1
    assert _kinds(memory) == {}
