"""The doctor: each fault is found and named, and a healthy store has none."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import EventLog
from analyzer.events.appending import places, system
from analyzer.store import Check, examine, open_store, rebuild
from analyzer.store import journal as parts
from analyzer.store.db.location import work_of
from analyzer.store.doctor import examine as logfolder
from analyzer.store.doctor import examine as selftest
from analyzer.store.ingest.discover import SELF_TEST_FOLDER
from tests import Native
from tests.store.upkeep.test_rebuild import RULES, feed, spoil


def found(checks: list[Check], name: str) -> Check:
    """The one check of this name."""
    [check] = [check for check in checks if check.name == name]
    return check


def states(checks: list[Check]) -> dict[str, str]:
    """State by name, of what is not ok."""
    return {check.name: check.state for check in checks if check.state != "ok"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that was fed from a log folder, one of a foreign log, with nothing wrong."""
    with EventLog(tmp_path / "telemetry") as log:
        for number in range(3):
            log.append("error.classified", {"caller": "x", "reason": "unknown", "n": number})
    foreign = (
        '{"type":"error.classified","timestamp":"2026-11-02T08:00:00Z","sessionId":"s","payload":{"caller":"x"}}\n'
    )
    (tmp_path / "foreign.jsonl").write_text(foreign, "utf-8")
    feed(tmp_path / "s.duckdb", tmp_path / "telemetry", tmp_path / "foreign.jsonl")
    return tmp_path / "s.duckdb"


def test_a_healthy_store_and_folder_have_no_problem(path: Path, tmp_path: Path) -> None:
    """Every check is ok; nothing is left behind."""
    checks = examine(str(path), [str(tmp_path / "telemetry")])
    assert states(checks) == {}
    assert len(checks) > 15
    assert all(check.said for check in checks)
    assert len(list((tmp_path / "telemetry").iterdir())) == 1


def test_a_missing_store_is_a_note(tmp_path: Path) -> None:
    """Nothing is wrong with having none."""
    assert states(examine(str(tmp_path / "none.duckdb"))) == {"store": "note"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["text", "block", "wal", "version"])
def test_a_store_that_does_not_open_is_a_problem_with_its_remedy(path: Path, how: str) -> None:
    """Whatever is wrong with it."""
    spoil(path, how)
    check = found(examine(str(path)), "store")
    assert check.state == "problem"
    assert "analyzer rebuild" in check.todo


def test_a_writer_is_named_and_its_store_not_called_broken(path: Path) -> None:
    """Busy is no fault; a lock file whose process has gone is none either."""
    with open_store(path, writable=True):
        check = found(examine(str(path)), "lock")
        assert (check.state, f"process {os.getpid()}" in check.said) == ("note", True)
    Path(f"{path}.lock").write_text("process 999999999\n")
    assert found(examine(str(path)), "lock").state == "ok"


def test_leftovers_are_named(path: Path) -> None:
    """Of a rebuild that died, and of one that went well."""
    rebuild(str(path))
    Path(work_of(str(path))).touch()
    said = [check.said for check in examine(str(path)) if check.name == "rebuild"]
    assert len(said) == 2


def test_loose_permissions_are_a_problem(path: Path, tmp_path: Path) -> None:
    """Of store, journal and log folder."""
    path.chmod(0o644)
    (tmp_path / "s.journal").chmod(0o755)
    (tmp_path / "telemetry").chmod(stat.S_IRWXU | stat.S_IWOTH)
    assert states(examine(str(path), [str(tmp_path / "telemetry")])) == {
        "permissions of the store": "problem",
        "permissions of the journal": "problem",
        "permissions": "problem",
    }


