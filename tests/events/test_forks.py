"""Forks of a program that holds a log: whoever calls them, wherever, a child is another writer of the same folder."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.events import EventLog
from analyzer.events.appending import system
from analyzer.events.appending.places import absolute
from tests.events.disk import read_back

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def bare_fork() -> int:
    """A fork as a C extension calls it: Python hears nothing of it."""
    return int(ctypes.CDLL(None).fork())


def in_child(work: Callable[[], object], fork: Callable[[], int] = os.fork) -> int:
    """The exit code of a fork that has done this: 0 when it came to its end."""
    child = fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_one_log(folder: Path, writers: int, each: int) -> None:
    """Every id and every number of a writer stands once, whole lines alone, and nothing is missing."""
    lines = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines) == writers * each
    assert sorted(Counter(line["writer"] for line in lines).values()) == [each] * writers
    assert {line["seq"] for line in lines} == set(range(each))


@pytest.mark.parametrize("fork", [os.fork, bare_fork])
@pytest.mark.parametrize("level", ["process", "batch", "event"])
def test_a_child_that_goes_elsewhere_writes_to_the_same_folder_under_its_own_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork: Callable[[], int], level: str
) -> None:
    """A relative folder, a change of the working directory, then a fork: one log, two writers."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    log = EventLog("telemetry", durability=level)  # type: ignore[arg-type]
    assert all(log.append("a.b") for _ in range(10))
    os.chdir("elsewhere")
    assert in_child(lambda: [log.append("a.b") for _ in range(20)], fork) == 0
    assert all(log.append("a.b") for _ in range(10))
    assert not list((tmp_path / "elsewhere").iterdir())
    is_one_log(tmp_path / "telemetry", writers=2, each=20)


@pytest.mark.parametrize("fork", [os.fork, bare_fork])
def test_a_child_is_another_writer_where_the_working_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork: Callable[[], int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is raised in the hook of a fork, and parent and child share no id."""
    monkeypatch.chdir(tmp_path)
    log = EventLog("telemetry")
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert in_child(lambda: [log.append("a.b") for _ in range(20)], fork) == 0
    assert all(log.append("a.b") for _ in range(20))
    is_one_log(tmp_path / "telemetry", writers=2, each=20)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("fork", [os.fork, bare_fork])
def test_a_fork_of_a_fork_is_a_third_writer(tmp_path: Path, fork: Callable[[], int]) -> None:
    """Also where the one between has written nothing."""
    log = EventLog(tmp_path)
    log.append("a.b")

    def grandchild() -> None:
        assert log.append("a.b") is not None
        assert log.dropped == 0

    def child() -> None:
        assert in_child(grandchild, fork) == 0

    assert in_child(child, fork) == 0
    assert in_child(grandchild, fork) == 0
    is_one_log(tmp_path, writers=3, each=1)


def test_a_child_with_its_ancestors_process_number_is_another_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Process numbers come again, and in a namespace of its own every first process is 1."""
    if isinstance(system.own_mark(), system._ProcessNumber):
        pytest.skip("this system wipes no pages")
    log = EventLog(tmp_path)
    log.append("a.b")
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert in_child(lambda: log.append("a.b"), bare_fork) == 0
    is_one_log(tmp_path, writers=2, each=1)


def test_process_numbers_tell_a_fork_where_no_page_is_wiped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, and in a sandbox that knows no such advice."""
    monkeypatch.setattr(system, "own_mark", system._ProcessNumber)
    log = EventLog(tmp_path)
    log.append("a.b")
    assert in_child(lambda: log.append("a.b"), bare_fork) == 0
    is_one_log(tmp_path, writers=2, each=1)


def test_a_bare_fork_amid_appends_and_losses_of_other_threads(tmp_path: Path) -> None:
    """No lock that a thread of the parent holds, at a loss or a sync, stops the child, which has no such thread."""
    log = EventLog(tmp_path)
    log.append("a.b")
    part = log._writer.appender._part
    assert part is not None
    held = threading.Event()
    over = threading.Event()

    def hold() -> None:
        with log._losses, part._lock:
            held.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    log._writer.unreported = 1

    def child() -> None:
        signal.alarm(10)
        assert log.append("c.d", {1: object()}) is not None  # type: ignore[dict-item]
        assert log.append("", {}) is None
        assert log.dropped == 1
        assert log.sync()
        log.close()

    try:
        assert in_child(child, bare_fork) == 0
    finally:
        over.set()
        thread.join()
    (event,) = (event for event in read_back(tmp_path).values() if event.type == "c.d")
    assert event.seq == 0


def work(log: EventLog, count: int) -> None:
    """What a worker of a pool does."""
    for _ in range(count):
        assert log.append("a.b") is not None


def test_workers_of_multiprocessing_are_writers_of_their_own(tmp_path: Path) -> None:
    """Started by fork, with the log of their parent in hand."""
    log = EventLog(tmp_path)
    work(log, 20)
    workers = [multiprocessing.get_context("fork").Process(target=work, args=(log, 20)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    is_one_log(tmp_path, writers=4, each=20)


FORKING_HANDLER = """
import ctypes, os, signal, sys
from analyzer import EventLog
log = EventLog(sys.argv[1], durability=sys.argv[2], max_bytes=20_000)
fork = {"os": os.fork, "bare": ctypes.CDLL(None).fork}[sys.argv[3]]
told = os.open(sys.argv[4], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
forks, children, child = 0, [], False
def handle(*_):
    global child, forks
    # A signal may wait until the timer is set anew, and then there are two.
    if child or forks == 60:
        return
    forks += 1
    number = fork()
    child = child or not number
    children.append(number)
signal.signal(signal.SIGALRM, handle)
turn = 0
while forks < 60 and not child:
    turn += 1
    # One signal at a time, each at another place of the append that follows.
    signal.setitimer(signal.ITIMER_REAL, 1e-5 + turn % 40 * 1e-6)
    given = log.append("a.b", {"turn": turn})
    os.write(told, f"{given} {turn}\\n".encode())
signal.setitimer(signal.ITIMER_REAL, 0)
if child:
    given = log.append("c.d", {"turn": turn})
    os.write(told, f"{given} {turn}\\n".encode())
    os._exit(log.dropped)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in children))
