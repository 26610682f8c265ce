"""The words of errors: what a person sees of the system's is said in one place."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

import analyzer
from analyzer.errors import system_text
from tests.cli.conftest import Run, forks, run

__all__ = ["forks", "run"]


def test_an_error_of_the_system_is_told_by_its_words() -> None:
    """Without its number, whoever made it and whatever it was wrapped into; an error without words by its name."""
    assert system_text(OSError(errno.EINVAL, "it is a pipe, not a file", "/x")) == "it is a pipe, not a file"
    assert system_text(OSError("[Errno 22] Invalid argument: '/x'")) == "Invalid argument: '/x'"
    assert (
        system_text(ValueError("no copy: [Errno -2] Name or service not known")) == "no copy: Name or service not known"
    )
    assert system_text(TimeoutError("timed out")) == "timed out"
    assert system_text(ConnectionResetError()) == "ConnectionResetError"


def test_nobody_words_an_error_of_the_system_alone() -> None:
    """No module but the one home asks for `strerror` of an error."""
    package = Path(analyzer.__file__).parent
    alone = [str(path) for path in package.rglob("*.py") if re.search(r"[^s]\.strerror\b", path.read_text())]
    assert alone == [str(package / "errors.py")]


@pytest.mark.parametrize(
    "line",
    [
        ["classify", "x", "--rules", "folder"],
        ["classify", "x", "--rules", "folder/none.toml"],
        ["classify", "--jsonl", "folder"],
        ["rules", "test", "--rules", "folder"],
        ["report", "log.jsonl", "--output", "folder"],
        ["ingest", "log.jsonl", "--store", "folder/none/x.duckdb"],
        ["ingest", "folder/none.jsonl", "--store", "folder/x.duckdb"],
        ["run", "--", "folder"],
        ["emit", "error.classified", "--log-dir", "log.jsonl", "reason=unknown"],
    ],
    ids=lambda line: " ".join(line[:2]),
)
def test_no_command_shows_the_number_of_an_error(line: list[str], tmp_path: Path, run: Run) -> None:
    """Where a path is a folder, or nothing, or below something that is no folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "log.jsonl").write_text('{"a":1}\n')
    done = run(*line)
    assert done.returncode != 0
    assert done.stderr and "Errno" not in done.stderr and "internal error" not in done.stderr
