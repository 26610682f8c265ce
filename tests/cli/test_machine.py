"""The program without arguments: it looks where agents keep their logs, and reports on what is there."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.terminal import all_of


@pytest.fixture
def home(tmp_path: Path, samples: Path) -> Path:
    """A home directory with a transcript of Claude Code and a rollout of Codex, of yesterday, and Codex's tokens."""
    said = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M:%S.000Z}"
    home = tmp_path / "me"
    projects, codex = home / ".claude" / "projects" / "-x", home / ".codex" / "sessions" / "2026"
    projects.mkdir(parents=True)
    codex.mkdir(parents=True)
    old = (samples / "claude-transcript.jsonl").read_text("utf-8")
    (projects / "a.jsonl").write_text(old.replace("2026-11-05", said[:10]), "utf-8")
    records = [
        {"timestamp": said, "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
        {"timestamp": said, "type": "event_msg", "payload": {"type": "error", "message": "stream disconnected"}},
    ]
    (codex / "rollout-1.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    (home / ".codex" / "auth.json").write_text('{"type": "event_msg"}')
    return home


def test_a_report_without_anything_reads_the_machine_and_then_what_is_new(run: Run, home: Path, tmp_path: Path) -> None:
    """It says what was found, reports the last 30 days, writes the page; the store lies below the home directory."""
    first = run("report", env={"HOME": str(home)})
    assert (first.returncode, first.stdout.splitlines()[0][:10]) == (0, "NOT JUDGED")
    told = first.stderr.splitlines()
    assert told[0] == "Found logs of 2 agents; nothing leaves this machine:"
    assert [line.split()[0] for line in told[1:3]] == ["Claude", "Codex"]
    assert told[1].endswith("1 new  ~/.claude/projects")
    assert told[3:] == ["Kept in ~/.local/share/analyzer/analyzer.duckdb", "report written to report.html"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["me", "report.html"]
    assert (home / ".local" / "share" / "analyzer").stat().st_mode & 0o777 == 0o700
    again = run("report", "--json", env={"HOME": str(home)})
    assert "none new" in again.stderr
    shown = json.loads(again.stdout)
    assert shown["totals"]["errors"] > 0
    assert shown["window"]["since"] is not None
    assert run("query", "errors-by-reason", env={"HOME": str(home)}).returncode == 0


def test_sources_lists_places_sizes_and_what_is_new(run: Run, home: Path) -> None:
    """In JSON with whole paths, as text with ~; afterwards nothing is new. Nothing is made by asking.

    A type of records that was not looked at is named.
    """
    listed = json.loads(run("sources", "--json", env={"HOME": str(home)}).stdout)
    assert listed["schema"] == "analyzer.sources/1"
    assert not (home / ".local").exists()
    found = {source["agent"]: source for source in listed["sources"] if source["files"]}
    assert found["Codex"] == {
        "agent": "Codex",
        "formats": ["codex"],
        "path": str(home / ".codex"),
        "files": 1,
        "bytes": (home / ".codex" / "sessions" / "2026" / "rollout-1.jsonl").stat().st_size,
        "new_files": 1,
        "new_bytes": found["Codex"]["bytes"],
    }
    assert listed["newer"] == []
    with (home / ".codex" / "sessions" / "2026" / "rollout-1.jsonl").open("a", encoding="utf-8") as log:
        log.write('{"type": "event_msg", "payload": {"type": "made_up"}}\n')
    run("ingest", env={"HOME": str(home)})
    text = run("sources", env={"HOME": str(home)}).stdout
    assert "Codex: 1 record of type event_msg/made_up, newer than what was looked at (" in text
    done = run("sources", "--store", "missing.duckdb", env={"HOME": str(home)})
    assert (done.returncode, "missing.duckdb: there is no such store yet" in done.stderr) == (3, True)
    assert "none new  ~/.codex (codex)" in text
    assert "Nothing new to read" in text
    assert "Nothing in:" in text
    assert str(home) not in text


def test_a_store_that_is_named_or_here_is_what_is_asked(run: Run, home: Path, tmp_path: Path) -> None:
    """Then nothing is looked for; logs that are named go into the store of the working directory, whatever else is."""
    environment = {"HOME": str(home)}
    run("ingest", "-q", env=environment)
    run("ingest", "-q", str(home / ".codex" / "sessions"), env=environment)
    assert (tmp_path / "analyzer.duckdb").exists()
    for named in ({}, {"ANALYZER_STORE": str(home / ".local/share/analyzer/analyzer.duckdb")}):
        done = run("report", "-f", "markdown", env=environment | named)
        assert (done.returncode, done.stderr) == (0, "")
        assert (": 1 error of 1 caller" in done.stdout) is not bool(named)


@pytest.mark.parametrize("home", ["empty", "missing"])
def test_a_home_without_logs_says_what_to_do(run: Run, tmp_path: Path, home: str) -> None:
    """In two lines, without the folders that were searched; exit 3, and nothing is made."""
    (tmp_path / "empty").mkdir()
    for command in ("report", "ingest"):
        done = run(command, env={"HOME": str(tmp_path / home)})
        assert (done.returncode, done.stdout) == (3, "")
        assert "analyzer: no agent has left logs on this machine" in done.stderr
        assert "hint: name a log: analyzer report PATH; where it looked: analyzer sources" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_old_logs_alone_are_shown_and_told(run: Run, home: Path, samples: Path) -> None:
    """A machine that was quiet for a month has a report of what was before, which says so in its first line."""
    shutil.rmtree(home / ".codex")
    log = home / ".claude" / "projects" / "-x" / "a.jsonl"
    log.write_text((samples / "claude-transcript.jsonl").read_text("utf-8").replace("2026-", "2021-"), "utf-8")
    told = run("report", env={"HOME": str(home)}).stdout
    assert re.match("Nothing since .* UTC; shown instead: all that the logs hold[.]\n", told)
    assert "6 errors of 1 caller" in told


def test_alone_at_a_terminal_it_is_the_report(home: Path, tmp_path: Path) -> None:
    """Ten lines at most before the report, none wider than the terminal; --open hands the page to the browser."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    code, said = _at_a_terminal(home, tmp_path, "--open", BROWSER=str(browser))
    lines = said.replace("\r", "").splitlines()
    assert code == 0
    assert lines[0].startswith("Found logs of 2 agents")
    assert next(number for number, line in enumerate(lines) if "NOT JUDGED" in line) <= 10
    # Where reading takes longer than a second a bar is drawn, which a terminal shows as one line.
    assert max(len(line) for line in lines[:6] if "\x1b" not in line) <= 80
    assert (tmp_path / "opened").read_text().strip() == (tmp_path / "report.html").resolve().as_uri()
    (tmp_path / "opened").unlink()
    code, said = _at_a_terminal(home, tmp_path)
    assert (code, "none new" in said) == (0, True)
    assert not (tmp_path / "opened").exists()


def test_alone_it_looks_at_the_machine_whatever_the_folder_holds(run: Run, home: Path, tmp_path: Path) -> None:
    """A store of the working directory is read by `analyzer report`, which says so."""
    run("ingest", "-q", str(home / ".codex" / "sessions"))
    code, text = _at_a_terminal(home, tmp_path)
    assert (code, text.startswith("Found logs of 2 agents")) == (0, True)
    assert "Kept in ~/.local/share/analyzer/analyzer.duckdb" in text
    assert run("report").stderr.startswith("from the store analyzer.duckdb\n")


def test_classify_answers_a_person_in_words(home: Path, tmp_path: Path) -> None:
    """At a terminal; with --json it is the line that everybody else gets."""
    code, said = _at_a_terminal(home, tmp_path, "classify", "--status", "529", "Overloaded")
    lines = said.splitlines()
    assert (code, lines[0][:34]) == (0, "network_transient (overloaded), by")
    assert any(line.startswith("  what to do  The provider was overloaded") for line in lines)
    assert max(map(len, lines)) <= 80
    code, said = _at_a_terminal(home, tmp_path, "classify", "--json", "Overloaded")
    assert json.loads(said)["reason"] == "network_transient"


def test_without_a_terminal_help_is_help(run: Run, home: Path) -> None:
    """Whole on stderr, exit 2, also of commands with parts; nothing is read."""
    for words, heading in (([], "Every night"), (["rules"], "Commands")):
        done = run(*words, env={"HOME": str(home)})
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("Usage: analyzer")
        assert f"\n{heading}:\n" in done.stderr
    assert not (home / ".local").exists()


@pytest.mark.parametrize("words", [["--json"], ["--format", "markdown"], ["-o", "-"]])
def test_only_a_page_in_a_file_can_be_opened(run: Run, words: list[str]) -> None:
    """Everything else is a mistake, told before anything is read."""
    done = run("report", "--open", *words)
    assert done.returncode == 2
    assert "--open needs a page in a file" in done.stderr
    assert run("--open", "report").returncode == 2


def _at_a_terminal(home: Path, folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of the command, all of whose streams are a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from analyzer.cli import main; main()", *words]
    known = {"HOME": str(home), "PATH": os.environ["PATH"], "COLUMNS": "80", "TERM": "xterm", "PYTHONPATH": os.getcwd()}
    with subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=theirs, env={**known, **environment}) as process:
        os.close(theirs)
        said = all_of(ours)
        return process.wait(60), said


def test_the_command_prints_a_skeleton(run: Run, tmp_path: Path) -> None:
    """With the format that it is told to be, as text and as JSON; a file that is not there is an error with a hint."""
    path = tmp_path / "new.jsonl"
    path.write_text('{"type": "metadata", "protocol_version": "9.0", "created_at": 1, "name": "hush"}\n', "utf-8")
    text = run("sources", "--unknown", str(path)).stdout
    assert "newer than what was looked at" in text
    assert "hush" not in text
    found = json.loads(run("sources", "--unknown", str(path), "--json").stdout)
    assert (found["schema"], found["format"], found["newer"]) == ("analyzer.skeleton/1", "kimi", "9.0")
    assert found["newer_types"] == []
    assert run("sources", "--unknown", str(tmp_path / "none")).returncode == 3
