"""Every command that is printed as a hint works where it is pasted: store, quoting and all."""

from __future__ import annotations

import re
import shlex
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import Event, encode
from analyzer.report.changes import MAX_CELLS
from analyzer.report.store_work import MAX_VANISHED
from tests.cli.conftest import Run

STORE = "it's -mine.duckdb"
HINT = re.compile(r"(?:→ |: |^ {2,})(analyzer (?!run: ).*)$", re.MULTILINE)


def hints(text: str) -> list[str]:
    """The commands of a text, each to the end of its line."""
    return list(dict.fromkeys(HINT.findall(text)))


def pasted(run: Run, line: str) -> int:
    """The exit code of a line as a shell would run it: commands joined by `&&`."""
    words = shlex.split(line)
    code = 0
    while words and code == 0:
        stop = words.index("&&") if "&&" in words else len(words)
        program, *arguments = words[:stop]
        assert program == "analyzer", line
        code = run(*arguments).returncode
        words = words[stop + 1 :]
    return code


@pytest.fixture
def logs(samples: Path, tmp_path: Path) -> str:
    """The sample logs in a folder whose name begins with a dash and has a space."""
    shutil.copytree(samples, tmp_path / "-my logs")
    return "-my logs"


def test_hints_of_commands_on_a_store_work(run: Run, logs: str) -> None:
    """Of a store that has to be named, with a quote and a space in its name."""
    told = run("ingest", logs, "--store", STORE)
    lines = hints(told.stdout)
    assert lines == [f"analyzer query quarantine-lines --store {shlex.quote(STORE)}"]
    for command in (
        ("report",),
        ("check", "--until", "2026-11-10"),
        ("unknowns",),
        ("doctor",),
    ):
        done = run(*command, "--store", STORE)
        found = hints(done.stdout + done.stderr)
        assert found, done
        lines += found
        if command[0] == "check":
            run_id, *_ = re.findall(r"^  id (\S+)$", done.stdout, re.M)
    lines += hints(run("findings", "show", run_id, "--store", STORE).stdout)
    lines += hints(run("prune", "--older-than", "1d", "--store", STORE).stderr)
    assert len(set(lines)) >= 4
    for line in dict.fromkeys(lines):
        assert line.endswith(f" --store {shlex.quote(STORE)}")
        assert pasted(run, line) == 0, line


def test_hints_of_work_on_a_store_are_pasted_too(run: Run, tmp_path: Path) -> None:
    """Of `sources`, `rebuild` with very many logs gone, `reclassify` with very many changes, `show` and `findings`."""
    logs = tmp_path / ".claude" / "projects"
    logs.mkdir(parents=True)
    for place in range(MAX_CELLS + 1):
        error = {"reason": f"of old {place}", "facts": {"message": "no such thing"}}
        event = Event("error.classified", datetime(2026, 11, 10), "s", error, f"e-{place}")
        (logs / f"{place}.jsonl").write_bytes(encode(event))
    lines = []
    for arguments in (
        ("sources",),
        ("ingest",),
        ("reclassify", "--apply"),
        ("show", "zzzzzz"),
        ("findings", "show", "zzzzzz"),
    ):
        done = run(*arguments, "--store", STORE)
        found = hints(done.stdout + done.stderr)
        assert bool(found) == (arguments != ("ingest",)), done
        lines += found
    for log in sorted(logs.iterdir())[: MAX_VANISHED + 1]:
        log.unlink()
    told = run("rebuild", str(logs), "--store", STORE)
    assert hints(told.stdout), told
    for line in (*lines, *hints(told.stdout)):
        assert line.endswith(f" --store {shlex.quote(STORE)}")
        assert pasted(run, line) == 0, line


def test_hints_of_a_report_on_logs_work(run: Run, logs: str, tmp_path: Path) -> None:
    """They read the logs first into a store of the report's own, which no later command asks by itself."""
    found = hints(run("report", logs).stdout)
    assert len(found) == 3
    for line in found:
        assert line.startswith("analyzer ingest './-my logs' --store my-logs-report.duckdb && analyzer ")
        assert pasted(run, line) == 0, line
    assert not list(tmp_path.glob("analyzer.*"))


def test_hints_name_no_store_that_is_asked_anyway(run: Run, store: str) -> None:
    """Neither that of the environment nor the one that is here."""
    told = run("report", env={"ANALYZER_STORE": store}).stdout
    assert hints(told)
    assert "--store" not in told


def test_a_missing_store_is_made_by_the_hint(run: Run, logs: str) -> None:
    """Once the placeholder is a path; every command that wants one says the same."""
    told = run("query", "errors-by-reason", "--store", STORE)
    (line,) = hints(told.stderr)
    for arguments in (("export", "--to", "out"), ("show", "zzzz"), ("reclassify",), ("findings", "list")):
        assert hints(run(*arguments, "--store", STORE).stderr) == [line]
    words = [logs if word == "PATH" else word for word in shlex.split(line)[1:]]
    assert run(*words).returncode == 0
    assert run("query", "errors-by-reason", "--store", STORE).returncode == 0
