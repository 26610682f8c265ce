"""A store loads what is new in a shared table, and is then as one that has read all logs itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from analyzer.cli import call
from analyzer.errors import AnalyzerError, StoreError
from analyzer.store import examine, open_store, rebuild
from analyzer.store.db.frames import ask, frame_of
from analyzer.store.fleet import former, ship, table
from analyzer.store.fleet.former import push_lake
from analyzer.store.fleet.table import SCHEMA
from tests.shown_formats import LOGS, line_of
from tests.store.fleet.machines import differences, ids, load, opened, push


@pytest.fixture
def to(tmp_path: Path) -> str:
    """The name of a table that does not exist yet."""
    return f"delta:{tmp_path}/table"


def _log(path: Path, *lines: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def test_a_store_of_a_fleet_equals_one_that_has_read_all_logs(
    to: str, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For logs of every format, pushed by two machines in small parts, in two rounds; all but the host is the same."""
    monkeypatch.setattr(ship, "PART_EVENTS", 50)
    logs = [_log(tmp_path / "logs" / f"{name}.jsonl", *(line_of(item) + b"\n" for item in LOGS[name])) for name in LOGS]
    rounds = [sorted(logs)[::2], [*sorted(logs)[1::2], samples]]
    fleet, direct = tmp_path / "fleet.duckdb", tmp_path / "direct.duckdb"
    for number, paths in enumerate(rounds):
        for machine in (0, 1):
            push(tmp_path / f"{machine}.duckdb", *paths[machine::2], to=to)
            with open_store(direct, writable=True) as store:
                store.ingest(paths[machine::2])
        loaded = load(fleet, to).total
        assert loaded.lines == loaded.events + loaded.duplicates > 50, number
        assert differences(fleet, direct) == {}
    with open_store(fleet) as store, open_store(direct) as other:
        assert store.sql("select count(*) from events where host is null").item() == 0
        assert store.sql("select count(*) from events where source_path like 'delta:%'").item() == 0
        for query in ("errors-by-reason-caller-outcome", "retries-outcomes", "relays-by-step"):
            assert store.query(query).equals(other.query(query)), query
        writers = "from writers order by all"
        assert store.sql(writers).equals(other.sql(writers))
    again = load(fleet, to)
    assert (again.total.lines, again.unchanged, len(again.sources)) == (0, 1, 1)