"""


@pytest.mark.parametrize("fork", ["os", "bare"])
@pytest.mark.parametrize("level", ["process", "batch", "event"])
def test_a_signal_handler_forks_in_the_middle_of_an_append(tmp_path: Path, level: str, fork: str) -> None:
    """Both come back from the same call: no line of the one stands on the log a second time through the other."""
    told = tmp_path / "told"
    script = [sys.executable, "-c", FORKING_HANDLER, str(tmp_path / "log"), level, fork, str(told)]
    assert subprocess.run(script, timeout=60, check=False).returncode == 0
    given = dict(line.split() for line in told.read_text().splitlines())
    lines = [json.loads(line) for path in (tmp_path / "log").glob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    assert len({(line["writer"], line["seq"]) for line in lines}) == len(lines)
    assert given.keys() <= {line["id"] for line in lines}
    assert sum(line["type"] == "c.d" for line in lines) == 60


def test_a_log_made_where_there_is_no_working_directory_loses_counts_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever the program goes later, its events do not turn up in a folder that nobody named."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    shutil.rmtree(gone)
    log = EventLog("telemetry")
    assert absolute("telemetry") == "telemetry"
    assert [log.append("a.b") for _ in range(3)] == [None] * 3
    os.chdir(tmp_path)
    assert log.append("a.b") is None
    assert log.dropped == 4
    assert not list(tmp_path.iterdir())
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "telemetry: cannot write to the event log: " in said
    assert "there was no working directory to find this folder from" in said
    with EventLog(tmp_path / "whole") as found:
        assert found.append("a.b") is not None


def test_a_log_goes_on_when_its_working_directory_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is made again where it stood."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    log = EventLog("telemetry")
    assert log.append("a.b") is not None
    shutil.rmtree(place)
    assert log.append("a.b") is not None
    assert in_child(lambda: log.append("a.b")) == 0
    assert len(read_back(place / "telemetry")) == 2
