"""Folders are walked to their end, and what was found there is what is opened."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzer.store import Store, open_store, rebuild
from analyzer.store.db.location import kept, on_disk
from analyzer.store.doctor.examine import examine
from analyzer.store.ingest.discover import DEEPEST, discover
from analyzer.store.ingest.inputs import Input

Native = Callable[..., bytes]
NAME = os.fsdecode(b"caf\xe9-\xff.jsonl")


@contextlib.contextmanager
def nested(folder: Path, name: str, levels: int) -> Iterator[None]:
    """Folders inside of each other, made and taken away one at a time: their path as a whole may be too long."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    try:
        yield
    finally:
        # Else pytest fails to tidy up, in some later session.
        while (folder / name / name).exists():
            (folder / name / name).rename(folder / "next")
            shutil.rmtree(folder / name)
            (folder / "next").rename(folder / name)


@pytest.mark.parametrize(("name", "levels"), [("d", 1_000), ("d" * 200, 40)], ids=["deep", "long"])
def test_a_deep_branch_alone_is_a_problem(
    memory: Store, native: Native, tmp_path: Path, name: str, levels: int
) -> None:
    """It is told with its path; everything beside and above it is read."""
    with nested(tmp_path, name, levels):
        (tmp_path / "a.jsonl").write_bytes(native("a"))
        (tmp_path / name / "b.jsonl").write_bytes(native("b"))
        (tmp_path / "z").mkdir()
        (tmp_path / "z" / "c.jsonl").write_bytes(native("c"))
        result = memory.ingest([str(tmp_path)])
    assert set(memory.sql("select event_id from events")["event_id"]) == {"a", "b", "c"}
    (problem,) = result.problems
    assert problem.path.startswith(str(tmp_path / name))
    if levels > DEEPEST:
        assert problem.path.count("/") == str(tmp_path).count("/") + DEEPEST + 1
        assert "nested deeper" in problem.message


def test_a_folder_deep_inside_may_be_named(memory: Store, native: Native, tmp_path: Path) -> None:
    """Depth counts from the folder that was named."""
    folder = tmp_path.joinpath(*"d" * (DEEPEST + 1))
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(native("a"))
    assert memory.ingest([str(tmp_path)]).total.events == 0
    assert memory.ingest([str(folder)]).total.events == 1


@pytest.mark.parametrize("what", ["file", "folder", "dangling", "fifo"])
def test_what_takes_a_files_place_after_the_walk_is_not_opened(
    memory: Store, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A link in the place of the file or of a folder above it, or a pipe: one problem, and the other files are read."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "log.jsonl").write_bytes(native("secret"))
    inner = tmp_path / "logs" / "inner"
    inner.mkdir(parents=True)
    (inner / "log.jsonl").write_bytes(native("own"))
    (tmp_path / "logs" / "other.jsonl").write_bytes(native("other"))

    def swap(*given: object, **known: object) -> object:
        found = discover(*given, **known)  # type: ignore[arg-type]
        if what == "folder":
            inner.rename(tmp_path / "aside")
            inner.symlink_to(tmp_path / "secret")
        else:
            (inner / "log.jsonl").unlink()
            if what == "fifo":
                os.mkfifo(inner / "log.jsonl")
            else:
                (inner / "log.jsonl").symlink_to(tmp_path / ("secret/log.jsonl" if what == "file" else "nothing"))
        return found

    monkeypatch.setattr("analyzer.store.ingest.run.discover", swap)
    result = memory.ingest([str(tmp_path / "logs")])
    assert set(memory.sql("select event_id from events")["event_id"]) == {"other"}
    (problem,) = result.problems
    assert problem.path == str(inner / "log.jsonl")
    assert ("regular file" if what == "fifo" else "link") in problem.message


def test_links_that_are_named_are_followed(memory: Store, native: Native, tmp_path: Path) -> None:
    """A link to a file, to a folder, and one on the way to the folder that is named."""
    (tmp_path / "real").mkdir()
    for name in "ab":
        (tmp_path / "real" / name).write_bytes(native(name))
    (tmp_path / "file").symlink_to("real/a")
    (tmp_path / "folder").symlink_to("real")
    result = memory.ingest([str(tmp_path / "file"), str(tmp_path / "folder")])
    assert (result.total.events, result.problems) == (2, [])


def test_a_name_that_is_no_utf8_is_known_wherever_it_is_kept(native: Native, tmp_path: Path) -> None:
    """Read once, continued, not gone in `doctor`, found by a rebuild, and named in text that can be written down."""
    log, path = tmp_path / "logs" / NAME, str(tmp_path / "s.duckdb")
    log.parent.mkdir()
    log.write_bytes(native("a"))

    def feed(named: Path) -> tuple[int, int]:
        with open_store(path, writable=True) as store:
            result = store.ingest([str(named)])
            return result.total.events, result.unchanged

    assert feed(log.parent) == (1, 0)
    assert feed(log) == (0, 1)
    with log.open("ab") as handle:
        handle.write(native("b"))
    assert feed(Path(kept(str(log)))) == (1, 0)
    with open_store(path) as store:
        (row,) = store.sql("select source_path, status, events from sources").rows()
        assert row == (kept(str(log)), "read", 2)
    assert [check.state for check in examine(path) if check.name == "logs"] == ["ok"]
    assert rebuild(path).vanished == []
    with open_store(path) as store:
        assert store.sql("select source_path, status, events from sources").rows() == [row]


def test_a_name_that_looks_like_an_escape_is_itself(tmp_path: Path) -> None:
    """What is there under its own name is meant; only else an escape stands for a byte."""
    real, literal = tmp_path / os.fsdecode(b"\xff"), tmp_path / r"\udcff"
    real.write_bytes(b"byte")
    assert on_disk(kept(str(real))) == str(real)
    literal.write_bytes(b"text")
    with Input(str(literal)) as source:
        assert source.between(0, 9) == b"text"


def test_a_problem_with_such_a_name_can_be_written_down(memory: Store, tmp_path: Path) -> None:
    """As JSON and on any terminal."""
    (tmp_path / NAME).symlink_to("nowhere")
    (problem,) = memory.ingest([str(tmp_path)]).problems
    assert problem.path.encode("utf-8").endswith(rb"caf\udce9-\udcff.jsonl")
