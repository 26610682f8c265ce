"""A lake whose storage fails: a clear error, and once the storage works again nothing is lost or doubled.

Standard input is read by the driver, so that no Spark is started.
"""

from __future__ import annotations

import io
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from deltalake import DeltaTable

from analyzer.errors import StoreError
from analyzer.lake.files import finished
from analyzer.lake.files import opened as table_of
from analyzer.lake.layout import tables
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.writing.applying import Applying
from analyzer.lake.writing.opening import ingest_into, opened
from analyzer.store import open_store
from analyzer.store.ingest.batch import Sealed
from tests import REPOSITORY
from tests.lake.equal import differences

LOG = REPOSITORY / "sample_events" / "healthy-week.jsonl"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake."""
    made = lake_of(f"delta:{tmp_path}/fleet")
    ingest_into(made, [])
    return made


def _ingest(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOG.read_bytes())))
    ingest_into(lake, ["-"])


def _equal(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest leaves in the lake what one leaves in a store."""
    _ingest(lake, monkeypatch)
    with open_store(tmp_path / "fleet.duckdb", writable=True) as store:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOG.read_bytes())))
        store.ingest(["-"])
    # Standard input is kept in a file, whose times are not the log's.
    assert differences(lake, tmp_path / "fleet.duckdb", {"mtime_ns", "ctime_ns"}) == {}


@contextmanager
def _no_larger_files(size: int) -> Iterator[None]:
    """Every write that makes a file longer fails, as on a disk that is full."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    told = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
        signal.signal(signal.SIGXFSZ, told)


@pytest.mark.parametrize("size", [400, 1_100, 3_000, 8_000])
def test_a_disk_that_is_full_at_any_commit_is_told_and_costs_nothing(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """At the first and at later tables; the next ingest is equal to a clean one."""
    apply = Applying.apply

    def apply_there(applying: Applying, batch: Sealed) -> None:
        with _no_larger_files(size):
            apply(applying, batch)

    monkeypatch.setattr(Applying, "apply", apply_there)
    with pytest.raises(StoreError, match="does not take the batch") as caught:
        _ingest(lake, monkeypatch)
    assert caught.value.exit_code == 3
    monkeypatch.setattr(Applying, "apply", apply)
    _equal(lake, tmp_path, monkeypatch)


def test_a_lake_that_cannot_be_made_for_want_of_space_is_made_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made of it is no lake yet, and is in nobody's way."""
    lake = lake_of(f"delta:{tmp_path}/fleet")
    with _no_larger_files(1_500), pytest.raises(StoreError, match="cannot be made"):
        ingest_into(lake, [])
    _equal(lake, tmp_path, monkeypatch)


def test_a_disk_without_room_for_a_lease_or_for_standard_input_is_told(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was begun then."""
    with _no_larger_files(400), pytest.raises(StoreError, match="cannot be written"):
        _ingest(lake, monkeypatch)
    with _no_larger_files(30_000):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOG.read_bytes())))
        (problem,) = ingest_into(lake, ["-"]).problems
    assert problem.message.startswith("cannot be kept while it is read")
    _equal(lake, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["lease", "store_v1", "source_v1", "event_v1"])
def test_a_torn_entry_of_any_log_is_told_before_anything_is_written(lake: Lake, name: str) -> None:
    """The hint says where the lake comes from again; once the entry is whole, so is the lake."""
    log = sorted(Path(lake.table(name), "_delta_log").glob("*.json"))[-1]
    whole = log.read_bytes()
    log.write_bytes(whole[:-40])
    with pytest.raises(StoreError, match="cannot be read") as caught, opened(lake):
        pass
    assert "ingest the logs into a new one" in caught.value.hint
    log.write_bytes(whole)
    with opened(lake):
        pass


@pytest.mark.parametrize("name", ["store_v1", "source_v1"])
def test_a_missing_data_file_is_named_by_whoever_writes(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nothing is written; once the file is back, the lake is as it was."""
    _ingest(lake, monkeypatch)
    versions = {one: DeltaTable(lake.table(one)).version() for one in tables()}
    data = next(Path(lake.table(name)).glob("*.parquet"))
    content = data.read_bytes()
    data.unlink()
    with pytest.raises(StoreError, match=data.name):
        _ingest(lake, monkeypatch)
    assert versions == {one: DeltaTable(lake.table(one)).version() for one in tables()}
    data.write_bytes(content)


def test_tables_are_opened_as_of_one_batch(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for several sees none of what a batch adds meanwhile, nor of its sources."""
    _ingest(lake, monkeypatch)
    before = finished(lake)
    names = ("event_v1", "source_v1")
    held = {name: table_of(lake, name, before).to_pyarrow_table().num_rows for name in names}
    with opened(lake) as ledger, ledger.batch():
        for name in names:
            ledger.append(name, ledger.rows(name).slice(0, 1))
    assert finished(lake) > before
    assert {name: table_of(lake, name, before).to_pyarrow_table().num_rows for name in names} == held
    assert all(table_of(lake, name).to_pyarrow_table().num_rows == held[name] + 1 for name in names)
