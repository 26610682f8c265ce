"""Files and folders: renamed, deleted, planted, too open, and on file systems that are not local."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from analyzer.events import EventLog
from analyzer.events.appending import places, system
from tests.events.disk import Disk, read_back

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users and modes")


def only_file(folder: Path) -> Path:
    """The one file of a log."""
    (path,) = folder.iterdir()
    return path


def test_a_renamed_file_is_left_and_begun_again(tmp_path: Path) -> None:
    """After logrotate has moved the file the next event is in a new one, and no event in both."""
    log = EventLog(tmp_path)
    ids = [log.append("a.b")]
    path = only_file(tmp_path)
    path.rename(f"{path}.1")
    ids.append(log.append("a.b"))
    assert [name.read_bytes().count(b"\n") for name in (path, Path(f"{path}.1"))] == [1, 1]
    assert read_back(tmp_path).keys() == set(ids)


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    """Another file under the name gets the next event."""
    log = EventLog(tmp_path)
    log.append("a.b")
    path = only_file(tmp_path)
    path.unlink()
    path.touch(0o600)
    second = log.append("a.b")
    assert second in path.read_text()


def test_a_file_that_became_a_link_is_left(tmp_path: Path) -> None:
    """The next event is in a file of the folder: readers follow no link in it."""
    folder = tmp_path / "log"
    log = EventLog(folder)
    log.append("a.b")
    path = only_file(folder)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    second = log.append("a.b")
    path.unlink()
    assert read_back(folder).keys() == {second}


def test_a_removed_folder_is_made_again(tmp_path: Path) -> None:
    """Parents too."""
    folder = tmp_path / "a" / "b"
    log = EventLog(folder)
    log.append("a.b")
    shutil.rmtree(tmp_path / "a")
    second = log.append("a.b")
    assert read_back(folder).keys() == {second}


def test_an_event_written_into_a_file_while_it_is_deleted_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deletion between the look at the name and the write is noticed before the id is given."""
    log = EventLog(tmp_path)
    log.append("a.b")
    path = only_file(tmp_path)
    disk = Disk()

    def write_after_deletion(descriptor: int, data: bytes) -> int:
        if path.exists():
            path.unlink()
            monkeypatch.setattr(disk, "write", system.write, raising=False)
        return system.write(descriptor, data)

    monkeypatch.setattr(disk, "write", write_after_deletion, raising=False)
    disk.put_in(monkeypatch)
    second = log.append("a.b")
    assert read_back(tmp_path).keys() == {second}


def test_a_log_keeps_its_folder_when_the_program_changes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is taken where the log was made."""
    monkeypatch.chdir(tmp_path)
    log = EventLog("telemetry")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    log.append("a.b")
    assert len(read_back(tmp_path / "telemetry")) == 1


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_modes_hold_under_any_umask(tmp_path: Path, umask: int) -> None:
    """0700 folders, 0600 files, and the second writer gets in."""
    before = os.umask(umask)
    try:
        for _ in range(2):
            with EventLog(tmp_path / "a" / "b") as log:
                assert log.append("a.b") is not None
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o700, 0o700]
    assert stat.S_IMODE(only_file(tmp_path / "a" / "b").stat().st_mode) == 0o600


def test_a_log_folder_that_others_may_write_to_is_closed_to_them(tmp_path: Path) -> None:
    """It is ours and holds nothing but a log."""
    tmp_path.chmod(0o777)
    (tmp_path / ".gitignore").touch()
    assert EventLog(tmp_path).append("a.b") is not None
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_shared_folder_for_other_ends_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its modes are not ours to change, and others could put their files in the place of ours."""
    tmp_path.chmod(0o775)
    (tmp_path / "paper.txt").touch()
    assert EventLog(tmp_path).append("a.b") is None
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o775
    assert "chmod go-w" in capsys.readouterr().err


def test_a_sticky_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    """As /tmp: only owners move and delete there."""
    tmp_path.chmod(0o1777)
    (tmp_path / "paper.txt").touch()
    assert EventLog(tmp_path).append("a.b") is not None
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


def plant(folder: Path) -> Path:
    """The place of today's file, free to be taken by someone else."""
    with EventLog(folder) as log:
        log.append("a.b")
    path = only_file(folder)
    path.unlink()
    return path


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """The event goes to the next part, and the target stays as it was."""
    (tmp_path / "target").touch()
    path = plant(tmp_path / "log")
    path.symlink_to(tmp_path / "target")
    assert EventLog(tmp_path / "log").append("a.b") is not None
    assert (tmp_path / "target").read_bytes() == b""


def test_a_file_of_another_user_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event goes to the next part."""
    path = plant(tmp_path)
    path.touch(0o666)
    # Only root can give a file away: here the writer is somebody else.
    monkeypatch.setattr(system, "user", lambda: os.geteuid() + 1)
    assert EventLog(tmp_path).append("a.b") is not None
    assert path.read_bytes() == b""
    assert len(list(tmp_path.iterdir())) == 2


MOUNTS = r"""22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / {place} rw,relatime shared:1 - {kind} server:/export rw
31 22 0:41 / /mnt/a\040b rw - {kind} server:/export rw
broken line
"""


@pytest.mark.parametrize(
    ("kind", "local"),
    [
        *[(kind, True) for kind in ("ext4", "overlay", "tmpfs")],
        *[(kind, False) for kind in ("nfs4", "cifs", "9p", "fuse.sshfs", "virtiofs", "newfs")],
    ],
)
def test_writers_share_no_file_where_appends_may_overwrite(
    tmp_path: Path, kind: str, local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On file systems that are not known to be local each writer has files of its own, in parts as ever."""
    monkeypatch.setattr(system, "mounts", lambda: MOUNTS.format(place=tmp_path, kind=kind))
    for _ in range(2):
        with EventLog(tmp_path / "log", max_bytes=500) as log:
            assert all(log.append("a.b", {"n": n}) for n in range(3))
    names = sorted(path.name for path in (tmp_path / "log").iterdir())
    assert len({re.sub(r"\.\d{3}\.jsonl$|\.jsonl$", "", name) for name in names}) == (1 if local else 2)
    assert all(places.PART.match(name) for name in names)
    assert len(read_back(tmp_path / "log")) == 6


def test_the_deepest_mount_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """By path and not by prefix of a name; blanks are octal; without a table everything is local."""
    monkeypatch.setattr(system, "mounts", lambda: MOUNTS.format(place="/mnt/net", kind="nfs"))
    assert [places.is_local(path) for path in ("/home/x", "/mnt/net", "/mnt/net/x", "/mnt/network", "/mnt/a b/c")] == [
        True,
        False,
        False,
        True,
        False,
    ]
    monkeypatch.setattr(system, "mounts", lambda: "")
    assert places.is_local("/mnt/net")
