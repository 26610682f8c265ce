"""What lies in the places of agents: counted without opening a file, and what of it is new to a store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzer.importers.places import LogPlace
from analyzer.store import Store, survey
from analyzer.store.ingest import discover
from tests import Native


def _place(folder: Path, *files: str) -> LogPlace:
    return LogPlace("someone", ("analyzer",), str(folder), files or ("*/logs/*.jsonl",))


@pytest.fixture
def place(tmp_path: Path, native: Native) -> LogPlace:
    """A place with two logs, and beside them what is none."""
    for name in ("a", "b"):
        (tmp_path / name / "logs").mkdir(parents=True)
        (tmp_path / name / "logs" / "1.jsonl").write_bytes(native(name))
        (tmp_path / name / "auth.json").write_text("{}")
        (tmp_path / name / "logs" / "token").write_text("x")
    return _place(tmp_path)


def test_what_was_read_is_no_longer_new(memory: Store, place: LogPlace, native: Native) -> None:
    """Of a file that has grown the rest is, and of one that shrank all of it; ingest reads the same files."""
    first = memory.survey([place]).stocks[0]
    assert (first.files, first.new_files, first.bytes) == (2, 2, first.new_bytes)
    assert len(memory.ingest([place]).sources) == 2
    assert memory.survey([place]).stocks[0].new_files == 0
    log = Path(place.folder, "a", "logs", "1.jsonl")
    before = log.stat().st_size
    with log.open("ab") as handle:
        handle.write(native("c"))
    grown = memory.survey([place]).stocks[0]
    assert (grown.new_files, grown.new_bytes) == (1, log.stat().st_size - before)
    assert memory.ingest([place]).total.events == 1
    assert memory.ingest([place]).unchanged == 2


def test_places_that_share_files_count_them_once(place: LogPlace) -> None:
    """By the first one; a place that is not there is empty, and no problem."""
    found = survey([place, _place(Path(place.folder), "a/logs/*.jsonl"), _place(Path("/nowhere"))], {})
    assert [stock.files for stock in found.stocks] == [2, 0, 0]
    assert found.problems == []


def test_links_in_a_place_are_not_followed(memory: Store, place: LogPlace, tmp_path: Path, native: Native) -> None:
    """One that looks like a log is told; a folder behind a link is left out; the place itself may be one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.jsonl").write_bytes(native("z"))
    os.symlink(outside / "x.jsonl", Path(place.folder, "a", "logs", "2.jsonl"))
    os.symlink(outside, Path(place.folder, "b", "logs", "more"))
    os.symlink(place.folder, tmp_path / "link")
    result = memory.ingest([_place(tmp_path / "link")])
    assert len(result.sources) == 2
    assert [problem.message for problem in result.problems] == ["a link inside a folder is not followed"]


def test_a_folder_that_cannot_be_read_is_told_and_stops_nothing(
    place: LogPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do; the others are counted."""
    scan = os.scandir

    def refusing(path: str) -> object:
        if path.endswith("a/logs"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = survey([place], {})
    assert found.stocks[0].files == 1
    assert [problem.message for problem in found.problems] == ["cannot be read: Permission denied"]
    assert found.problems[0].hint


def test_a_file_that_is_named_is_found_without_a_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may be a home directory of millions of files."""
    (tmp_path / ".history.md").write_text("x")

    def no_listing(path: str) -> object:
        raise AssertionError(path)

    monkeypatch.setattr(os, "scandir", no_listing)
    assert survey([_place(tmp_path, ".history.md"), _place(tmp_path, "c/d.log")], {}).stocks[0].files == 1


def test_a_place_of_too_many_files_says_so(place: LogPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them are read."""
    monkeypatch.setattr(discover, "MOST_FILES", 1)
    found = survey([place], {})
    assert found.stocks[0].files == 1
    assert [problem.message for problem in found.problems] == ["more than 1 files: the first of them are read"]
