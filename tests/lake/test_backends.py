"""Every command and the Python API answer the same of a lake and of a file."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import analyzer
from analyzer import command_lines
from analyzer.cli import COMMANDS as ALL_COMMANDS
from analyzer.cli import call
from analyzer.errors import AnalyzerError, StoreError
from analyzer.store import examine, rebuild
from tests import REPOSITORY
from tests.lake.both import Both
from tests.lake.equal import RULES, differences, lasting

SAMPLES = REPOSITORY / "sample_events"
COMMANDS = (
    "check --until 2026-11-10 --json",
    "compare --before 2026-11-01..2026-11-05 --after 2026-11-05..2026-11-12 --json",
    "export --to days --format csv --json",
    "export --otlp signals.jsonl --json",
    "findings list --json",
    "ingest logs --json",
    "ingest --json",
    "nightly logs --until 2026-11-10 --keep 9000d --json",
    "prune --older-than 9000d --json",
    "quarantine --json",
    "quarantine retry --json",
    "query errors-by-reason --json",
    "reclassify --rules rules.toml --json",
    "report --json",
    "report more.jsonl --json",
    "rules backtest --rules rules.toml --json",
    "show s-41 --json",
    "sources --json",
    "sql 'from errors select caller, count(*) group by all order by all' --json",
    "unknowns --json",
)
"""Every command that asks a store. `doctor` says what a file is made of and what a lake is, `rebuild` ends both."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with an agent's logs, and a store and a lake that have read the samples."""
    folder = tmp_path_factory.mktemp("backends")
    shutil.copytree(SAMPLES, folder / "logs")
    shutil.copy(SAMPLES / "unknown-spike.jsonl", folder / "more.jsonl")
    (folder / "rules.toml").write_text(RULES)
    project = folder / ".claude" / "projects" / "-home-project"
    project.mkdir(parents=True)
    shutil.copy(next(SAMPLES.glob("*claude*")), project)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.chdir(folder)
        for name in _names(folder):
            assert call(["ingest", "logs", "-q", "--store", name]) == 0
        yield folder


