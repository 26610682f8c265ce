"""doctor, quarantine, rebuild and prune as commands: stdout, stderr, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def store(store: str) -> Path:
    """A store of the sample logs in the folder that commands run in."""
    return Path(store)


def test_rebuild_says_what_it_made_and_where_the_former_store_is(run: Run, store: Path) -> None:
    """Figures on stdout, in text and JSON."""
    done = run("rebuild", "--store", "s.duckdb")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("272 events of 10 files → s.duckdb in ")
    assert "s.duckdb.before-rebuild" in done.stdout
    told = json.loads(run("rebuild", "--store", "s.duckdb", "--json").stdout)
    assert (told["schema"], told["events"], told["former"]) == ("analyzer.rebuild/1", 272, "read")
    assert (told["vanished"], told["carried_events"], told["problems"]) == ([], 0, [])


def test_rebuild_of_a_damaged_store_wants_its_logs(run: Run, store: Path, samples: Path) -> None:
    """Without them it changes nothing and exits with 3; every command names the remedy."""
    store.write_bytes(b"\0" * 20_000)
    for command in (["query", "errors-by-reason"], ["ingest", str(samples)], ["rebuild"]):
        done = run(*command, "--store", "s.duckdb")
        assert done.returncode == 3
        assert "analyzer rebuild PATH..." in done.stderr
    assert store.read_bytes() == b"\0" * 20_000
    done = run("rebuild", str(samples), "--store", "s.duckdb")
    assert (done.returncode, "could not be read" in done.stdout) == (0, True)
    done = run("sql", "select count(*) as n from events", "--store", "s.duckdb", "--json")
    assert json.loads(done.stdout)["rows"] == [{"n": 272}]


def test_rebuild_reports_paths_that_cannot_be_read(run: Run, store: Path) -> None:
    """The store is made all the same, and the exit code is 3."""
    done = run("rebuild", "nowhere", "--store", "s.duckdb")
    assert (done.returncode, "nowhere" in done.stderr) == (3, True)
    assert done.stdout.startswith("272 events")


def test_doctor_exits_with_1_for_a_problem_alone(run: Run, store: Path) -> None:
    """A line a check; what to do below it; --quiet leaves out what is fine."""
    fine = run("doctor", "--store", "s.duckdb")
    assert (fine.returncode, fine.stderr) == (0, "")
    assert "0 problems." in fine.stdout
    store.chmod(0o644)
    done = run("doctor", "--store", "s.duckdb", "--quiet")
    assert done.returncode == 1
    assert "problem  permissions of the store" in done.stdout
    assert "→ chmod go= them" in done.stdout
    assert "\nok " not in done.stdout
    told = json.loads(run("doctor", "--store", "s.duckdb", "--json").stdout)
    assert (told["schema"], told["problems"]) == ("analyzer.doctor/1", 1)
    assert {"name", "state", "said", "todo"} == set(told["checks"][0])


def test_doctor_is_silent_when_nothing_is_worth_a_word(run: Run, tmp_path: Path, native: Callable[..., bytes]) -> None:
    """With --quiet, a nightly line mails nobody while all is well."""
    (tmp_path / "log.jsonl").write_bytes(native("a"))
    run("ingest", "log.jsonl", "--store", "s.duckdb")
    assert run("doctor", "--store", "s.duckdb").stdout.endswith("0 problems.\n")
    done = run("doctor", "--store", "s.duckdb", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_doctor_tries_a_log_folder(run: Run, tmp_path: Path) -> None:
    """Without any store."""
    (tmp_path / "telemetry").mkdir(mode=0o700)
    done = run("doctor", "telemetry")
    assert done.returncode == 0
    assert "two processes at once wrote" in done.stdout
    assert list((tmp_path / "telemetry").iterdir()) == []


def test_quarantine_lists_by_reason_and_retries(run: Run, store: Path) -> None:
    """Rows in every row format; retry has text and JSON alone."""
    rows = [json.loads(line) for line in run("quarantine", "--store", "s.duckdb", "-f", "jsonl").stdout.splitlines()]
    assert {row["why"] for row in rows} >= {"not_json", "torn", "crc_mismatch"}
    assert run("quarantine", "list", "--store", "s.duckdb", "-f", "csv").stdout.count("\n") == len(rows) + 1
    done = run("quarantine", "retry", "--store", "s.duckdb")
    assert done.stdout == "0 lines of 7 can be read now: 0 new events.\n7 lines still in quarantine.\n"
    told = json.loads(run("quarantine", "retry", "--store", "s.duckdb", "--json").stdout)
    assert (told["schema"], told["tried"], told["mended"]) == ("analyzer.quarantine-retry/1", 7, 0)
    assert run("quarantine", "retry", "--store", "s.duckdb", "-f", "csv").returncode == 2
    assert run("quarantine", "burn", "--store", "s.duckdb").returncode == 2


def test_prune_shows_before_it_deletes(run: Run, tmp_path: Path, native: Callable[..., bytes]) -> None:
    """A dry run first, then the same figures for real, then nothing left."""
    (tmp_path / "log.jsonl").write_bytes(
        native("old", at="2020-01-01T00:00:00") + native("new", at="2100-01-01T00:00:00")
    )
    run("ingest", "log.jsonl", "--store", "s.duckdb")
    dry = run("prune", "--older-than", "90d", "--dry-run", "--store", "s.duckdb")
    assert dry.stdout.startswith("A dry run. Would delete what happened before ")
    assert "\n  1 event\n" in dry.stdout
    done = run("prune", "--older-than", "90d", "--store", "s.duckdb")
    assert done.stdout == dry.stdout.replace("A dry run. Would delete", "Deleted")
    assert "it is made smaller by: analyzer rebuild --store s.duckdb" in done.stderr
    told = json.loads(run("prune", "--older-than", "90d", "--files", "--store", "s.duckdb", "--json").stdout)
    assert (told["schema"], told["events"], told["done"], told["files"]) == ("analyzer.prune/1", 0, True, [])
    assert told["before"].endswith("T00:00:00.000Z")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["prune"], 2),
        (["prune", "--older-than", "soon"], 2),
        (["prune", "--older-than", "90d"], 3),
        (["prune", "--older-than", "90d", "-n"], 3),
        (["quarantine"], 3),
        (["quarantine", "retry"], 3),
        (["rebuild"], 3),
    ],
)
def test_nothing_to_work_on_is_told(run: Run, tmp_path: Path, command: list[str], code: int) -> None:
    """A missing store is not made by the way."""
    done = run(*command)
    assert (done.returncode, done.stdout) == (code, "")
    assert "hint: " in done.stderr
    assert list(tmp_path.glob("*.duckdb")) == []
