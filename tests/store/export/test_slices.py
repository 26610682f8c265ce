"""A slice is a whole store of a window: what it shows is what the store that it was cut from shows of that."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from analyzer.errors import StoreError
from analyzer.store import examine, open_store
from analyzer.store.export.slices import cut_slice

SINCE = datetime(2026, 11, 4)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """A store of the samples, with an applied ruleset."""
    path = tmp_path_factory.mktemp("whole") / "s.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(samples)])
        store.reclassify(apply=True)
    return path


def test_a_slice_holds_its_window(whole: Path, tmp_path: Path) -> None:
    """Errors of the window are the same, with ids, verdicts and places; it opens for every use and says what it is."""
    path = tmp_path / "slice.duckdb"
    made = cut_slice(str(whole), str(path), SINCE, datetime(2026, 11, 7))
    asked = "select * from errors where occurred_at >= '2026-11-04' and occurred_at < '2026-11-07' order by event_id"
    with open_store(whole) as store:
        expected = store.sql(asked)
        decided = store.sql("select * from events where source_path is null order by event_id")
    with open_store(path, writable=True) as store:
        assert expected.height > 10
        assert store.sql("select * from errors order by event_id").equals(expected)
        assert store.sql("select * from events where source_path is null order by event_id").equals(decided)
        assert store.sql("select count(*) as events from events").item() == made.events
        assert made.said in repr(store)
    checks = {check.name: check for check in examine(str(path))}
    assert checks["slice"].said == made.said
    assert made.said == "a slice of s.duckdb: what happened from 2026-11-04T00:00:00.000Z to 2026-11-07T00:00:00.000Z"
    assert not [check for check in checks.values() if check.state == "problem"]


def test_a_slice_is_made_again_and_a_store_is_never_replaced(whole: Path, tmp_path: Path) -> None:
    """What stands in the place of a slice goes only if it is one."""
    path = tmp_path / "slice.duckdb"
    first = cut_slice(str(whole), str(path), SINCE, None)
    assert cut_slice(str(whole), str(path), None, None).events > first.events
    with pytest.raises(StoreError, match="no slice"):
        cut_slice(str(path), str(whole), None, None)
    with pytest.raises(StoreError, match="the store itself"):
        cut_slice(str(path), str(path), None, None)
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["slice.duckdb", "slice.duckdb.lock"]
