"""The store's own files under faults: a full disk, a write-ahead log that is cut, lost or another's, a lost lock."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from analyzer.errors import StoreError
from analyzer.store import open_store, rebuild
from tests import LONG_RUNS, Native
from tests.store.ingest.test_exactly_once import GDD, assert_same, contents
from tests.store.killing import Victims

LEFT_OPEN = """
store = open_store({store!r}, writable=True)
store.ingest([{first!r}])
store.ingest([{second!r}])
"""
"""The process ends without closing anything, so that the write-ahead log stays."""
FULL = """
import resource
from analyzer.errors import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
try:
    with open_store({store!r}, writable=True) as store:
        store.ingest([{logs!r}])
except StoreError:
    pass
"""

SIZES = 1_000, 5_000, 13_000, 50_000, 100_000, 150_000, 250_000, 500_000, 800_000
"""From no room for a header, over some for the write-ahead log, to some for the database."""


@pytest.fixture
def logs(tmp_path: Path, native: Native) -> Path:
    """Two native logs, one of them with a broken line, and a foreign one."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"".join(native(f"a-{n}", seq=n) for n in range(9)) + b"broken\n")
    (folder / "b.jsonl").write_bytes(native("b", caller="x"))
    (folder / "gdd.jsonl").write_text(GDD, "utf-8")
    return folder


@pytest.fixture
def undisturbed(tmp_path: Path, logs: Path) -> dict[str, pl.DataFrame]:
    """What a run without faults leaves."""
    with open_store(tmp_path / "undisturbed.duckdb", writable=True) as store:
        store.ingest([str(logs / "a.jsonl")])
        store.ingest([str(logs)])
        return contents(store)


@pytest.fixture
def left_open(tmp_path: Path, logs: Path, victims: Victims) -> Path:
    """The folder of a store whose last transactions stand in its write-ahead log alone."""
    folder = tmp_path / "left"
    folder.mkdir()
    work = LEFT_OPEN.format(store=str(folder / "s.duckdb"), first=str(logs / "a.jsonl"), second=str(logs))
    assert not victims.killed(work, 0)
    assert (folder / "s.duckdb.wal").stat().st_size > 1_000
    return folder


def test_a_disk_that_is_full_in_the_middle_costs_nothing_but_the_run(
    tmp_path: Path, logs: Path, undisturbed: dict[str, pl.DataFrame], victims: Victims
) -> None:
    """The kernel refuses to let any file grow beyond a size, from the making of the store on; the next run succeeds."""
    refused = 0
    for size in range(1_000, 900_000, 10_000) if LONG_RUNS > 1 else SIZES:
        path = tmp_path / f"{size}" / "s.duckdb"
        path.parent.mkdir()
        assert not victims.killed(FULL.format(size=size, store=str(path), logs=str(logs)), 0)
        with open_store(path, writable=True) as store:
            refused += store.sql("select count(*) from events").item() == 0
            store.ingest([str(logs / "a.jsonl")])
            store.ingest([str(logs)])
            assert_same(contents(store), undisturbed)
    assert refused > 2


def test_a_store_that_was_never_finished_is_begun_again(tmp_path: Path, logs: Path) -> None:
    """Whoever died while making it has left something that is no database, under a name that is not the store's."""
    (tmp_path / "s.duckdb.rebuild").write_bytes(b"half of a header")
    (tmp_path / "s.duckdb.rebuild.wal").write_bytes(b"half of a log")
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        assert store.ingest([str(logs)]).total.events == 11
    assert sorted(path.name for path in tmp_path.glob("s.duckdb*")) == ["s.duckdb", "s.duckdb.lock"]


@pytest.mark.parametrize("kept", [None, 0.0, 0.3, 0.6, 0.9, 0.999], ids=str)
def test_what_a_cut_or_lost_write_ahead_log_held_is_read_again(
    left_open: Path, logs: Path, undisturbed: dict[str, pl.DataFrame], kept: float | None
) -> None:
    """The store is an older one then, checkpoints included: the next run goes on from there, and nothing is double."""
    wal = left_open / "s.duckdb.wal"
    if kept is None:
        wal.unlink()
    else:
        wal.write_bytes(wal.read_bytes()[: int(wal.stat().st_size * kept)])
    with open_store(left_open / "s.duckdb", writable=True) as store:
        assert store.sql("select count(*) from events").item() < undisturbed["events"].height
        store.ingest([str(logs)])
        assert_same(contents(store), undisturbed)


def test_the_write_ahead_log_of_another_store_is_refused(
    tmp_path: Path, left_open: Path, logs: Path, undisturbed: dict[str, pl.DataFrame]
) -> None:
    """Nothing of it gets in; a rebuild gives the store again."""
    path = tmp_path / "s.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(logs / "b.jsonl")])
    shutil.copy(left_open / "s.duckdb.wal", tmp_path / "s.duckdb.wal")
    with pytest.raises(StoreError) as caught:
        open_store(path, writable=True)
    assert "analyzer rebuild" in caught.value.hint
    rebuild(str(path), [str(logs / "a.jsonl"), str(logs)])
    with open_store(path) as store:
        assert_same({"events": contents(store)["events"]}, {"events": undisturbed["events"]})


def test_an_owner_that_has_lost_the_databases_lock_still_keeps_others_out(tmp_path: Path, logs: Path) -> None:
    """Closing any handle on the file gives the database's own lock away; a second writer meets ours."""
    path = tmp_path / "s.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(logs)])
        path.open("rb").close()
        code = "import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True)"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)
        code = "from analyzer.cli import main; main()"
        command = [sys.executable, "-c", code, "ingest", str(logs), "--store", str(path)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (done.returncode, "in use" in done.stderr or "being written" in done.stderr) == (75, True)
