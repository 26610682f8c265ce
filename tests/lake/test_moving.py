"""A store into a lake and back: every row, every line of the journal."""

from __future__ import annotations

import filecmp
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

pytest.importorskip("deltalake", reason="the extra `lake` is not installed")

from analyzer.cli import call
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import down, up
from analyzer.store import open_store
from analyzer.store.journal import parts_of
from tests import REPOSITORY


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with verdicts and a journal."""
    path = tmp_path / "fleet.duckdb"
    with open_store(path, writable=True) as opened:
        opened.ingest([str(REPOSITORY / "sample_events" / "claude-print.jsonl")])
        opened.reclassify(apply=True)
    return path


@pytest.fixture
def lake(store: Path, tmp_path: Path) -> Lake:
    """A lake of it."""
    made = lake_of(f"delta:{tmp_path}/fleet")
    assert up(str(store), made)["event_v1"] > 0
    return made


def test_a_store_comes_back_from_a_lake_as_it_was(store: Path, lake: Lake, tmp_path: Path) -> None:
    """All tables, the lines of the journal, and the texts of its rulesets."""
    back = tmp_path / "back.duckdb"
    down(lake, str(back))
    with duckdb.connect() as connection:
        connection.execute(f"attach '{store}' as here (read_only)")
        connection.execute(f"attach '{back}' as there (read_only)")
        for name in set(tables()) - {JOURNAL}:
            one, other = f"from here.internal.{name}", f"from there.internal.{name}"
            rows = f"select count(*) from (({one} except all {other}) union all ({other} except all {one}))"
            assert connection.execute(rows).fetchall() == [(0,)], name
    lines = [Path(parts_of(str(path.with_suffix(".journal")))[0]).read_bytes() for path in (store, back)]
    assert lines[0] == lines[1]
    assert lines[0]
    rulesets = [path.with_suffix(".journal") / "rulesets" for path in (store, back)]
    names = [path.name for path in rulesets[0].iterdir()]
    assert names
    assert filecmp.cmpfiles(*rulesets, names, shallow=False)[0] == names


def test_a_slice_holds_its_window_alone(lake: Lake, tmp_path: Path) -> None:
    """It has no journal, as it is a copy; every command opens it."""
    with open_store(tmp_path / "fleet.duckdb") as whole:
        first, last = whole.sql("select min(occurred_at), max(occurred_at) from errors").row(0)
        later = whole.sql("select count(*) from errors where occurred_at >= $1", [last]).item()
        assert isinstance(first, datetime)
        assert first < last
    down(lake, str(tmp_path / "slice.duckdb"), since=last)
    with open_store(tmp_path / "slice.duckdb") as slice_:
        assert slice_.sql("select count(*) from errors").item() == later
    assert not (tmp_path / "slice.journal").exists()


def test_the_command_moves_both_ways(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And refuses what has no meaning."""
    lake = f"delta:{tmp_path}/other"
    assert call(["export", "--store", str(store), "--to", lake]) == 0
    assert call(["export", "--store", lake, "--to", str(tmp_path / "again.duckdb")]) == 0
    assert capsys.readouterr().err.count("event") == 2
    assert call(["export", "--store", str(store), "--to", lake]) == 3
    assert call(["export", "--store", lake, "--to", str(tmp_path / "again.duckdb")]) == 3
    assert call(["export", "errors", "--store", lake, "--to", str(tmp_path / "third.duckdb")]) == 2
    assert call(["export", "errors", "--store", str(store), "--to", f"{lake}2"]) == 2
    assert call(["export", "--last", "3d", "--store", str(store), "--to", f"{lake}2"]) == 2
    assert call(["export", "--store", f"{lake}2", "--to", str(tmp_path / "none.duckdb")]) == 3
