"""export as a command: which days it says it wrote, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_days_are_files_that_are_written_once(run: Run, store: str, tmp_path: Path) -> None:
    """stderr says what was written; CSV and JSON lines have a row an error of that day; nothing changed says so."""
    first = run("export", "errors", "relays", "--to", "lake", "--format", "csv", "--store", store)
    assert (first.returncode, first.stdout) == (0, "")
    assert "relays: 2 days written, 14 rows (2026-11-04, 2026-11-05), 0 unchanged" in first.stderr
    again = run("export", "errors", "relays", "--to", "lake", "--format", "csv", "--store", store)
    assert again.stderr == "errors: nothing changed (9 days)\nrelays: nothing changed (2 days)\n"
    run("export", "errors", "--to", "lines", "--format", "jsonl", "--store", store, "--quiet")
    comma = (tmp_path / "lake/errors/day=2026-11-04/errors.csv").read_text("utf-8").splitlines()
    lines = (tmp_path / "lines/errors/day=2026-11-04/errors.jsonl").read_text("utf-8").splitlines()
    assert comma[0].startswith('"event_id","occurred_at","session_id","caller"')
    assert (
        {line.split(",")[0].strip('"') for line in comma[1:]}
        >= {json.loads(line)["event_id"] for line in lines}
        != set()
    )


def test_a_slice_is_a_store_for_every_command(run: Run, store: str) -> None:
    """It says what it is, as JSON and to doctor, and answers as the store does for its window."""
    told = json.loads(run("export", "--to", "x.duckdb", "--since", "2026-11-10", "--store", store, "--json").stdout)
    assert (told["schema"], told["to"]) == ("analyzer.export/1", "x.duckdb")
    assert told["slice"] in run("doctor", "--store", "x.duckdb").stdout
    window = ("query", "errors-by-reason", "--since", "2026-11-10", "--json", "--store")
    assert run(*window, "x.duckdb").stdout == run(*window, store).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["errrors", "--to", "lake"], 2, "did you mean 'errors'?"),
        (["--to", "s3:bucket"], 2, "no target of this kind: s3:bucket"),
        (["errors", "--to", "x.duckdb"], 2, "a slice has all views and no format"),
        (["--to", "s.duckdb"], 3, "s.duckdb is the store itself"),
        ([], 2, "give either --to or --otlp"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, store: str, arguments: list[str], code: int, said: str) -> None:
    """One line, a hint, and an exit code; the store is as it was."""
    done = run("export", *arguments, "--store", store)
    assert (done.returncode, said in done.stderr) == (code, True)
