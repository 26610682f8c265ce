"""Who may write to a lake, and what becomes of a batch that was not finished; no Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra `spark` is not installed")

import pyarrow as pa
from deltalake import DeltaTable

from analyzer.errors import BUSY, StoreBusyError, StoreError
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.writing.lease import Lease
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.opening import ingest_into, opened

ROW = pa.table({"event_id": ["a"], "line": ["{}"]})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake."""
    made = lake_of(f"delta:{tmp_path}/fleet")
    (tmp_path / "logs").mkdir()
    assert ingest_into(made, [str(tmp_path / "logs")]).total.lines == 0
    return made


def _ledger(lake: Lake, *, taken_over: bool = False) -> Ledger:
    names = ("journal_v1", "source_v1")
    return Ledger({name: DeltaTable(lake.table(name)) for name in names}, taken_over=taken_over)


def _lines(lake: Lake) -> list[str]:
    return sorted(DeltaTable(lake.table("journal_v1")).to_pyarrow_table()["event_id"].to_pylist())


def test_nothing_to_read_starts_no_spark(lake: Lake) -> None:
    """The lake is there all the same, and can be read again."""
    assert lake.exists
    assert ingest_into(lake, [lake.path + "/../logs"]).total.events == 0


def test_two_writers_at_once_are_told_apart_with_75(lake: Lake) -> None:
    """The second one is told who writes, and gets in once the first one has finished."""
    with Lease(lake.path), pytest.raises(StoreBusyError, match="is being written by process") as caught, opened(lake):
        pass
    assert caught.value.exit_code == BUSY
    with opened(lake):
        pass


def test_the_lease_of_a_dead_process_is_taken_over(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be another process's by now: that one's beginning tells them apart."""
    dead = Lease(lake.path)
    monkeypatch.setattr("analyzer.lake.writing.lease._began", lambda process: "another time")
    dead.__enter__()
    monkeypatch.undo()
    with Lease(lake.path) as lease:
        assert lease.taken_over
    dead._ended.set()
    dead._heart.join()


def test_a_finished_batch_stays_and_an_unfinished_one_is_taken_back(lake: Lake) -> None:
    """Finished is what the table of sources has the number of; a second look takes nothing more back."""
    ledger = _ledger(lake)
    with ledger.batch():
        ledger.append("journal_v1", ROW)
    for name in ("b", "c"):
        died = _ledger(lake)
        with pytest.raises(KeyboardInterrupt), died.batch():
            died.append("journal_v1", ROW.set_column(0, "event_id", pa.array([name])))
            died.append("journal_v1", ROW.set_column(0, "event_id", pa.array([name + name])))
            raise KeyboardInterrupt
        assert len(_lines(lake)) == 3
        for _ in range(2):
            _ledger(lake)
            assert _lines(lake) == ["a"]
    later = _ledger(lake)
    with later.batch():
        later.append("journal_v1", ROW.set_column(0, "event_id", pa.array(["d"])))
    _ledger(lake)
    assert _lines(lake) == ["a", "d"]


def test_one_who_was_taken_for_dead_gets_nothing_more_in(lake: Lake) -> None:
    """Its next commit fails, in the middle of a batch as well as at its end, and what it had written is taken back."""
    slow, slower = _ledger(lake), _ledger(lake)
    with pytest.raises(StoreBusyError, match="taken over"), slow.batch():
        slow.append("journal_v1", ROW)
        _ledger(lake, taken_over=True)
    with pytest.raises(StoreBusyError, match="taken over"), slower.batch():
        slower.append("journal_v1", ROW)
    _ledger(lake)
    assert _lines(lake) == []


def test_a_torn_log_of_a_table_is_told(lake: Lake) -> None:
    """Nothing is written then, and the hint says where the lake comes from again."""
    log = sorted(Path(lake.table("facts_v1"), "_delta_log").glob("*.json"))[-1]
    log.write_bytes(log.read_bytes()[:40])
    with pytest.raises(StoreError, match="cannot be read") as caught, opened(lake):
        pass
    assert "ingest the logs into a new one" in caught.value.hint
