"""One process writes a store: the others are told which, wait a little, and are not held up by the dead."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyzer.errors import StoreBusyError, StoreError
from analyzer.store import open_store
from analyzer.store.db import location
from analyzer.store.db.location import exclusive, holder, lock_of
from tests import LONG_RUNS, Native
from tests.store.upkeep.test_rebuild import feed

HOLD = """
import sys, time
from analyzer.store import open_store
with open_store(sys.argv[1], writable=sys.argv[2] == "w") as store:
    print("ready", flush=True)
    time.sleep(float(sys.argv[3]))
print("done", flush=True)
"""
CLI = "from analyzer.cli import main; main()"


@pytest.fixture
def path(tmp_path: Path, native: Native) -> str:
    """A store with one event."""
    (tmp_path / "log.jsonl").write_bytes(native("a", caller="x", reason="unknown"))
    feed(tmp_path / "s.duckdb", tmp_path / "log.jsonl")
    return str(tmp_path / "s.duckdb")


@contextmanager
def holding(path: str, mode: str, seconds: float = 60.0) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store open for writing (w) or reading (r)."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, path, mode, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def analyzer(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own."""
    return subprocess.run([sys.executable, "-c", CLI, *arguments], capture_output=True, text=True, check=False)


class Waited:
    """Stands for `time` where stores are waited for, and counts the seconds that somebody waits; they pass at once,
    unless they are to pass `really`.
    """

    def __init__(self, *, really: bool = False) -> None:
        self.seconds, self._really = 0.0, really

    def monotonic(self) -> float:
        """A clock that goes on by what is waited."""
        return time.monotonic() if self._really else self.seconds

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.seconds += seconds
        if self._really:
            time.sleep(seconds)


