"""A lake under faults: writers that die, disks that are full, logs that are torn, lakes of other versions."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from analyzer.cli import call
from analyzer.errors import StoreError
from analyzer.lake import log
from analyzer.lake.batch import SETTINGS, LakeBatch, changed_settings, settings
from analyzer.lake.former import current
from analyzer.lake.layout import MACHINE, rows, tables
from analyzer.lake.location import Lake
from analyzer.lake.push import ingest_into
from analyzer.lake.store import LakeStore, WritableLakeStore
from analyzer.store import catalogue, open_store
from analyzer.store.db.tables.schema import SCHEMA_VERSION
from tests import LONG_RUNS, REPOSITORY, sampled
from tests.lake.both import Both
from tests.lake.dying import counting
from tests.lake.equal import differences

SAMPLES = REPOSITORY / "sample_events"
LOG = SAMPLES / "gdd-events.jsonl"
MORE = SAMPLES / "unknown-spike.jsonl"


def _files(lake: Lake) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in Path(lake.path).rglob("*")
        if path.is_file()
    }


def _ids(lake: Lake) -> set[str]:
    with LakeStore(lake) as store:
        return set(store.sql("select event_id from events").to_series())


@pytest.mark.parametrize("step", range(1, 16) if LONG_RUNS > 1 else (1, 4, 5, 6, 8))
def test_who_dies_at_any_step_leaves_the_lake_as_before_or_as_after(
    begun: Both, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """No reader sees a part of it, and the next ingest ends as one that nobody disturbed."""
    before = _ids(begun.lake)

    def die(number: int) -> None:
        if number == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        counting(die, patch.setattr)
        ingest_into(begun.lake, [str(MORE)])
        raise KeyboardInterrupt  # it has fewer steps
    there = _ids(begun.lake)
    with open_store(begun.store, writable=True) as store:
        whole = set(store.sql("select event_id from events").to_series())
        assert whole == before
        store.ingest([str(MORE)])
        whole = set(store.sql("select event_id from events").to_series())
    assert there in (before, whole)
    ingest_into(begun.lake, [str(MORE)])
    assert differences(begun.lake, begun.store) == {}


@pytest.mark.parametrize("line", [["ingest", str(MORE)], ["reclassify", "--apply"], ["prune", "--older-than", "1d"]])
def test_a_command_that_is_killed_is_run_again_as_if_nothing_had_been(begun: Both, line: list[str]) -> None:
    """By SIGKILL between two commits, its lease held: the next process takes that over at once."""
    before = _ids(begun.lake)
    command = [sys.executable, "-m", "tests.lake.dying", "3", *line, "--store", begun.names[1]]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert _ids(begun.lake) == before
    for name in begun.names:
        assert call([*line, "--store", name, "-q"]) == 0
    assert set(differences(begun.lake, begun.store)) <= {"event_v1"}


def test_what_one_left_for_the_tables_logs_the_next_one_brings_there(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch counts once it is in the lake's log; tables that lack it are read as if they had it."""
    with monkeypatch.context() as patch:
        patch.setattr("analyzer.lake.batch.follow", lambda _: None)
        both.ingest(LOG)
        assert DeltaTable(both.lake.table("event_v1")).to_pyarrow_table().num_rows == 0
        assert len(_ids(both.lake)) > 0
    both.ingest(MORE)
    assert set(DeltaTable(both.lake.table("event_v1")).to_pyarrow_table()["event_id"].to_pylist()) == _ids(both.lake)


def test_the_log_of_a_lake_keeps_no_more_than_tables_lack_and_the_last_entries(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it lets go of is in every table; who began before that begins again."""
    monkeypatch.setattr(log, "_KEPT", 2)
    lines = (SAMPLES / "healthy-week.jsonl").read_bytes().splitlines(True)
    early = None
    for place in range(6):
        (tmp_path / f"{place}.jsonl").write_bytes(b"".join(lines[place * 10 : place * 10 + 10]))
        both.ingest(tmp_path / f"{place}.jsonl")
        early = early or LakeBatch(both.lake, current(both.lake))
    at = current(both.lake)
    assert len(at.entries) == 3 < at.number and early is not None
    early.add(SETTINGS, changed_settings({"a": "b"}))
    with pytest.raises(log.Conflict):
        early.commit()


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


@pytest.mark.parametrize("size", [400, 3_000, 8_000])
def test_a_disk_that_is_full_at_any_commit_is_told_and_costs_nothing(
    both: Both, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """The next ingest is equal to a clean one."""
    ingest_into(both.lake, [])
    commit = LakeBatch.commit
    write = LakeBatch._write

    def full(real: Any) -> Any:
        def there(*given: Any) -> Any:
            with _no_larger_files(size):
                return real(*given)

        return there

    monkeypatch.setattr(LakeBatch, "commit", full(commit))
    monkeypatch.setattr(LakeBatch, "_write", full(write))
    with pytest.raises(StoreError, match="does not take the batch") as caught:
        ingest_into(both.lake, [str(SAMPLES / "healthy-week.jsonl")])
    assert caught.value.exit_code == 3
    monkeypatch.undo()
    both.ingest(SAMPLES / "healthy-week.jsonl")


def test_a_lake_that_was_half_made_is_made_by_the_next_one(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made of it is in nobody's way."""

    def die(number: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        counting(die, patch.setattr)
        ingest_into(both.lake, [])
    both.ingest(LOG)


@pytest.mark.parametrize("name", [log.LOG, "store_v1", "source_v1", "event_v1", "verdict_v1"])
def test_a_torn_entry_of_any_log_is_told_with_its_table_before_anything_is_written(begun: Both, name: str) -> None:
    """To who reads and to who writes; once the entry is whole, so is the lake."""
    entry = sorted(Path(begun.lake.table(name), "_delta_log").glob("*.json"))[-1]
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-60])
    before = _files(begun.lake)
    for work in (lambda: LakeStore(begun.lake), lambda: ingest_into(begun.lake, [str(MORE)])):
        with pytest.raises(StoreError, match=f"the table {name} of {begun.lake.path} cannot be read") as caught:
            work()
        assert f"{name}/_delta_log" in caught.value.hint
    assert _files(begun.lake) == before
    entry.write_bytes(whole)
    begun.ingest(MORE)


