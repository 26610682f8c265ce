"""Every call to the system fails once, and again and again: what was acknowledged is on the log all the same."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import Event, EventLog
from analyzer.events.appending import appender, system
from analyzer.events.appending.appender import Durability
from analyzer.events.appending.writer import event_line
from tests import LONG_RUNS
from tests.events.disk import FAILING, Disk, events_in, hold_account, read_back

ERRORS = ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EMFILE", "ENOENT", "EACCES")
LEVELS: tuple[Durability, ...] = ("process", "batch", "event")
FAULTS = [
    (level, name)
    for level in LEVELS
    for name in ERRORS
    if level == "process" or name in {"ENOSPC", "EIO"} or LONG_RUNS > 1
]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are due at once, so that a fault meets them, and nobody waits long for the end of a torn line."""
    monkeypatch.setattr(appender, "BATCH_SECONDS", 0.0)
    monkeypatch.setattr(appender, "TORN_AFTER_SECONDS", 0.001)


def run(folder: Path, disk: Disk, level: Durability, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Five events behind a torn line, in a file that others may write, with new parts on the way: every call to the
    system is needed for them. The account must hold afterwards.
    """
    first = folder / "log" / "events-2026-11-01.jsonl"
    first.parent.mkdir(parents=True, mode=0o700)
    first.write_bytes(b'{"v":1,"id":"torn')
    first.chmod(0o622)
    with monkeypatch.context() as patch:
        disk.put_in(patch)
        patch.setattr(system, "time_ns", lambda: 20_758 * 86_400 * 10**9)
        log = EventLog(first.parent, max_bytes=600, durability=level)
        ids = [log.append("a.b", {"number": number, "text": "x" * 40}) for number in range(5)]
        log.close()
    hold_account(first.parent, ids, log.dropped)
    return ids


@pytest.mark.parametrize(("level", "name"), FAULTS)
def test_one_failing_call_costs_no_acknowledged_event(
    tmp_path: Path, name: str, level: Durability, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The n-th call fails, for every n until a run has no fault: a single one is overcome by trying again."""
    for number in range(1, 300):
        disk = Disk(number, getattr(errno, name))
        ids = run(tmp_path / str(number), disk, level, monkeypatch)
        if not disk.fired:
            assert number > 20
            return
        assert None not in ids, disk.calls
    raise AssertionError("the faults never ended")


@pytest.mark.parametrize("only", sorted(FAILING))
@pytest.mark.parametrize(("level", "name"), FAULTS)
def test_a_call_that_keeps_failing_is_told(
    tmp_path: Path, name: str, only: str, level: Durability, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many failures in a row lose events, and each is counted, leaves a gap and is told by the next line."""
    fired, lost = 0, 0
    for number in range(1, 9):
        disk = Disk(number, getattr(errno, name), only=only, times=7)
        ids = run(tmp_path / str(number), disk, level, monkeypatch)
        fired += disk.fired
        lost += ids.count(None)
    assert fired or (level == "process" and only.startswith("sync_"))
    assert lost or only not in {"fstat", "hold", "open", "stat", "write"}


def test_losses_are_told_by_the_next_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lost events: the third says so, the fourth does not say it again."""
    disk = Disk(2, errno.ENOSPC, only="write", times=6)
    with monkeypatch.context() as patch:
        disk.put_in(patch)
        log = EventLog(tmp_path)
        ids = [log.append("a.b", {"n": n}) for n in range(5)]
    assert [each is None for each in ids] == [False, True, True, False, False]
    told = [event.extra.get("dropped_before") for event in read_back(tmp_path).values()]
    assert told == [None, 2, None]
    hold_account(tmp_path, ids, log.dropped)


@pytest.mark.parametrize(
    ("fail_at", "short", "kept", "told"),
    [(2, None, 4, 4), (1, None, 0, 9), (2, 45_000, 6, 2), (1, 45_000, 2, 6), (1, 10_000, 0, 9)],
)
def test_a_group_that_fails_half_way_counts_what_is_missing_and_tells_losses_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail_at: int, short: int | None, kept: int, told: int
) -> None:
    """Whatever reached the log of eight lines of 15 KB, four a write, is no loss, and has told of the one before it."""
    events = [Event("a.b", datetime(2026, 1, 1), None, {"text": "x" * 15_000}, f"id-{n}") for n in range(8)]
    log = EventLog(tmp_path)
    with monkeypatch.context() as patch:
        Disk(1, errno.ENOSPC, only="write", times=3).put_in(patch)
        assert log.append("a.b") is None
    with monkeypatch.context() as patch:
        Disk(fail_at, errno.ENOSPC, short, only="write", times=3).put_in(patch)
        assert not log.record(list(map(event_line, events)))
    log.append("c.d")
    found = read_back(tmp_path)
    assert [name for name in found if name.startswith("id-")] == [f"id-{n}" for n in range(kept)]
    before = [event.extra["dropped_before"] for event in found.values() if "dropped_before" in event.extra]
    assert before == ([1, told] if kept else [told])
    assert log.dropped == 1 + 8 - kept == sum(before)


@pytest.mark.parametrize("level", LEVELS)
def test_a_short_write_of_any_length_is_made_good(
    tmp_path: Path, level: Durability, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is written again with its id; what stands before and after it stays whole."""
    whole = 0
    for short in range(0, 400, 1 if level == "process" else 9):
        folder = tmp_path / str(short)
        disk = Disk(2, short=short, only="write")
        with monkeypatch.context() as patch:
            disk.put_in(patch)
            log = EventLog(folder, durability=level)
            ids = [log.append("a.b", {"n": n}) for n in range(3)]
            log.close()
        assert None not in ids
        hold_account(folder, ids, 0)
        lines = [line for path in folder.iterdir() for line in path.read_bytes().split(b"\n")]
        assert {json.loads(line)["id"] for line in lines if line.endswith(b'"}')} >= set(ids)
        whole = len(disk.calls) and max(len(call[1][1]) for call in disk.calls if call[0] == "write")
        if short > whole:
            break
    assert short > whole > 100


def test_a_failed_sync_is_never_repeated_on_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it no write and no sync goes to that descriptor; the lines of the batch stand in the next part again."""
    monkeypatch.setattr(appender, "BATCH_SECONDS", 3_600.0)
    disk = Disk(2, errno.EIO, only="sync_data")
    with monkeypatch.context() as patch:
        disk.put_in(patch)
        log = EventLog(tmp_path, durability="batch")
        ids = [log.append("a.b", {"n": n}) for n in range(4)]
        log.close()
    failed = next(n for n, call in enumerate(disk.calls) if isinstance(call[2], OSError))
    descriptor = disk.calls[failed][1][0]
    later = disk.calls[failed + 1 :]
    # The number of a descriptor comes again once it is closed.
    closed = next(n for n, call in enumerate(later) if call[0] == "close" and call[1][0] == descriptor)
    assert not [call for call in later[:closed] if call[0] in ("write", "sync_data") and call[1][0] == descriptor]
    first, second = sorted(tmp_path.iterdir(), key=lambda path: len(path.name))
    assert [event.id for event in events_in(first.read_bytes())] == ids
    assert [event.id for event in events_in(second.read_bytes())] == ids[1:]
    assert read_back(tmp_path).keys() == set(ids)


@pytest.mark.parametrize("cut_tail", [False, True])
def test_level_event_survives_a_power_cut_at_any_moment(
    tmp_path: Path, cut_tail: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each call the power fails: unsynced bytes and names are gone or half there; acknowledged events are not."""
    disk = Disk()
    acknowledged: list[tuple[int, str]] = []
    with monkeypatch.context() as patch:
        disk.put_in(patch)
        log = EventLog(tmp_path / "a" / "log", max_bytes=700, durability="event")
        for number in range(6):
            event_id = log.append("a.b", {"n": number})
            assert event_id is not None
            acknowledged.append((len(disk.calls), event_id))
    for cut in range(len(disk.calls) + 1):
        survived = {event.id for event in after_power_cut(disk.calls[:cut], str(tmp_path), cut_tail)}
        assert {event_id for at, event_id in acknowledged if at <= cut} <= survived


def test_level_batch_keeps_what_was_acknowledged_before_its_last_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power fails after each call: events before the last sync are there, those in full parts too."""
    monkeypatch.setattr(appender, "BATCH_SECONDS", 3_600.0)
    disk = Disk()
    acknowledged: list[tuple[int, str | None]] = []
    with monkeypatch.context() as patch:
        disk.put_in(patch)
        log = EventLog(tmp_path / "log", max_bytes=450, durability="batch")
        for _ in range(4):
            ids = [log.append("a.b", {"n": n}) for n in range(3)]
            assert log.sync()
            acknowledged += [(len(disk.calls), event_id) for event_id in ids]
    syncs = [call for call in disk.calls if call[0] == "sync_data"]
    assert 4 <= len(syncs) < len(acknowledged)
    for cut in range(len(disk.calls) + 1):
        survived = {event.id for event in after_power_cut(disk.calls[:cut], str(tmp_path), cut_tail=True)}
        assert {event_id for at, event_id in acknowledged if at <= cut} <= survived


def after_power_cut(calls: list[tuple[str, tuple[object, ...], object]], base: str, cut_tail: bool) -> list[object]:
    """What a disk that keeps only synced bytes, in files and folders whose names are synced, gives back."""
    names: dict[str, int] = {}
    open_files: dict[int, str] = {}
    written: dict[str, bytes] = {}
    synced: dict[str, int] = {}
    kept: set[str] = {base}
    for name, args, result in calls:
        if name == "mkdir" or (name == "open" and not isinstance(result, OSError)):
            names[str(args[0])] = 1
            if name == "open":
                open_files[int(str(result))] = str(args[0])
                written.setdefault(str(args[0]), b"")
        elif name == "write":
            path = open_files[int(str(args[0]))]
            written[path] += bytes(args[1])  # type: ignore[arg-type]
        elif name == "sync_data":
            path = open_files[int(str(args[0]))]
            synced[path] = len(written[path])
        elif name == "sync_folder":
            kept |= {path for path in names if os.path.dirname(path) == args[0]}
    found: list[object] = []
    for path, data in written.items():
        parents = [path]
        while parents[-1] != base:
            parents.append(os.path.dirname(parents[-1]))
        if set(parents) <= kept:
            end = synced.get(path, 0)
            found += events_in(data[: end + (len(data) - end) // 2 if cut_tail else end])
    return found


SMALL_FILES = """
import json, resource, sys
from analyzer import EventLog
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, 3_000))
log = EventLog(sys.argv[1], durability=sys.argv[2])
ids = [log.append("a.b", {"n": n, "text": "x" * 400}) for n in range(40)]
log.close()
print(json.dumps([ids, log.dropped]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits to set")
@pytest.mark.parametrize("level", LEVELS)
def test_a_limit_of_the_kernel_is_met_by_a_new_part(tmp_path: Path, level: str) -> None:
    """At RLIMIT_FSIZE the kernel writes half a line and then refuses: nothing is lost, and the next part takes over."""
    script = [sys.executable, "-c", SMALL_FILES, str(tmp_path), level]
    done = subprocess.run(script, check=True, capture_output=True, text=True)
    ids, dropped = json.loads(done.stdout)
    assert len(list(tmp_path.iterdir())) > 3
    assert ids.count(None) == dropped == 0
    hold_account(tmp_path, ids, dropped)


FULL_DISK = """
import errno, json, os, resource, sys
from analyzer import EventLog
log = EventLog(sys.argv[1])
ids = [log.append("a.b", {"n": n}) for n in range(3)]
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
ids += [log.append("a.b", {"n": n}) for n in range(3)]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
ids += [log.append("a.b", {"n": n}) for n in range(3)]
print(json.dumps([ids, log.dropped]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits to set")
def test_a_disk_that_takes_nothing_for_a_while_costs_what_was_not_acknowledged(tmp_path: Path) -> None:
    """No file may grow, then it may again: three are told as lost, on stderr once, in the log by the next line."""
    script = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(script, check=True, capture_output=True, text=True)
    ids, dropped = json.loads(done.stdout)
    assert [each is None for each in ids] == [False] * 3 + [True] * 3 + [False] * 3
    assert done.stderr.count("cannot write to the event log") == 1
    hold_account(tmp_path, ids, dropped)
    assert max(event.extra.get("dropped_before", 0) for event in read_back(tmp_path).values()) == 3