def refusal(path: str, monkeypatch: pytest.MonkeyPatch, *, writable: bool) -> float:
    """The seconds that a process waits until it is told that another one holds the store."""
    with monkeypatch.context() as patch, pytest.raises(StoreBusyError):
        patch.setattr(location, "time", waited := Waited())
        open_store(path, writable=writable)
    return waited.seconds


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_while_one_writes_others_exit_with_75_and_its_name(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    """Writers at once, readers within five seconds; a process that was stopped holds on like one that works."""
    with holding(path, "w") as process:
        if stopped:
            process.send_signal(signal.SIGSTOP)
        for command in (["ingest", str(tmp_path / "log.jsonl")], ["rebuild"], ["query", "errors-by-reason"]):
            done = analyzer(*command, "--store", path)
            assert (done.returncode, f"process {process.pid}" in done.stderr) == (75, True), done.stderr
            assert done.stdout == ""
        assert 1 < refusal(path, monkeypatch, writable=False) < 5
        assert refusal(path, monkeypatch, writable=True) < 1
        process.send_signal(signal.SIGCONT)


def test_the_lock_of_a_killed_process_is_gone_with_it(path: str, tmp_path: Path) -> None:
    """Its lock file stays, with its name in it, and harms nobody."""
    with holding(path, "w") as process:
        assert holder(path) == f"process {process.pid}"
        process.kill()
        process.wait()
        assert str(process.pid) in Path(lock_of(path)).read_text()
        assert holder(path) is None
        done = analyzer("ingest", str(tmp_path / "log.jsonl"), "--store", path)
        assert done.returncode == 0


@pytest.mark.parametrize(("after", "told"), [("process 4711\n", "process 4711"), (None, None)], ids=["named", "let go"])
def test_one_who_has_the_lock_without_a_name_is_given_a_moment(
    path: str, monkeypatch: pytest.MonkeyPatch, after: str | None, told: str | None
) -> None:
    """A writer may be held up between taking the lock and signing it, or between wiping its name and letting go."""
    monkeypatch.setattr(location, "_NAMELESS_SECONDS", 300)
    with open(lock_of(path), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        later = threading.Timer(0.2, lambda: os.pwrite(handle.fileno(), after.encode(), 0) if after else handle.close())
        later.start()
        try:
            assert holder(path) == told
        finally:
            later.join()


def test_a_reader_waits_for_a_short_write(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And then sees all of it."""
    monkeypatch.setattr(location, "PATIENCE_SECONDS", 300)
    with holding(path, "w", 1.0), open_store(path) as store:
        assert store.sql("select count(*) from events").item() == 1


def test_a_writer_waits_for_a_short_reader_and_names_a_long_one(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader is not disturbed."""
    monkeypatch.setattr(location, "PATIENCE_SECONDS", 300)
    with holding(path, "r", 1.0):
        open_store(path, writable=True).close()
    monkeypatch.setattr(location, "PATIENCE_SECONDS", 0.3)
    with holding(path, "r") as process, pytest.raises(StoreBusyError, match=f"process {process.pid}"):
        open_store(path, writable=True)
    open_store(path, writable=True).close()


def test_readers_during_a_long_ingest_get_an_answer_or_are_told(
    tmp_path: Path, native: Native, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real ingest of many lines, and readers all the while: none waits beyond its patience, and none sees half."""
    lines = 300_000
    if LONG_RUNS == 1:
        # An ingest of seconds is over before a reader loses its patience.
        lines = 30_000
        monkeypatch.setattr(location, "PATIENCE_SECONDS", 0.1)
    line = native("a0", caller="x", reason="unknown", facts={"message": "Design file snapshot is being rehydrated"})
    big = tmp_path / "big.jsonl"
    with big.open("wb") as handle:
        for number in range(lines):
            handle.write(line.split(b',"crc"')[0].replace(b'"a0"', b'"a%d"' % number) + b"}\n")
    ingest = subprocess.Popen(
        [sys.executable, "-c", CLI, "ingest", str(big), "--store", path, "--quiet"], stdout=subprocess.PIPE
    )
    try:
        waits, counts = [], []
        while ingest.poll() is None:
            monkeypatch.setattr(location, "time", waited := Waited(really=True))
            try:
                with open_store(path) as store:
                    counts.append(store.sql("select count(*) from events").item())
            except StoreBusyError as error:
                assert f"process {ingest.pid}" in error.message
            waits.append(waited.seconds)
        assert ingest.returncode == 0
    finally:
        ingest.kill()
        ingest.communicate()
    assert max(waits) <= location.PATIENCE_SECONDS
    assert set(counts) <= {1, lines + 1}
    with open_store(path) as store:
        assert store.sql("select count(*), count(distinct event_id) from events").rows() == [(lines + 1, lines + 1)]


def test_of_several_ingests_at_once_each_event_is_kept_once(tmp_path: Path, native: Native) -> None:
    """Those that come second say so; after a last run nothing is missing, and the log is what it was."""
    log = tmp_path / "log.jsonl"
    content = b"".join(native(f"e{number}", caller="x", reason="unknown") for number in range(20_000))
    log.write_bytes(content)
    store_path = str(tmp_path / "n.duckdb")
    command = [sys.executable, "-c", CLI, "ingest", str(log), "--store", store_path]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(5)]
    ended = [(process.communicate()[1], process.returncode) for process in processes]
    codes = [code for _, code in ended]
    assert set(codes) <= {0, 75}
    assert codes.count(0) >= 1
    names = {f"process {process.pid}" for process in processes}
    assert all(any(name in said for name in names) for said, code in ended if code == 75)
    feed(store_path, log)
    with open_store(store_path) as store:
        assert store.sql("select count(*), count(distinct event_id) from events").rows() == [(20_000, 20_000)]
        assert store.sql("select sum(lines) from sources").item() == 20_000
    assert log.read_bytes() == content


def test_a_store_given_as_a_log_is_not_opened(path: str, tmp_path: Path) -> None:
    """Closing any handle on it would drop DuckDB's lock: by name, by pattern, by link and with its own folder."""
    (tmp_path / "link.jsonl").symlink_to(path)
    with open_store(path, writable=True) as store:
        for given in (path, f"{path}*", str(tmp_path / "link.jsonl"), lock_of(path)):
            result = store.ingest([given])
            assert result.sources == []
            assert result.problems
        assert not [item for item in store.ingest([str(tmp_path)]).sources if "duckdb" in item.checkpoint.path]
        code = "import duckdb, sys; duckdb.connect(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        assert "lock" in done.stderr


def test_a_link_in_the_place_of_the_lock_is_not_followed(path: str, tmp_path: Path) -> None:
    """Whoever planted it."""
    os.unlink(lock_of(path))
    (tmp_path / "victim").write_text("precious")
    os.symlink(tmp_path / "victim", lock_of(path))
    with pytest.raises(StoreError, match="is a link"), exclusive(path):
        pass
    assert (tmp_path / "victim").read_text() == "precious"
