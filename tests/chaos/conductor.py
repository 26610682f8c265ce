"""Starts writers and ingests, kills them at random moments, moves their files about, and judges what is left."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from analyzer.errors import StoreBusyError, StoreError
from analyzer.store import open_store
from analyzer.store.db.location import PATIENCE_SECONDS
from tests.chaos.hostile import Intruder
from tests.chaos.judge import ANALYZER, judge
from tests.chaos.tally import Tally

_LONGEST_READ_SECONDS = 5.5
_PROBE_SECONDS = 0.05
"""Of work, by which it is told how busy the machine is."""


class Conductor:
    """One run in one folder."""

    def __init__(self, folder: Path, seed: int, writers: int = 3) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._logs, self._notes, self._store = folder / "logs", folder / "notes", folder / "x.duckdb"
        self._logs.mkdir(mode=0o700)
        self._notes.mkdir()
        self._count = writers
        self._writers: list[subprocess.Popen[bytes]] = []
        self._ingests: list[tuple[subprocess.Popen[bytes], bool]] = []
        self._intruder = Intruder(self._logs, self._chance)
        self._over = threading.Event()
        self._born = 0

    def run(self, seconds: float) -> Tally:
        """Chaos for so long; then peace, one last ingest, and the judgement."""
        end = time.monotonic() + seconds
        steps = (
            (self._kill_writer, 3),
            (self._pause_writer, 1),
            (self._start_ingest, 3),
            (self._kill_ingest, 2),
            (self._move_file, 2),
            (self._tear, 1),
            (self._intrude, 1),
        )
        chosen = [step for step, weight in steps for _ in range(weight)]
        reader = threading.Thread(target=self._read)
        reader.start()
        try:
            while time.monotonic() < end:
                while len(self._writers) < self._count:
                    self._start_writer()
                self._chance.choice(chosen)()
                self._collect()
                time.sleep(self._chance.random() / 5)
        finally:
            self._over.set()
            self._end_all()
            self._intruder.leave()
            reader.join()
        judge(self._logs, self._notes, self._store, self.tally)
        return self.tally

    def _start_writer(self) -> None:
        self._born += 1
        command = [sys.executable, "-m", "tests.chaos.writer", str(self._logs)]
        command += [str(self._notes / str(self._born)), str(self._chance.randrange(2**32))]
        command.append(self._chance.choice(("process", "process", "batch", "event")))
        if self._chance.random() < 0.25:
            self.tally.disks_full += 1
            command.append(str(self._chance.randrange(50_000, 400_000)))
        # A group of its own: forked children end with the writer.
        self._writers.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True))

    def _kill_writer(self) -> None:
        writer = self._writers.pop(self._chance.randrange(len(self._writers)))
        how = self._chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        if how == signal.SIGKILL:
            _kill_group(writer)
        self._end(writer)
        self.tally.writer_kills += writer.returncode == -signal.SIGKILL

    def _pause_writer(self) -> None:
        # Whatever a stopped writer holds, the others must go on; and it must come back as if nothing had been.
        writer = self._chance.choice(self._writers)
        writer.send_signal(signal.SIGSTOP)
        time.sleep(self._chance.random() / 4)
        writer.send_signal(signal.SIGCONT)
        self.tally.writer_pauses += 1

    def _start_ingest(self) -> None:
        if len(self._ingests) > 1:
            return
        limited = self._chance.random() < 0.2
        process = subprocess.Popen(self._ingest_command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if limited:
            size = self._chance.randrange(200_000, 4_000_000)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        self.tally.disks_full += limited
        self.tally.ingests += 1
        self._ingests.append((process, limited))

    def _ingest_command(self) -> list[str]:
        return [*ANALYZER, "ingest", str(self._logs), "--store", str(self._store), "--quiet"]

    def _kill_ingest(self) -> None:
        if self._ingests:
            process, _ = self._chance.choice(self._ingests)
            process.kill()
            process.wait()
            self.tally.ingest_kills += process.returncode == -signal.SIGKILL

    def _collect(self, *, wait: bool = False) -> None:
        running = []
        for process, limited in self._ingests:
            if not wait and process.poll() is None:
                running.append((process, limited))
                continue
            _, said = process.communicate()
            self.tally.ingests_refused += process.returncode == 75
            # A file may be moved away between its discovery and its reading: 3, and the next run finds it.
            if process.returncode not in (0, 3, 75, -signal.SIGKILL):
                self.tally.violations.append(
                    f"ingest exit {process.returncode}: {said.decode(errors='replace')[-400:]}"
                )
        self._ingests = running

    def _move_file(self) -> None:
        """What log rotation does to a file: renaming may hit a live one, the rest only a file that nobody has open."""
        names = sorted(path for path in _files(self._logs) if not path.name.endswith((".gz", ".tmp")))
        if not names:
            return
        path = self._chance.choice(names)
        what = self._chance.choice(("rename", "gzip", "copytruncate", "hard link"))
        self.tally.moves += 1
        if what == "rename":
            path.rename(self._fresh(path, "r"))
        elif what == "hard link":
            os.link(path, self._fresh(path, "l"))
        else:
            with path.open("rb+") as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
                if what == "gzip":
                    made = self._fresh(path, "gz.tmp")
                    made.write_bytes(gzip.compress(path.read_bytes(), 1))
                    made.rename(made.with_suffix(""))
                    path.unlink()
                else:
                    shutil.copyfile(path, self._fresh(path, "c"))
                    handle.truncate(0)

    def _fresh(self, path: Path, kind: str) -> Path:
        return path.with_name(f"{path.name}.{self._chance.randrange(10**9)}.{kind}")

    def _tear(self) -> None:
        """Someone else's write that breaks off, so that the next line of a well-behaved writer comes behind it."""
        names = sorted(path for path in _files(self._logs) if path.suffix == ".jsonl")
        if names:
            with contextlib.suppress(FileNotFoundError), self._chance.choice(names).open("ab", buffering=0) as handle:
                handle.write(
                    b'{"v":1,"id":"torn","type":"error.classified","payload":{"caller":"x'[
                        : self._chance.randrange(1, 66)
                    ]
                )
            self.tally.moves += 1

    def _intrude(self) -> None:
        self._intruder.come()
        self.tally.intrusions += 1

    def _end_all(self) -> None:
        for writer in self._writers:
            self._end(writer)
        self._collect(wait=True)

    def _end(self, writer: subprocess.Popen[bytes]) -> None:
        writer.terminate()
        try:
            writer.wait(60)
        except subprocess.TimeoutExpired:
            self.tally.violations.append("a writer did not end when it was told to")
            _kill_group(writer)
            writer.wait()

    def _read(self) -> None:
        """Someone who looks at the store all the while: told that it is busy, or shown the state after some batch."""
        while not self._over.wait(0.1):
            if not self._store.exists():
                continue
            began = time.monotonic()
            try:
                with open_store(self._store) as store:
                    events, told = store.sql(
                        "select (select count(*) from events), (select coalesce(sum(events), 0) from sources)"
                    ).row(0)
                if events != told:
                    self.tally.violations.append(f"a reader saw {events} events where {told} were accounted for")
                self.tally.reads += 1
            except StoreBusyError:
                self.tally.reads_refused += 1
            except StoreError as error:
                # The first ingest may have died before the store was one.
                if self.tally.reads:
                    self.tally.violations.append(f"a reader was told: {error}")
            if (seconds := time.monotonic() - began) > _LONGEST_READ_SECONDS and seconds > _longest_here():
                self.tally.violations.append(f"a reader waited for {seconds:.1f} s")


def _longest_here() -> float:
    """The longest read where a busy machine makes work longer: waiting for a writer takes as long as ever."""
    wall, work = time.monotonic(), time.thread_time()
    while time.thread_time() - work < _PROBE_SECONDS:
        pass
    stretch = (time.monotonic() - wall) / _PROBE_SECONDS
    return PATIENCE_SECONDS + max(1.0, stretch) * (_LONGEST_READ_SECONDS - PATIENCE_SECONDS)


def _files(folder: Path) -> list[Path]:
    """Files alone: somebody hostile leaves folders and links."""
    return [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # One that met its full disk may have ended by itself.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
