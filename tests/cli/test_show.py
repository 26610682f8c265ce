"""show as a command: what happened to one thing, in order, and where that stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.store import open_store
from tests.cli.conftest import Run

SESSION = "5e1f0c2a-0000-4000-8000-00000000c0de"


def test_a_session_is_told_in_order(run: Run, store: str, samples: Path) -> None:
    """Errors come before the retries that they lead to, with waits, compactions, tools, lines of logs and the end."""
    done = run("show", SESSION[:8], "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[:2] == [f"session {SESSION}", "The last chain of retries ended exhausted."]
    told = [line[10:].split("  ")[0] for line in lines if line[2:3] == ":"]
    first = ["error", "retry", "error", "retry", "error", "retry", "retries ended", "tool failed"]
    assert told[:8] == first
    assert {"context made smaller", "compaction began", "compacted"} <= set(told)
    assert f"{samples}/claude-transcript.jsonl:6" in lines
    assert "13:00:33  retry  in 0.5 s, after call 1" in lines
    assert lines[-1] == f"→ cd ~/shop && claude --resume {SESSION}"


def test_an_operation_is_told_as_json(run: Run, store: str) -> None:
    """The chain alone, with an excerpt of each line."""
    with open_store(store) as opened:
        (operation,) = opened.sql("select operation from retries where session_id = ? limit 1", [SESSION]).row(0)
    told = json.loads(run("show", operation, "--store", store, "--json").stdout)
    assert (told["schema"], told["kind"], told["id"]) == ("analyzer.show/1", "operation", operation)
    assert {one["operation"] for one in told["happenings"]} == {operation}
    assert all(one["excerpt"].startswith('{"parentUuid"') for one in told["happenings"])
    assert told["gone"] == []


def test_a_finding_is_told_by_its_errors(run: Run, store: str) -> None:
    """Its sentence, and the errors that it rests on."""
    assert run("check", "--store", store, "--until", "2026-11-10").returncode == 1
    with open_store(store) as opened:
        (name,) = opened.sql("select finding_id from findings where finding = 'spike'").row(0)
    told = json.loads(run("show", name[:6], "--store", store, "--json").stdout)
    assert (told["kind"], told["id"]) == ("finding", name)
    assert told["said"]
    assert {one["type"] for one in told["happenings"]} == {"error.classified"}


def test_a_log_that_has_gone_or_changed_is_said(run: Run, samples: Path, tmp_path: Path) -> None:
    """No excerpt out of a file that is another one by now; what the store knows is told all the same."""
    log = tmp_path / "log.jsonl"
    log.write_bytes((samples / "claude-transcript.jsonl").read_bytes())
    run("ingest", "log.jsonl", "--store", "s.duckdb")
    log.write_bytes(b"{}\n" * 40)
    for told in (
        run("show", SESSION, "--store", "s.duckdb"),
        log.unlink() or run("show", SESSION, "--store", "s.duckdb"),
    ):
        assert "1 log not there any more, or changed since:\n  " in told.stdout
        assert (told.returncode, "parentUuid" in told.stdout, "Overloaded" in told.stdout) == (0, False, True)


def test_secrets_are_taken_out_of_excerpts(run: Run, samples: Path, tmp_path: Path) -> None:
    """The log has them, the excerpt has not."""
    text = (samples / "claude-transcript.jsonl").read_text("utf-8")
    secret = "sk-ant-api03-" + "A1b2" * 20
    (tmp_path / "log.jsonl").write_text(text.replace('{"parentUuid"', f'{{"note":"{secret}","parentUuid"'), "utf-8")
    run("ingest", "log.jsonl", "--store", "s.duckdb")
    told = run("show", SESSION, "--store", "s.duckdb", "--json").stdout
    assert '\\"note\\":' in told
    assert "A1b2A1b2" not in told


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("s-88", "did you mean session s-08, "),
        ("5e1", "no session, finding or operation 5e1"),
        ("nothing like it", "list them: analyzer sql 'select session_id as id "),
    ],
)
def test_an_id_that_is_none_is_said_with_the_closest(run: Run, store: str, name: str, said: str) -> None:
    """Three characters are too few for the beginning of an id."""
    done = run("show", name, "--store", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_an_ambiguous_id_names_the_candidates(run: Run, samples: Path, tmp_path: Path) -> None:
    """Two sessions that begin alike."""
    text = (samples / "claude-transcript.jsonl").read_text("utf-8")
    (tmp_path / "a.jsonl").write_text(text, "utf-8")
    other = text.replace(SESSION, SESSION[:-4] + "beef").replace('"aaaaaaaa-', '"bbbbbbbb-')
    (tmp_path / "b.jsonl").write_text(other, "utf-8")
    run("ingest", "a.jsonl", "b.jsonl", "--store", "s.duckdb")
    done = run("show", SESSION[:10], "--store", "s.duckdb")
    assert done.returncode == 2
    assert f"several ids begin with {SESSION[:10]}" in done.stderr
    assert f"session {SESSION}" in done.stderr