def test_a_missing_file_is_named_and_a_lake_is_made_again_from_the_logs_that_are_named(
    full: Both, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a store that cannot be read; without a lake, one is made."""
    gone = next(Path(full.lake.path).glob("event_v1/day=2026-11-05/*.parquet"))
    gone.unlink()
    assert call(["query", "errors-by-reason", "--store", full.names[1]]) == 3
    assert gone.name in capsys.readouterr().err
    assert call(["rebuild", "--store", full.names[1], "-q"]) == 3
    assert "name the logs that it was made from" in capsys.readouterr().err
    assert call(["rebuild", str(SAMPLES), "--store", full.names[1], "-q"]) == 0
    for part in Path(full.lake.path).glob("journal_v1/*.parquet"):
        part.write_bytes(part.read_bytes()[:-9])
    assert call(["rebuild", "--store", full.names[1], "-q"]) == 3
    assert "a damaged part of the journal" in capsys.readouterr().err
    assert (
        differences(full.lake, full.store, {"events", "duplicates", "event_lines", "event_bytes", "duplicate_bytes"})
        == {}
    )


def test_who_only_reads_changes_nothing_below_a_lake(full: Both, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even a folder: a lake on storage that may not be written is asked like others."""
    before = _files(full.lake)
    for line in (["query", "errors-by-reason"], ["report", "--json"], ["doctor"], ["sql", "show tables"], ["unknowns"]):
        assert call([*line, "--store", full.names[1]]) == 0
    capsys.readouterr()
    assert _files(full.lake) == before


def _set_version(lake: Lake, version: str) -> None:
    at = current(lake)
    batch = LakeBatch(lake, at)
    known = settings(lake, at) | {"schema_version": version}
    batch.replace(SETTINGS, at.files[SETTINGS], changed_settings(known))
    batch.commit()


def test_a_lake_of_another_version_is_refused_on_the_way_in(begun: Both, capsys: pytest.CaptureFixture[str]) -> None:
    """By who reads and by who writes, and nothing is written."""
    _set_version(begun.lake, "1000")
    before = _files(begun.lake)
    for line in (["ingest", str(MORE)], ["query", "errors-by-reason"], ["prune", "--older-than", "1d"], ["rebuild"]):
        assert call([*line, "--store", begun.names[1]]) == 3
        assert "made by another version" in capsys.readouterr().err
    assert _files(begun.lake) == before


def test_a_lake_of_an_earlier_version_is_brought_up_to_date_as_a_file_is(full: Both) -> None:
    """Its tables get the columns of today, whose values follow from what it has; a table that it lacks is made."""
    at = current(full.lake)
    batch = LakeBatch(full.lake, at)
    for name, column in (("event_v1", "operation"), ("facts_v1", "template"), ("verdict_v1", "confidence")):
        schema = tables()[name].schema
        found = rows(full.lake, name, at.files[name])
        kept = tables()[name].rows(found)
        batch.replace(
            name,
            at.files[name],
            kept.set_column(schema.get_field_index(column), column, pa.nulls(kept.num_rows, pa.string())),
        )
    batch.commit()
    _set_version(full.lake, "9")
    shutil.rmtree(full.lake.table("verdict_v1"))
    with LakeStore(full.lake) as lake, open_store(full.store) as store:
        for name in sampled(list(catalogue())):
            moments = [one for one in store.query(name).columns if one in {"last_ingested_at", "ingested_at"}]
            assert lake.query(name).drop(moments).equals(store.query(name).drop(moments)), name
    assert settings(full.lake, current(full.lake))["schema_version"] == SCHEMA_VERSION
    full.ingest(SAMPLES)


def _former(both: Both) -> None:
    """Make the lake one of the version before there was a log of its own, with a batch that was never finished."""
    with open_store(both.store, writable=True) as store:
        store.ingest([str(LOG)])
    shutil.rmtree(both.lake.path, ignore_errors=True)
    with open_store(both.store) as store:
        for name, table in tables().items():
            found = table.schema.empty_table()
            if name != "journal_v1":
                found = table.rows(store._connection.sql(f"from internal.{name}"))
            if MACHINE in found.column_names:
                found = found.drop([MACHINE])
            for number, part in ((3, found), (4, found)):
                if number == 3 or name in {"event_v1", "facts_v1"}:
                    marked = CommitProperties(app_transactions=[Transaction(log.APP, number)])
                    write_deltalake(
                        both.lake.table(name),
                        part,
                        mode="append",
                        partition_by=table.partition or None,
                        commit_properties=marked,
                    )


def test_a_lake_of_the_version_before_is_read_and_goes_on(both: Both) -> None:
    """Nobody sees the batch that was not finished; who writes first takes it back and gives the lake its log."""
    _former(both)
    with open_store(both.store) as store:
        events = store.sql("select count(*) from events").item()
    before = _files(both.lake)
    with LakeStore(both.lake) as lake:
        assert lake.sql("select count(*) from events").item() == events
    assert _files(both.lake) == before
    both.ingest(LOG)
    both.ingest(MORE)
    assert DeltaTable(both.lake.table("event_v1")).to_pyarrow_table().num_rows == len(_ids(both.lake))
    with WritableLakeStore(both.lake) as lake:
        lake.decide([("finding.opened", {"finding": "x"})])
