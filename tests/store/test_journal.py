"""A journal is not a log: the store is made again from it by `rebuild`, and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.cli import cli
from analyzer.cli.output import complain
from analyzer.errors import AnalyzerError, StoreError
from analyzer.events import Event, encode
from analyzer.store import Store, open_store
from analyzer.store.journal import is_journal
from tests import Native, each_row
from tests.store.upkeep.test_rebuild import MOMENTS, assert_same, dump

Run = Callable[..., "Done"]
FINDING = {"finding": "spike", "finding_id": "f-1", "severity": "warning", "scope": {"caller": "x"}}


@dataclass
class Done:
    """What a command said."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line."""

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        try:
            code = cli.main(list(arguments), standalone_mode=False)
        except AnalyzerError as error:
            complain(error.message, error.hint)
            code = error.exit_code
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def store(tmp_path: Path, native: Native, jsonl: Callable[..., Path]) -> Path:
    """A store with old and new events of both kinds of logs, a finding, and a prune of what is old."""
    foreign = {"type": "error", "sessionId": "g", "payload": {"message": "Overloaded"}}
    jsonl("logs/gdd.jsonl", *({**foreign, "timestamp": f"2026-{month}-03T10:00:00Z"} for month in ("02", "11")))
    old, new = native("old", at="2026-02-01T00:00:00"), native("new", at="2026-11-01T00:00:00")
    (tmp_path / "logs" / "events.jsonl").write_bytes(old + new)
    path = tmp_path / "fleet.duckdb"
    with open_store(path, writable=True) as opened:
        opened.ingest([str(tmp_path / "logs")])
        opened.decide([("finding.opened", FINDING)])
        opened.prune(datetime(2026, 6, 1))
    return path


def test_a_store_that_was_deleted_comes_back_by_rebuild_alone(store: Path, tmp_path: Path, run: Run) -> None:
    """Findings and the prune included; an ingest of journal, logs or both says what to run, and makes nothing."""
    before, logs = dump(store, MOMENTS), str(tmp_path / "logs")
    store.unlink()
    for paths in ([str(tmp_path / "fleet.journal"), logs], [logs], [str(tmp_path / "fleet.journal")]):
        done = run("ingest", *paths, "--store", str(store))
        assert done.exit_code == 3
        assert "fleet.journal" in done.stderr
        assert f"analyzer rebuild PATH... --store {store}" in done.stderr
        assert not store.exists()
    assert run("rebuild", logs, "--store", str(store)).exit_code == 0
    # What a prune has taken is not read again: the former store alone knew of it.
    assert_same({"events": dump(store, MOMENTS)["events"]}, {"events": before["events"]})
    assert run("ingest", logs, "--store", str(store)).exit_code == 0
    with open_store(store) as opened:
        assert opened.sql("select count(*) from events where occurred_at < '2026-06-01'").item() == 0
        assert opened.sql("select finding_id from findings").rows() == [("f-1",)]


def test_a_journal_alone_is_enough_where_the_logs_are_gone(store: Path, tmp_path: Path, run: Run) -> None:
    """It is named in their place; without a name it might be forgotten that there are any."""
    store.unlink()
    assert run("rebuild", "--store", str(store)).exit_code == 3
    assert run("rebuild", str(tmp_path / "fleet.journal"), "--store", str(store)).exit_code == 0
    with open_store(store) as opened:
        assert opened.sql("select message from errors").rows() == [("Overloaded",)]
        assert opened.sql("select finding_id from findings").rows() == [("f-1",)]


@each_row("named", ["fleet.journal", "fleet.journal/*.jsonl", "part", "link", "."])
def test_no_journal_is_read_as_a_log(store: Path, tmp_path: Path, named: str, memory: Store, run: Run) -> None:
    """Its own or another store's, by any name, and found in a folder: a problem with the command to run."""
    (part,) = (tmp_path / "fleet.journal").glob("*.jsonl")
    if named == "link":
        (tmp_path / "link").symlink_to("fleet.journal")
    path = str(part) if named == "part" else str(tmp_path / named)
    result = memory.ingest([path, str(tmp_path / "logs" / "events.jsonl")])
    said = [problem for problem in result.problems if "journal of a store" in problem.message]
    assert len(said) == 1
    assert "analyzer rebuild" in said[0].hint
    assert memory.sql("select count(*) from events where type = 'finding.opened'").item() == 0
    assert memory.sql("select count(*) from events where event_id = 'new'").item() == 1
    if named != ".":
        before = dump(store)
        assert run("ingest", path, "--store", str(store)).exit_code == 3
        assert_same(dump(store), before)


def test_a_store_leaves_its_own_journal_out_of_the_folder_that_holds_both(
    store: Path, tmp_path: Path, run: Run
) -> None:
    """Without a word, as nothing of it is missing."""
    done = run("ingest", str(tmp_path / "logs"), "--store", str(store), "--json")
    assert done.exit_code == 0
    assert json.loads(run("ingest", str(tmp_path), "--store", str(store), "--json").stdout)["events"] == 0


def test_a_folder_is_a_journal_by_name_and_parts(tmp_path: Path) -> None:
    """Other folders that end in the same word are logs like others."""
    folder = tmp_path / "my.journal"
    folder.mkdir()
    (folder / "notes.jsonl").write_bytes(encode(Event("tea.brewed", datetime(2026, 1, 1), None, {}, "a")))
    assert not is_journal(str(folder))
    (folder / "events-2026-01-01.jsonl").write_bytes(b"")
    assert is_journal(str(folder))


def test_who_only_reads_hears_of_the_journal_too(store: Path, run: Run) -> None:
    """A store that is missing beside its journal is never called one that was not made yet."""
    store.unlink()
    with pytest.raises(StoreError, match="its journal") as raised:
        open_store(store)
    assert "analyzer rebuild" in raised.value.hint
    done = run("doctor", "--store", str(store))
    assert "analyzer rebuild" in done.stdout