def _names(folder: Path) -> tuple[str, str]:
    return f"{folder}/fleet.duckdb", f"delta:{folder}/fleet"


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_answers_the_same_of_a_lake_and_of_a_file(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code and JSON, but for moments, the store's name, and ids that are made by chance."""
    told = []
    for name in _names(folder):
        shutil.rmtree(folder / "days", ignore_errors=True)
        code = call([*shlex.split(line), "--store", name])
        said = capsys.readouterr().out
        for written in (name, "~/fleet.duckdb", r"delta:\"$HOME\"/fleet"):  # as commands write it, too
            said = said.replace(written, "STORE")
        told.append((code, lasting(json.loads(said))))
    assert told[0] == told[1]
    assert told[0][0] in (0, 1)


def test_every_command_that_names_a_store_is_tried_on_a_lake() -> None:
    """But those whose answer is about what the store is made of: they have tests of their own."""
    tried = {line.split()[0] for line in COMMANDS}
    assert ALL_COMMANDS.keys() - command_lines.STORELESS - tried == {"doctor", "mcp", "rebuild"}


def test_open_store_opens_a_lake_by_its_name(folder: Path) -> None:
    """Reading, writing and making one are the words for a file, and what comes is a `Store`."""
    file, lake = _names(folder)
    counts = []
    for name in (file, lake):
        with analyzer.open_store(name) as store:
            assert isinstance(store, analyzer.Store) and store.path == name and not store.writable
            store.register("added", {"reason": ["unknown"]})
            counts.append(store.sql("from errors semi join added using (reason) select count(*)").item())
            assert not analyzer.overview(store).is_bare
    assert counts[0] == counts[1] > 0
    for name in (f"{folder}/new.duckdb", f"delta:{folder}/new"):
        with pytest.raises(StoreError):
            analyzer.open_store(name)
        with pytest.raises(StoreError):
            analyzer.open_store(name, writable=True, create=False)
        with analyzer.open_store(name, writable=True) as store:
            assert store.ingest(SAMPLES / "gdd-events.jsonl").total.events > 0
    with pytest.raises(AnalyzerError, match="for a lake alone"):
        analyzer.open_store(file, master="local[1]")


def test_a_lake_is_examined_and_made_again_by_its_name(begun: Both) -> None:
    """By the functions for a file."""
    for name in begun.names:
        assert rebuild(name).former == "read"
        assert {check.state for check in examine(name)} <= {"ok", "note"}
    assert differences(begun.lake, begun.store) == {}


def test_lines_that_can_be_read_again_leave_the_quarantine_of_a_lake(both: Both, tmp_path: Path) -> None:
    """Their events come once, the other lines of the file stay, and those of other machines are counted alone."""
    log, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    week = (SAMPLES / "healthy-week.jsonl").read_bytes().splitlines(True)
    broken = b"(" + week[60][1:]
    # So many around it that a file is told by them.
    log.write_bytes(b"".join([*week[:60], broken, b"no line\n", *week[61:120]]))
    other.write_bytes(b"no line either\n" + week[121])
    both.ingest(log, other)
    log.write_bytes(log.read_bytes().replace(broken, week[60]))
    results = []
    for name in both.names:
        with analyzer.open_store(name, writable=True) as store:
            results.append(store.retry_quarantine().to_dict())
    assert results[0] == results[1]
    assert (results[0]["mended"], results[0]["events"], results[0]["remaining"]) == (1, 1, 2)
    assert differences(both.lake, both.store) == {}
    assert both.ingest(log)["lines"] == 0


def test_the_quarantine_of_other_machines_is_left_to_them(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is counted, and the answer says where to read it again."""
    (tmp_path / "log.jsonl").write_bytes((SAMPLES / "unknown-spike.jsonl").read_bytes() + b"no line\n")
    with monkeypatch.context() as patch:
        patch.setattr("analyzer.lake.push.machine", lambda: "another")
        assert call(["ingest", str(tmp_path / "log.jsonl"), "-q", "--store", both.names[1]]) == 0
        capsys.readouterr()
    assert call(["quarantine", "retry", "--store", both.names[1]]) == 0
    assert "1 line of other machines: run the same command there." in capsys.readouterr().out


def test_what_is_new_on_this_machine_is_what_it_has_not_read_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of another machine under the same path is another one."""
    name = f"delta:{folder}/shared"
    with monkeypatch.context() as patch:
        patch.setattr("analyzer.lake.push.machine", lambda: "another")
        assert call(["ingest", "-q", "--store", name]) == 0
    for expected in (1, 0):
        capsys.readouterr()
        assert call(["sources", "--json", "--store", name]) == 0
        told = json.loads(capsys.readouterr().out)
        assert sum(one["new_files"] for one in told["sources"]) == expected
        assert call(["ingest", "-q", "--store", name]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x.jsonl", "--master", "local[2]"], "--master is for a lake alone"),
        (["--store", "delta:/nowhere", "--master", "local[2]"], "name the PATHs to read"),
        (["x.jsonl", "--store", "delta:"], "names no lake"),
        (["x.jsonl", "--store", "delta:/nowhere", "--master", "head:7077"], "no master of Spark"),
    ],
)
def test_what_does_not_go_with_a_lake_is_refused_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its reason."""
    for command in ("ingest", "nightly"):
        assert call([command, *arguments]) == 2
        assert said in capsys.readouterr().err


def test_mistakes_are_told_before_the_lake_is_looked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """There is no lake either, which would be the next thing to say."""
    for line, said in (
        (["query", "errors-by-reason", "-p", "foo=1"], "unknown parameter"),
        (["check", "--rules", "nix.toml"], "cannot read rules"),
    ):
        assert call([*line, "--store", f"delta:{tmp_path}/none"]) == 2
        assert said in capsys.readouterr().err


def test_where_no_lake_is_the_hint_makes_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """By the command that makes it of logs; a folder in the place of a file may be one."""
    assert call(["query", "errors-by-reason", "--store", f"delta:{tmp_path}/none"]) == 3
    assert f"analyzer ingest PATH --store delta:{tmp_path}/none" in capsys.readouterr().err
    assert call(["query", "errors-by-reason", "--store", str(tmp_path)]) == 3
    assert "delta:PATH" in capsys.readouterr().err
