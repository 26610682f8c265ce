"""Interpreters that the package starts: nothing in the working directory is imported in place of a library."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import polars  # noqa: F401 - what the tests' own process loads late would come from the folder that is tried
import pytest

from analyzer import interpreter
from analyzer.cli import sandbox
from analyzer.store import open_store
from analyzer.store.doctor.examine import appending_works


def answers(folder: Path) -> bool:
    """The sandbox of `analyzer sql` gives an answer."""
    with open_store(folder / "s.duckdb", writable=True) as store:
        store.ingest([])
    request = sandbox.Request(str(folder / "s.duckdb"), "select 1 as one", 1, "csv", None, 60, 10**9)
    with sandbox.answer(request) as answered:
        return answered.content.read() == b'"one"\n1\n'


def appends(folder: Path) -> bool:
    """The doctor's two writers append to a log."""
    return appending_works(str(folder))[1] == ""


@pytest.mark.parametrize("work", [answers, appends], ids=lambda work: work.__name__)
@pytest.mark.parametrize("entry", ["", ".", "the directory itself"])
def test_a_file_in_the_working_directory_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path], bool], entry: str
) -> None:
    """Whether this program would look there or not, the work is done, and no such file is run."""
    hostile, working = tmp_path / "hostile", tmp_path / "working"
    hostile.mkdir()
    working.mkdir()
    for name in ("json", "duckdb", "msgspec", "polars", "re2", "analyzer"):
        (hostile / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').close()\n", "utf-8")
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(sys, "path", [str(hostile) if entry.startswith("the") else entry, *sys.path])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([entry, str(hostile)]))
    assert work(working)
    assert not (tmp_path / "ran").exists()


def test_the_package_is_found_in_the_working_directory_when_it_lies_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that nobody installed works from within."""
    home = Path(interpreter.__file__).parent.parent
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", ["", *(entry for entry in sys.path if Path(entry) != home)])
    said = "import analyzer, json, sys; print(json.dumps([analyzer.__file__, sys.path[0]]))"
    with interpreter.start("-c", said, stdout=-1) as process:
        assert json.loads(process.communicate()[0]) == [str(home / "analyzer" / "__init__.py"), str(home)]


def test_a_removed_working_directory_keeps_nothing_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon may outlive the directory that it was started in."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with interpreter.start("-c", "import analyzer; print('up')", stdout=-1) as process:
        assert process.communicate()[0] == b"up\n"


def test_nothing_else_starts_an_interpreter() -> None:
    """A fifth place would have to keep the working directory out by itself."""
    package = Path(interpreter.__file__).parent
    naming = [path.name for path in package.rglob("*.py") if "sys.executable" in path.read_text("utf-8")]
    assert naming == ["interpreter.py"]
