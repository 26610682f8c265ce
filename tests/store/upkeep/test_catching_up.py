"""Decisions that only the journal has: whoever made them died before the store had them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.store import open_store, rebuild
from analyzer.store.db.connection import connect
from analyzer.store.upkeep.catching_up import catch_up
from tests.store.upkeep.test_rebuild import MOMENTS, RULES, assert_same, dump

Native = Callable[..., bytes]


def _dies(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def path(tmp_path: Path, native: Native) -> Path:
    """A store with an old and a new error."""
    log = tmp_path / "log.jsonl"
    facts = {"message": "Design file snapshot is being rehydrated, come back in 9 s"}
    log.write_bytes(
        native("a", at="2026-05-01T08:00:00", caller="x", reason="unknown", facts={"message": "old"})
        + native("b", at="2026-07-01T08:00:00", caller="x", reason="unknown", facts=facts)
    )
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(log)])
    return tmp_path / "s.duckdb"


def test_a_prune_that_died_behind_the_journal_is_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal says that history goes: it goes when the store is opened next, as a rebuild would have it."""
    with open_store(path, writable=True) as store, monkeypatch.context() as patched:
        patched.setattr("analyzer.store.journal.keep_decided", _dies)
        with pytest.raises(KeyboardInterrupt):
            store.prune(datetime(2026, 6, 1))
        assert store.sql("select count(*) from errors").item() == 2
    with open_store(path, writable=True) as store:
        assert store.sql("select event_id from errors")["event_id"].to_list() == ["b"]
    before = dump(path)
    rebuild(str(path), [])
    assert_same(dump(path), before)


def test_a_ruleset_whose_application_died_behind_the_journal_is_active(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rules are kept beside the journal, so that it judges from the next opening on."""
    rules = path.parent / "rules.toml"
    rules.write_text(RULES, "utf-8")
    with open_store(path, writable=True) as store, monkeypatch.context() as patched:
        patched.setattr("analyzer.store.journal.keep_decided", _dies)
        with pytest.raises(KeyboardInterrupt):
            store.reclassify(str(rules), apply=True)
    with open_store(path, writable=True) as store:
        store.judge_history()
        assert store.sql("select reason from errors where event_id = 'b'").item() == "network_transient"
    before = dump(path, MOMENTS)
    rebuild(str(path), [])
    assert_same(dump(path, MOMENTS), before)


def test_a_journal_is_searched_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was searched is remembered, and what came since is looked at; what the store has is not taken over again."""
    monkeypatch.setattr("analyzer.store.upkeep.catching_up._WORTH_KEEPING", 1)
    with open_store(path, writable=True) as store:
        store.decide([("finding.opened", {"finding_id": "f"})])
    connection = connect(str(path), read_only=False)
    try:
        assert catch_up(connection, str(path)) == 0
        searched = _Searched()
        monkeypatch.setattr("analyzer.store.upkeep.catching_up._DECISION", searched)
        assert catch_up(connection, str(path)) == 0
        assert searched.bytes == 0
        monkeypatch.setattr("analyzer.store.upkeep.catching_up._offsets", lambda _connection: {})
        assert catch_up(connection, str(path)) == 0
        assert searched.bytes > 0
    finally:
        connection.close()
    with open_store(path) as store:
        assert store.sql("select count(*) from findings").item() == 1


class _Searched:
    """Stands for the pattern of a decision, and adds up how much is searched for it."""

    def __init__(self) -> None:
        self.bytes = 0

    def finditer(self, _data: bytes, begin: int, end: int) -> Iterator[Any]:
        self.bytes += end - begin
        return iter(())


def test_a_journal_that_breaks_off_is_caught_up_with_as_far_as_it_goes(path: Path) -> None:
    """A torn last line is nobody's decision; what stands before it is."""
    open_store(path, writable=True).close()
    older = path.read_bytes()
    with open_store(path, writable=True) as store:
        store.decide([("finding.opened", {"finding_id": "f"})])
        store.decide([("finding.resolved", {"finding_id": "f"})])
    (part,) = (path.parent / "s.journal").glob("*.jsonl")
    part.write_bytes(part.read_bytes()[:-20])
    path.write_bytes(older)
    with open_store(path, writable=True) as store:
        assert store.sql("select finding_id, state from findings").rows() == [("f", "open")]
