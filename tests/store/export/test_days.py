"""An export brings a folder up to date with a store, day by day, and never leaves half of one."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from analyzer.errors import AnalyzerError, StoreBusyError
from analyzer.store import Store, open_store
from analyzer.store.export.days import ExportedView, Folder
from tests import Native


def error(native: Native, event_id: str, day: int, **known: object) -> bytes:
    """An error with facts of its own."""
    facts = {"message": f"strange thing {event_id}"}
    return native(event_id, at=f"2026-06-{day:02}T12:00:00", caller="x", reason="unknown", facts=facts, **known)


def parquet(frame: pl.DataFrame) -> bytes:
    """The bytes of a file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def exported(store: Store, to: Path, since: str | None = None, until: str | None = None) -> ExportedView:
    """Bring the errors of a folder up to date."""
    window = [datetime.fromisoformat(text) if text else None for text in (since, until)]
    with Folder(str(to), "parquet", parquet).opened() as folder:
        (result,) = store.export(folder, ["errors"], *window)
    return result


@pytest.fixture
def path(tmp_path: Path, native: Native) -> Path:
    """A store with an error on each of five days."""
    (tmp_path / "log.jsonl").write_bytes(b"".join(error(native, f"e{day}", day) for day in range(1, 6)))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])
    return tmp_path / "s.duckdb"


def test_only_days_that_changed_are_written(path: Path, tmp_path: Path, native: Native) -> None:
    """Nothing is written twice, and a late event brings its own day alone; the files say what the view says."""
    to = tmp_path / "lake"
    with open_store(path, writable=True) as store:
        first = exported(store, to)
        assert (len(first.written), first.rows, first.unchanged) == (5, 5, 0)
        assert exported(store, to) == ExportedView("errors", (), (), 5, 0)
        (tmp_path / "late.jsonl").write_bytes(error(native, "late", 3))
        store.ingest([str(tmp_path / "late.jsonl")])
        assert exported(store, to) == ExportedView("errors", ("2026-06-03",), (), 4, 2)
        read = pl.read_parquet(to / "errors", hive_partitioning=True).sort("occurred_at", "event_id")
        asked = store.sql("select * from errors order by occurred_at, event_id")
    assert read.drop("day").equals(asked)
    assert (read["day"] == read["occurred_at"].dt.date()).all()


def test_another_ruleset_changes_the_days_that_it_judges_differently(path: Path, tmp_path: Path) -> None:
    """A verdict is part of a day, and so all days with errors are written again."""
    to = tmp_path / "lake"
    with open_store(path, writable=True) as store:
        exported(store, to)
        store.reclassify(apply=True)
        assert len(exported(store, to).written) == 5


def test_a_window_takes_whole_days_and_leaves_the_others(path: Path, tmp_path: Path) -> None:
    """A day that the window touches is written whole; what was pruned stays in the folder."""
    to = tmp_path / "lake"
    with open_store(path, writable=True) as store:
        some = exported(store, to, "2026-06-02T13:00:00", "2026-06-04T01:00:00")
        assert some.written == ("2026-06-02", "2026-06-03", "2026-06-04")
        assert exported(store, to).written == ("2026-06-01", "2026-06-05")
        store.prune(datetime(2026, 6, 3))
        assert exported(store, to) == ExportedView("errors", (), (), 3, 0)
    assert (to / "errors/day=2026-06-01/errors.parquet").is_file()


def test_a_day_that_lost_all_its_rows_goes(path: Path, tmp_path: Path) -> None:
    """A file that the store has no rows for any more would be counted twice by whoever reads the folder."""
    to = tmp_path / "lake"
    with open_store(path, writable=True) as store:
        exported(store, to)
        store._connection.execute("delete from internal.event_v1 where event_id = 'e4'")
        assert exported(store, to) == ExportedView("errors", (), ("2026-06-04",), 4, 0)
    assert not (to / "errors/day=2026-06-04").exists()


@pytest.mark.parametrize("lost", ["the third day", "a file"])
def test_what_is_not_there_is_written_again(path: Path, tmp_path: Path, lost: str) -> None:
    """Who dies half-way has written whole days, and the next run those that are missing."""
    to, days = tmp_path / "lake", []

    def dying(frame: pl.DataFrame) -> bytes:
        days.append(frame)
        if len(days) == 3:
            raise KeyboardInterrupt
        return parquet(frame)

    with open_store(path) as store:
        if lost == "a file":
            exported(store, to)
            (to / "errors/day=2026-06-02/errors.parquet").unlink()
            assert exported(store, to).written == ("2026-06-02",)
            return
        with pytest.raises(KeyboardInterrupt), Folder(str(to), "parquet", dying).opened() as folder:
            store.export(folder, ["errors"])
        assert [len(pl.read_parquet(file)) for file in sorted(to.rglob("*.parquet"))] == [1, 1]
        assert len(exported(store, to).written) == 5


def test_two_do_not_write_into_one_folder(path: Path, tmp_path: Path) -> None:
    """The second one is turned away at once."""
    to = tmp_path / "lake"
    with open_store(path) as store, Folder(str(to), "parquet", parquet).opened(), pytest.raises(StoreBusyError):
        exported(store, to)


def test_what_cannot_be_exported_is_refused(path: Path, tmp_path: Path) -> None:
    """A folder of another format, a file in the folder's place, a view without days."""
    with open_store(path) as store:
        exported(store, tmp_path / "lake")
        with Folder(str(tmp_path / "lake"), "csv", parquet).opened() as other:
            with pytest.raises(AnalyzerError, match="as parquet"):
                store.export(other, ["errors"])
            with pytest.raises(AnalyzerError, match="unknown view to export 'sources'"):
                store.export(other, ["sources"])
        with pytest.raises(AnalyzerError, match="is a file"):
            exported(store, path)
