"""`analyzer compare` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

WEEKS = ("--before", "2026-11-01..2026-11-06", "--after", "2026-11-06..2026-11-11")


def test_the_verdict_stands_first_and_fits_a_terminal(run: Run, store: str) -> None:
    """The samples' two halves are alike but for new messages; no line is wider than eighty columns."""
    done = run("compare", *WEEKS, "--store", Path(store).name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("No clear change: every difference may be noise.\n")
    assert "noise    sessions with an error" in done.stdout
    assert "  5 sessions: unknown: Design file snapshot is being rehydrated" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_and_markdown_say_the_same(run: Run, store: str, tmp_path: Path) -> None:
    """One object with the sides and a figure a row; a file is told with its verdict."""
    content = json.loads(run("compare", *WEEKS, "--store", store, "--json").stdout)
    assert (content["schema"], content["before"]["sessions"], content["after"]["sessions"]) == (
        "analyzer.compare/1",
        14,
        14,
    )
    done = run("compare", *WEEKS, "--store", store, "--format", "markdown", "--output", "c.md")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "c.md: No clear change: every difference may be noise.\n"
    rows = [line for line in (tmp_path / "c.md").read_text("utf-8").splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(content["figures"])


def test_a_value_that_nobody_has_is_told_with_how_to_list_them(run: Run, store: str) -> None:
    """The command that it prints answers."""
    done = run("compare", "agent_version=0.0.1..0.0.2", "--store", Path(store).name)
    assert done.stdout.startswith("No session of agent_version 0.0.1 and none of agent_version 0.0.2")
    assert "analyzer sql" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("colour=a..b",), "unknown dimension 'colour'"),
        (("agent",), "not NAME=OLD..NEW: 'agent'"),
        (("agent=a",), "not NAME=OLD..NEW: 'agent=a'"),
        (("agent=a..a",), "agent needs two values that differ"),
        (("agent=a..b", "--before", "7d"), "two windows and a dimension at once"),
        (("--last", "7d"), "nothing to tell the two sides apart by"),
        (("--before", "sometime"), "sometime"),
    ],
)
def test_bad_input_is_refused(run: Run, store: str, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, and what is wrong in one line."""
    done = run("compare", *words, "--store", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
