"""Writers in threads, processes, forks and signal handlers; killed, stopped and at their end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from analyzer.events import EventLog, sealed
from tests.events.disk import read_back

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")


def python(script: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """A process that runs the script."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, text=True, **options)  # type: ignore[call-overload,no-any-return]


def wait_for(path: Path, size: int) -> None:
    """Until a file has so many bytes."""
    deadline = time.monotonic() + 60
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def raw_lines(folder: Path) -> list[bytes]:
    """Every line of the folder, blank ones too."""
    return [line for path in folder.glob("*.jsonl") for line in path.read_bytes().split(b"\n")[:-1]]


MANY = """
import sys, threading
from analyzer import EventLog
log = EventLog(sys.argv[1], max_bytes=200_000)
def work(name):
    for number in range(60):
        size = 2 ** (number // 3)
        assert log.append("a.b", {"who": name, "texts": ["x" * min(size, 1_024)] * max(size // 1_024, 1)})
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert log.dropped == 0
"""


def test_processes_with_threads_leave_whole_lines_and_no_blank_ones(tmp_path: Path) -> None:
    """Three processes of four threads, lines of 200 bytes to 500 kB, several parts: every line once, none blank."""
    writers = [python(MANY, tmp_path) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(list(tmp_path.iterdir())) > 3
    lines = raw_lines(tmp_path)
    assert len(lines) == len(read_back(tmp_path)) == 720
    assert min(map(len, lines)) < 300
    assert max(map(len, lines)) > 500_000
    counts = Counter(event.writer for event in read_back(tmp_path).values())
    assert sorted(counts.values()) == [240, 240, 240]


KILLED = """
import os, sys
from analyzer import EventLog
log = EventLog(sys.argv[1])
told = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
number = 0
while True:
    event_id = log.append("a.b", {"n": number, "texts": ["x" * 200] * (int(sys.argv[3]) // 200)})
    os.write(told, (event_id + "\\n").encode())
    number += 1
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Twelve writers are killed in the middle of appending, beside one that lives on; none leaves a gap."""
    told = tmp_path / "told"
    log = tmp_path / "log"
    bystander = EventLog(log)
    ids = []
    for turn in range(6):
        writers = [python(KILLED, log, told, size) for size in (200, 60_000)]
        before = told.stat().st_size if told.exists() else 0
        for step in range(10):
            ids.append(bystander.append("c.d"))
            wait_for(told, before + 37 * (4 * step + turn))
        for writer in writers:
            writer.kill()
            writer.wait()
    acknowledged = [line for line in told.read_text().split("\n") if len(line) == 36]
    assert len(acknowledged) >= 6 * 36
    found = read_back(log)
    assert {*acknowledged, *ids} <= found.keys()
    assert all(blank.strip() for blank in raw_lines(log))
    for writer in {event.writer for event in found.values()}:
        numbers = sorted(event.seq or 0 for event in found.values() if event.writer == writer)
        assert numbers == list(range(len(numbers)))


def test_a_stopped_writer_stalls_no_one(tmp_path: Path) -> None:
    """A writer under SIGSTOP holds its lease, and others append beside it."""
    writer = python(KILLED, tmp_path / "log", tmp_path / "told", 200)
    try:
        wait_for(tmp_path / "told", 37)
        os.kill(writer.pid, signal.SIGSTOP)
        log = EventLog(tmp_path / "log")
        started = time.monotonic()
        assert all(log.append("a.b") for _ in range(200))
        assert time.monotonic() - started < 30  # the stopped one lets go of nothing
    finally:
        writer.kill()
        writer.wait()


def test_a_file_is_sealed_when_no_living_process_has_it(tmp_path: Path) -> None:
    """The lease ends with its holder, `kill -9` included, and a path and a descriptor say the same."""
    writer = python(KILLED, tmp_path / "log", tmp_path / "told", 200)
    wait_for(tmp_path / "told", 37)
    (path,) = (tmp_path / "log").iterdir()
    with path.open("rb") as handle:
        assert not sealed(path)
        assert not sealed(handle.fileno())
        writer.kill()
        writer.wait()
        assert sealed(path)
        assert sealed(handle.fileno())
        log = EventLog(tmp_path / "log")
        log.append("a.b")
        assert not sealed(handle.fileno())
        log.close()
        assert sealed(handle.fileno())


def test_a_reader_that_asks_does_not_stop_a_writer(tmp_path: Path) -> None:
    """While someone asks again and again whether the file is sealed, new writers open it all the same."""
    with EventLog(tmp_path) as log:
        log.append("a.b")
    (path,) = tmp_path.iterdir()
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            sealed(path)

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        for _ in range(100):
            with EventLog(tmp_path) as log:
                assert log.append("a.b") is not None
    finally:
        stop.set()
        reader.join()
    assert len(read_back(tmp_path)) == 101


def test_a_writer_goes_elsewhere_when_a_reader_keeps_the_file(tmp_path: Path) -> None:
    """A reader that stopped in the middle of its question costs a new part, not an event and not a wait."""
    import fcntl

    with EventLog(tmp_path) as log:
        log.append("a.b")
    (path,) = tmp_path.iterdir()
    with path.open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        started = time.monotonic()
        assert EventLog(tmp_path).append("a.b") is not None
        assert time.monotonic() - started < 30  # the lock is never free
    assert len(list(tmp_path.iterdir())) == 2


def test_forks_in_threads_are_writers_of_their_own(tmp_path: Path) -> None:
    """Children forked while other threads append number from 0, hold no lock, and close what they inherited."""
    log = EventLog(tmp_path)
    stop = threading.Event()

    def append() -> None:
        while not stop.is_set():
            log.append("a.b")

    threads = [threading.Thread(target=append) for _ in range(2)]
    for thread in threads:
        thread.start()
    statuses = []
    for _ in range(8):
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                done = [log.append("c.d") for _ in range(20)]
                os._exit(7 if None not in done and log.dropped == 0 else 1)
            os._exit(2)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    assert statuses == [7] * 8
    found = read_back(tmp_path).values()
    assert len({(event.writer, event.seq) for event in found}) == len(found)
    assert sorted(Counter(event.writer for event in found if event.type == "c.d").values()) == [20] * 8


def test_a_child_that_never_appends_does_not_keep_the_file(tmp_path: Path) -> None:
    """It outlives its parent's log without keeping the lease."""
    log = EventLog(tmp_path)
    log.append("a.b")
    (path,) = tmp_path.iterdir()
    held = log._writer.appender._part  # as a thread in the middle of an append holds it, whose frame a child keeps
    ready, told = os.pipe()
    wait, go_on = os.pipe()
    child = os.fork()
    if not child:
        os.write(told, b"x")
        os.read(wait, 1)
        os._exit(0)
    os.read(ready, 1)
    log.close()
    del held
    try:
        assert sealed(path)
    finally:
        os.write(go_on, b"x")
        os.waitpid(child, 0)
        for descriptor in (ready, told, wait, go_on):
            os.close(descriptor)


SIGNALLED = """
import signal, sys
from analyzer import EventLog
log = EventLog(sys.argv[1], durability=sys.argv[2], max_bytes=20_000)
ids = []
handled = []
signal.signal(signal.SIGALRM, lambda *_: handled.append(log.append("in.handler")))
while len(handled) < 100:
    # One signal at a time, each at another place of the append that follows.
    signal.setitimer(signal.ITIMER_REAL, 1e-5 + len(ids) % 40 * 1e-6)
    ids.append(log.append("a.b"))
signal.setitimer(signal.ITIMER_REAL, 0)
ids += handled
assert None not in ids and log.dropped == 0
print(len(ids))
"""


@pytest.mark.parametrize("level", ["process", "event"])
def test_a_signal_handler_appends_in_the_middle_of_an_append(tmp_path: Path, level: str) -> None:
    """No deadlock, no loss, no number twice, though the handler runs inside the append that it interrupts."""
    writer = python(SIGNALLED, tmp_path, level, stdout=-1)
    out, _ = writer.communicate(timeout=30)
    assert writer.returncode == 0
    found = read_back(tmp_path).values()
    assert len(found) == int(out)
    assert sorted(event.seq or 0 for event in found) == list(range(len(found)))
    assert all(line.strip() for line in raw_lines(tmp_path))


AT_THE_END = """
import atexit, sys
from analyzer import EventLog
early = EventLog(sys.argv[1], durability="batch")
atexit.register(lambda: early.append("at.exit"))
class Last:
    def __del__(self): early.append("in.del")
keep = Last()
late = EventLog(sys.argv[1], durability="batch")
early.append("a.b")
late.append("a.b")
"""


def test_appends_at_exit_are_written(tmp_path: Path) -> None:
    """By exit handlers and by what is deleted when the interpreter is half gone; nothing is said or raised there."""
    writer = python(AT_THE_END, tmp_path, stderr=-1)
    _, err = writer.communicate(timeout=30)
    assert (writer.returncode, err) == (0, "")
    assert Counter(event.type for event in read_back(tmp_path).values()) == {"a.b": 2, "at.exit": 1, "in.del": 1}
