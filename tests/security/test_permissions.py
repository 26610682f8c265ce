"""What the commands leave on the disk is their owner's alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from tests.cli.conftest import UNSET, forks
from tests.cli.forking import Done, Forks, Line

__all__ = ["forks"]


@pytest.fixture
def log(samples: Path) -> str:
    """A log that is reported quickly."""
    return str(samples / "gdd-events.jsonl")


def called(forks: Forks, folder: Path, umask: int, *arguments: str) -> Done:
    """What a command does in a folder that is the one of temporary files, too."""
    places = {"TMPDIR": str(folder), "HOME": str(folder)}
    return forks.run(Line(arguments, str(folder), environment=places, unset=UNSET, umask=umask))


def modes_while(forks: Forks, folder: Path, umask: int, commands: list[list[str]]) -> dict[str, set[int]]:
    """The modes of everything that is seen in the folder while the commands run in it, files that go again included."""
    seen: dict[str, set[int]] = {}
    done = threading.Event()

    def look() -> None:
        for path in folder.rglob("*"):
            try:
                mode = stat.S_IMODE(path.lstat().st_mode)
            except OSError:  # it went between being listed and being looked at
                continue
            seen.setdefault(str(path.relative_to(folder)), set()).add(mode)

    def watch() -> None:
        while not done.is_set():
            look()
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for command in commands:
            assert called(forks, folder, umask, *command).code == 0
    finally:
        done.set()
        watcher.join()
    look()
    return seen


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_files_are_private(forks: Forks, log: str, tmp_path: Path, umask: int) -> None:
    """Store, write-ahead log, lock, journal, log, reports, answers and what is on its way there: 0600 in 0700."""
    store = ["--store", "s.duckdb"]
    seen = modes_while(
        forks,
        tmp_path,
        umask,
        [
            ["ingest", log, *store],
            ["reclassify", *store, "--apply"],
            ["report", *store],
            ["report", log, "-f", "markdown", "-o", "r.md"],
            ["query", "errors-by-reason", *store, "-f", "parquet", "-o", "x.parquet"],
            ["sql", "from events", *store, "-f", "csv", "-o", "x.csv"],
            ["emit", "relay.triggered", "step_id=a"],
        ],
    )
    made = {"s.duckdb", "s.duckdb.wal", "s.duckdb.lock", "s.journal", "telemetry"}
    assert made | {"report.html", "r.md", "x.parquet", "x.csv"} <= set(seen)
    folders = {name for name in seen if (tmp_path / name).is_dir()}
    wrong = {
        name: sorted(map(oct, modes)) for name, modes in seen.items() if modes != {0o700 if name in folders else 0o600}
    }
    assert wrong == {}


def test_a_report_keeps_the_mode_that_its_owner_gave_it(forks: Forks, log: str, tmp_path: Path) -> None:
    """Who opened a report to a group meant it."""
    target = tmp_path / "report.html"
    target.write_text("old", "utf-8")
    target.chmod(0o640)
    modes_while(forks, tmp_path, 0o022, [["report", log, "-o", "report.html"]])
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_bytes().startswith(b"<!doctype html>")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can play another user")
@pytest.mark.parametrize("planted", ["link", "pipe"])
def test_a_link_planted_by_another_user_is_not_followed(forks: Forks, log: str, tmp_path: Path, planted: str) -> None:
    """In a folder where anyone may write, a stranger's link would choose which file of ours is replaced."""
    shared, own = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    shared.chmod(0o1777)
    own.write_text("precious", "utf-8")
    target = shared / "report.html"
    if planted == "link":
        target.symlink_to(own)
    else:
        os.mkfifo(target)
    os.lchown(target, 65534, 65534)
    done = called(forks, tmp_path, 0o022, "report", log, "-o", str(target))
    assert done.code == 3
    assert "another user's link or pipe" in done.stderr
    assert own.read_text("utf-8") == "precious"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can play another user")
def test_a_file_planted_by_another_user_lends_no_rights(forks: Forks, log: str, tmp_path: Path) -> None:
    """Its mode would open the report to all."""
    target = tmp_path / "report.html"
    target.write_text("", "utf-8")
    target.chmod(0o666)
    os.chown(target, 65534, 65534)
    modes_while(forks, tmp_path, 0o022, [["report", log, "-o", "report.html"]])
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.stat().st_uid == os.geteuid()


def test_a_link_of_ones_own_is_followed(forks: Forks, log: str, tmp_path: Path) -> None:
    """The file behind it is replaced, the link stays."""
    (tmp_path / "there").mkdir()
    link = tmp_path / "report.html"
    link.symlink_to(tmp_path / "there" / "real.html")
    modes_while(forks, tmp_path, 0o022, [["report", log, "-o", "report.html"]])
    assert link.is_symlink()
    assert (tmp_path / "there" / "real.html").read_bytes().startswith(b"<!doctype html>")