def test_a_table_is_one_source_with_the_figures_of_all_that_was_loaded(
    to: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """A line that nobody can read, as another program may write it, is in quarantine under the table's name."""
    fleet = tmp_path / "fleet.duckdb"
    for number in range(2):
        push(tmp_path / "a.duckdb", _log(tmp_path / "logs" / f"{number}.jsonl", native(f"a{number}")), to=to)
        broken = frame_of(SCHEMA, [(date(2026, 11, 1), "x", "host", "/log", f"no line {number}")])
        write_deltalake(to.removeprefix("delta:"), broken, mode="append")
        assert load(fleet, to).total.quarantined == 1
    with open_store(fleet) as store:
        figures = store.sql(
            "select source_path, lines, events, quarantined, bytes - event_bytes - quarantined_bytes from sources"
        )
        assert figures.rows() == [(to, 4, 2, 2, 0)]
        assert store.sql("select distinct source_path from quarantine").item() == to
    assert {check.state for check in examine(str(fleet)) if check.name == "logs"} <= {"ok"}


def test_a_load_that_is_cut_off_is_loaded_whole_by_the_next_one(
    to: str, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is remembered; what it had loaded counts once."""
    push(tmp_path / "a.duckdb", samples, to=to)
    fleet, events = tmp_path / "fleet.duckdb", len(ids(to))
    with monkeypatch.context() as patch:
        patch.setattr(ship, "_remember", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            load(fleet, to)
    again = load(fleet, to).total
    assert (again.events, again.duplicates) == (0, events)
    assert differences(fleet, tmp_path / "a.duckdb") == {}


def test_compaction_vacuum_and_a_rebuild_change_no_answer(
    to: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """What a compaction has written is read once more, and is repeated; a rebuilt store goes on where it was."""
    fleet, store, logs = tmp_path / "fleet.duckdb", tmp_path / "a.duckdb", tmp_path / "logs"
    for number in range(3):
        push(store, _log(logs / f"{number}.jsonl", native(f"a{number}"), native(f"b{number}")), to=to)
    load(fleet, to)
    held = DeltaTable(to.removeprefix("delta:"))
    held.optimize.compact()
    held.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    push(store, _log(logs / "new.jsonl", native("new")), to=to)
    assert load(fleet, to).total.events == 1
    result = rebuild(str(fleet))
    assert (result.events, result.vanished) == (7, [])
    assert load(fleet, to).total.lines == 0
    assert differences(fleet, store) == {}
    assert load(tmp_path / "late.duckdb", to).total.events == 7


def test_a_table_that_was_made_again_is_loaded_from_its_start(
    to: str, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """Versions of another table under the same name mean nothing; so it is for those who push."""
    fleet, store = tmp_path / "fleet.duckdb", tmp_path / "a.duckdb"
    for _ in range(2):
        assert push(store, _log(tmp_path / "logs" / "a.jsonl", native("a")), to=to).events == 1
        load(fleet, to)
        push(tmp_path / "b.duckdb", _log(tmp_path / "logs" / "b.jsonl", native("b")), to=to)
        shutil.rmtree(to.removeprefix("delta:"))
    push(store, to=to)
    push(tmp_path / "c.duckdb", _log(tmp_path / "logs" / "c.jsonl", native("c")), to=to)
    assert load(fleet, to).total.events == 1


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("none", "there is no table of events at"),
        ("file", "cannot be opened"),
        ("log", "cannot be opened"),
        ("rows", "cannot be read"),
        ("gone", "cannot be read"),
        ("other", "is a Delta table of something else"),
        ("lake", "is a lake of an earlier release"),
    ],
)
def test_a_table_that_cannot_be_read_ends_with_3_and_stops_no_other_log(
    harm: str,
    message: str,
    to: str,
    native: Callable[..., bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is named with what is wrong; once it is mended, all of it is loaded."""
    path, log = Path(to.removeprefix("delta:")), _log(tmp_path / "logs" / "a.jsonl", native("a"))
    if harm == "file":
        path.write_text("x")
    elif harm == "other":
        write_deltalake(path, frame_of({"a": "Int64"}, [(1,)]))
    elif harm == "lake":
        write_deltalake(path / "event_v1", frame_of({"a": "Int64"}, [(1,)]))
    elif harm != "none":
        push(tmp_path / "a.duckdb", log, to=to)
    whole = tmp_path / "whole"
    if path.is_dir():
        shutil.copytree(path, whole)
    if harm == "log":
        max(path.glob("_delta_log/*.json")).write_text("{")
    for file in path.glob("day=*/*.parquet") if harm in ("rows", "gone") else ():
        file.write_bytes(file.read_bytes()[:100]) if harm == "rows" else file.unlink()
    capsys.readouterr()
    other, store = _log(tmp_path / "other" / "b.jsonl", native("b")), str(tmp_path / "fleet.duckdb")
    assert call(["ingest", to, str(other), "--store", store, "--json"]) == 3
    shown = capsys.readouterr()
    assert message in shown.err and "hint:" in shown.err and '"events": 1' in shown.out
    if harm in ("log", "rows", "gone"):
        shutil.rmtree(path)
        shutil.copytree(whole, path)
        assert load(Path(store), to).total.events == 1


@pytest.mark.parametrize("name", ["delta:", "delta:/", "delta:ftp://host/x", "delta:/p%41", "delta:/[1]", "delta:/a*"])
def test_a_name_that_can_be_that_of_no_table_is_refused(name: str) -> None:
    """Delta takes `%41` for `A`, so that the table would be in another folder; the hint says how one is named."""
    with pytest.raises(AnalyzerError) as caught:
        table.table_named(name)
    assert caught.value.hint


def test_an_address_stays_as_it_is_and_an_unreachable_one_says_why_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colours and the addresses of code, and no longer than a message."""
    text = "Generic S3 error\n   \x1b[31m↳\x1b[0m NoSuchBucket " + 400 * "x" + "\n   0: <unknown>\n"

    def refuse(*_: object) -> None:
        raise OSError(text)

    monkeypatch.setattr("deltalake.DeltaTable", refuse)
    with pytest.raises(StoreError, match="/fleet cannot be opened: Generic S3 error NoSuchBucket x") as caught:
        opened("delta:s3://bucket/fleet/").opened()
    assert len(caught.value.message) < 400 and "<unknown>" not in caught.value.message
    assert "AWS_REGION" in caught.value.hint


def test_a_missing_library_is_named_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint installs it."""
    monkeypatch.setattr(table, "_EXTRA", "no_such_library")
    with pytest.raises(StoreError, match="not installed") as caught:
        table.table_named("delta:/fleet")
    assert "[lake]" in caught.value.hint


def test_a_table_is_no_store_but_a_report_reads_it_as_logs(
    to: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command line: push, report of the table, and what to do where it is named as a store."""
    monkeypatch.chdir(tmp_path)
    assert call(["push", str(samples), "--to", to, "--store", "a.duckdb", "--json"]) == 0
    assert '"events": 272' in capsys.readouterr().out
    assert call(["report", to, "--json"]) == 0
    assert "Unknown errors spiked" in capsys.readouterr().out
    assert call(["query", "errors-by-reason", "--store", to]) == 3
    assert f"analyzer ingest {to} --store fleet.duckdb" in capsys.readouterr().err
    for line, message in (
        (["--master", "head:7077", "x"], "is no master of Spark"),
        (["--master", "local[2]"], "all its workers see"),
        (["--from-lake", "delta:/x", "y"], "works without PATHs"),
    ):
        assert call(["push", "--to", to, *line]) == 2
        assert message in capsys.readouterr().err


def test_a_lake_of_an_earlier_release_is_moved_with_what_it_decided(to: str, samples: Path, tmp_path: Path) -> None:
    """Its events are in the table once, its decisions and rules in a new store; moving it again adds nothing."""
    before, after, lake, journal = (tmp_path / name for name in ("a.duckdb", "after.duckdb", "lake", "a.journal"))
    with open_store(before, writable=True) as store:
        store.ingest(samples)
        store.reclassify(apply=True)
        for name, columns in former._COLUMNS.items():
            write_deltalake(lake / name, ask(store._connection, f"select {columns} from internal.{name}"))
    lines = [line for part in journal.glob("*.jsonl") for line in part.read_text().splitlines()]
    kept = [(json.loads(line)["id"], line) for line in lines]
    kept += [(f"rulesets/{path.name}", path.read_text()) for path in (journal / "rulesets").iterdir()]
    write_deltalake(lake / "journal_v1", frame_of({"event_id": "String", "line": "String"}, kept))
    assert push_lake(f"delta:{lake}", to, str(after)).events == len(ids(to)) == 272
    load(after, to)
    assert differences(after, before) == {}
    assert push_lake(f"delta:{lake}", to).events == 0
    with pytest.raises(StoreError, match="is there already"):
        push_lake(f"delta:{lake}", to, str(after))
    with pytest.raises(StoreError, match="no lake at"):
        push_lake(f"delta:{tmp_path}/none", to)