def test_little_space_is_a_problem(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild could not be made."""
    monkeypatch.setattr("analyzer.store.doctor.checks.SPARE_BYTES", 2**62)
    assert states(examine(str(path))) == {"space": "problem"}


def test_a_lost_journal_is_a_problem(path: Path, tmp_path: Path) -> None:
    """Where the store has events that no log need have any more; a store of its own logs alone never had one."""
    shutil.rmtree(tmp_path / "s.journal")
    assert states(examine(str(path))) == {"journal": "problem"}
    assert "1 event" in found(examine(str(path)), "journal").said
    feed(tmp_path / "own.duckdb", tmp_path / "telemetry")
    assert found(examine(str(tmp_path / "own.duckdb")), "journal").state == "ok"


def test_a_damaged_journal_is_a_problem(path: Path, tmp_path: Path) -> None:
    """No other place has its events."""
    [part] = (tmp_path / "s.journal").glob("*.jsonl")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(bytes(data))
    assert states(examine(str(path))) == {"journal lines": "problem"}


def test_logs_that_are_gone_weigh_by_what_else_has_their_events(path: Path, tmp_path: Path) -> None:
    """A foreign one is a note, an own one a problem until a rebuild has marked it."""
    (tmp_path / "foreign.jsonl").unlink()
    assert states(examine(str(path))) == {"logs": "note"}
    [part] = (tmp_path / "telemetry").iterdir()
    part.unlink()
    check = found(examine(str(path)), "logs")
    assert (check.state, str(part) in check.said) == ("problem", True)
    rebuild(str(path))
    assert "logs" not in states(examine(str(path)))


def test_rules_that_are_gone_are_a_problem(path: Path, tmp_path: Path) -> None:
    """Later errors could not be judged."""
    (tmp_path / "rules.toml").write_text(RULES, "utf-8")
    with open_store(path, writable=True) as store:
        digest = store.reclassify(str(tmp_path / "rules.toml"), apply=True).ruleset
    assert found(examine(str(path)), "ruleset").state == "ok"
    (tmp_path / "s.journal" / "rulesets" / f"{digest}.toml").unlink()
    assert states(examine(str(path))) == {"ruleset": "problem"}


def test_loss_wrong_clocks_and_damage_are_found_in_rows_and_in_logs(tmp_path: Path, native: Native) -> None:
    """A gap in a count, an event from the future, a clock that went back, a line that cannot be read, a torn end."""
    folder = tmp_path / "telemetry"
    folder.mkdir(mode=0o700)
    part = folder / "events-2026-05-01.jsonl"
    lines = [
        native("a", at="2026-05-01T08:00:00", seq=0),
        native("b", at="2026-05-01T07:00:00", seq=1),
        b"broken\n",
        native("c", at="2199-05-01T07:00:00", seq=5),
        native("d", at="2026-05-01T09:00:00", seq=6)[:30],
    ]
    part.write_bytes(b"".join(lines))
    part.chmod(0o600)
    feed(tmp_path / "s.duckdb", folder)
    checks = examine(str(tmp_path / "s.duckdb"), [str(folder)])
    assert states(checks) == {
        "gaps": "note",
        "future": "problem",
        "clocks": "note",
        "quarantine": "note",
        "log lines": "problem",
        "log ends": "note",
        "log gaps": "note",
        "log clock": "note",
    }
    assert "3 events of 1 writer" in found(checks, "gaps").said
    assert "by 3,600 s" in found(checks, "clocks").said
    assert {check.state for check in checks if check.name == "log clock"} == {"note", "problem"}


def test_an_unfinished_line_of_a_living_writer_is_not_torn(tmp_path: Path, native: Native) -> None:
    """It has the part open."""
    part = tmp_path / "events-2026-05-01.jsonl"
    part.write_bytes(native("a")[:30])
    with part.open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        assert not [check for check in logfolder.log_checks("log", [str(part)], "") if check.name == "log ends"]
    assert [check for check in logfolder.log_checks("log", [str(part)], "") if check.name == "log ends"]


def test_a_log_whose_last_line_never_ends_is_named(tmp_path: Path) -> None:
    """A day after it was read; until then somebody may be writing it."""
    line = '{"type":"error.classified","timestamp":"2026-11-02T08:00:00Z","sessionId":"s","payload":{"caller":"x"}}\n'
    (tmp_path / "log.jsonl").write_text(line + line[:40], "utf-8")
    feed(tmp_path / "s.duckdb", tmp_path / "log.jsonl")
    assert found(examine(str(tmp_path / "s.duckdb")), "unfinished").state == "ok"
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store._connection.execute("update internal.source_v1 set last_ingested_at = last_ingested_at - interval 2 day")
    check = found(examine(str(tmp_path / "s.duckdb")), "unfinished")
    assert (check.state, "log.jsonl" in check.said) == ("note", True)


def test_a_damaged_compressed_log_and_an_old_store_are_told(tmp_path: Path, native: Native) -> None:
    """Data that breaks off, and a week without anything new."""
    import gzip

    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(native("a") * 50)[:-9])
    feed(tmp_path / "s.duckdb", tmp_path / "log.jsonl.gz")
    assert found(examine(str(tmp_path / "s.duckdb")), "damaged").state == "problem"
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store._connection.execute("update internal.source_v1 set last_ingested_at = $1", [datetime(2026, 1, 1)])
    assert found(examine(str(tmp_path / "s.duckdb")), "age").state == "note"


@pytest.mark.parametrize(
    ("path", "kind"), [("/mnt/a b/logs", "nfs4"), ("/mnt/other", "ext4"), ("/mnt/a b", "nfs4"), ("/mnt/a bc", "ext4")]
)
def test_the_file_system_is_that_of_the_longest_mount(path: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the spaces of its name escaped, as proc(5) has them."""
    table = (
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "99 22 0:5 / /mnt/a\\040b rw shared:9 master:1 - nfs4 server:/x rw\n"
    )
    monkeypatch.setattr(system, "mounts", lambda: table)
    assert places.filesystem_of(path) == kind


@pytest.mark.parametrize("kind", sorted(places.LOCAL))
def test_what_the_log_trusts_is_no_problem_of_the_doctor(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system on which writers share a file is a local one to whoever examines the folder, too."""
    monkeypatch.setattr(system, "mounts", lambda: f"22 1 8:1 / / rw - {kind} /dev/sda1 rw\n")
    assert places.is_local(str(tmp_path))
    assert logfolder._filesystem(str(tmp_path)).state == "ok"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("events-2026-11-02.jsonl", True),
        ("events-2026-11-02.002.jsonl", True),
        ("events-2026-11-02.w0123abcd.004.jsonl", True),
        ("events-2026-11-02.bak.jsonl", False),
        ("events-2026-11-02.jsonl.bak", False),
        ("events-2026-13-02.jsonl", False),
    ],
)
def test_a_part_of_a_log_is_what_its_writer_calls_one(name: str, part: bool) -> None:
    """Doctor and prune look at the files that a log would go on with, and at no copy that somebody made of one."""
    assert (parts.part_day(name) is not None) is part
    assert (places.PART.match(name) is not None) is part or name == "events-2026-13-02.jsonl"


def test_a_folder_on_a_network_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of two machines may overwrite each other there."""
    monkeypatch.setattr(logfolder, "filesystem_of", lambda _: "nfs4")
    tmp_path.chmod(0o700)
    assert states(logfolder.folder_checks(str(tmp_path))) == {"folder": "note", "file system": "problem"}


def test_the_self_test_writes_lines_however_slow_the_machine_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A try that wrote nothing would find nothing wrong."""
    monkeypatch.setattr(selftest, "SECONDS", 0.0)
    assert selftest.appending_works(str(tmp_path)) == (2, "")


def test_the_self_test_notices_lines_that_are_mixed_or_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken line, a lost one, a folder that cannot be written."""
    assert selftest.appending_works(str(tmp_path))[1] == ""

    def spoiling(real: Callable[[str], list[str]], tear: bool) -> Callable[[str], list[str]]:
        def append(trial: str) -> list[str]:
            written = real(trial)
            [part] = Path(trial).iterdir()
            lines = part.read_bytes().splitlines(keepends=True)
            part.write_bytes(b"".join(lines[1:]) if not tear else lines[0][:-9] + b"".join(lines[1:]))
            return written

        return append

    real = selftest._append
    monkeypatch.setattr(selftest, "_append", spoiling(real, tear=False))
    assert "missing" in selftest.appending_works(str(tmp_path))[1]
    monkeypatch.setattr(selftest, "_append", spoiling(real, tear=True))
    assert "broken" in selftest.appending_works(str(tmp_path))[1]
    assert not (tmp_path / SELF_TEST_FOLDER).exists()


def test_what_is_no_folder_is_a_problem(tmp_path: Path) -> None:
    """A file, or nothing."""
    (tmp_path / "file").touch()
    for name in ("file", "none"):
        assert states(logfolder.folder_checks(str(tmp_path / name))) == {"folder": "problem"}
