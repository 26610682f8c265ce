"""Ingests into a lake that are killed at random moments, as `python -m tests.lake.kills --times 20`.

On a cluster of a master and two workers on this machine, in turn by SIGKILL: the driver with its JVM, the executors
of a worker, the driver, a whole worker. The logs grow before each ingest, and batches are small, so that there is
always something left to read, stage and commit; the moments are spread over the time that an ingest takes when nobody
kills it. In the end the lake has to be equal to a DuckDB store that read the same logs at once.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from deltalake import DeltaTable

from analyzer.lake.layout import tables
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.writing.ledger import APP, LAST
from analyzer.store import open_store
from benchmarks.ingest import write_log
from tests import REPOSITORY
from tests.lake.cluster import Cluster
from tests.lake.equal import differences

VICTIMS = ("driver", "executors", "driver", "worker")
EVENTS = 600
"""New events before each ingest: of one file several ranges, and of all several batches."""


@dataclass
class Rounds:
    """One ingest after the other, of logs that grow."""

    cluster: Cluster
    lake: Lake
    logs: Path
    moments: random.Random
    number: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    """What the killed ones were at."""

    def ingest(self, victim: str | None = None, after: float = 0.0) -> tuple[int, float, bool]:
        """Let the logs grow and read them; the exit code, the seconds that it took, whether something was killed."""
        self.number += 1
        _grow(self.logs, self.number)
        began = time.monotonic()
        process = self.cluster.run(
            "ingest", str(self.logs), "--store", f"delta:{self.lake.path}", "-q", module="tests.lake.small"
        )
        try:
            process.wait(after if victim else None)
        except subprocess.TimeoutExpired:
            self.seen[stage := _stage(self.lake)] += 1
            print(f"{self.number}: {victim} killed after {after:.1f} s, {stage}", end="", flush=True)
            self._kill(process, victim or "")
        else:
            victim = None
        said = process.communicate(timeout=600)[1].decode().strip()
        seconds = time.monotonic() - began
        print(f"{self.number}: " if victim is None else "; ", end="")
        print(f"ended with {process.returncode} after {seconds:.1f} s {said[-300:]}", flush=True)
        return process.returncode, seconds, victim is not None

    def _kill(self, process: subprocess.Popen[bytes], victim: str) -> None:
        number = self.moments.randrange(2)
        if victim == "driver":
            os.killpg(process.pid, signal.SIGKILL)
        elif victim == "worker":
            self.cluster.kill(number)
            self.cluster.revive(number)
        else:
            self.cluster.kill_executors(number)


def main() -> int:
    """Run it, and return 1 where the lake is not equal."""
    parser = argparse.ArgumentParser(prog="python -m tests.lake.kills", description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    moments = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as scratch, Cluster(Path(scratch, "cluster")) as cluster:
        folder = Path(scratch)
        lake, store = lake_of(f"delta:{folder}/fleet"), folder / "fleet.duckdb"
        shutil.copytree(REPOSITORY / "sample_events", folder / "logs")
        rounds = Rounds(cluster, lake, folder / "logs", moments)
        codes = [rounds.ingest()[0], (second := rounds.ingest())[0]]
        # As many stretches of that time as there are kills, each with one of them; longer ones while Spark only starts.
        shares = [((place + moments.random()) / given.times) ** 0.6 for place in range(given.times)]
        moments.shuffle(shares)
        killed = 0
        for place, share in enumerate(shares):
            victim = VICTIMS[place % len(VICTIMS)]
            code, _, met = rounds.ingest(victim, share * second[1])
            killed += met
            if not met or victim != "driver":
                codes.append(code)
        codes.append(rounds.ingest()[0])
        with open_store(store, writable=True) as kept:
            figures = kept.ingest([str(rounds.logs)])
        # Sources are numbered as they are met.
        found = differences(lake, store, {"source_id"})
    print(
        f"{figures.total.events:,} events; killed {killed} times, {dict(rounds.seen)}:",
        found or "equal to one clean run",
    )
    # Whoever outlives a worker reads on, or says with 3 that it could not.
    return bool(found) or bool(set(codes) - {0, 3}) or codes[-1] != 0


def _grow(logs: Path, number: int) -> None:
    """A new log, lines at the end of one that is there, some that are repeated, and one that is none."""
    new = logs / f"{number}.jsonl"
    write_log(new, EVENTS)
    # The ids tell the round, and checksums would no longer fit.
    new.write_text(re.sub('"id":"01(.*),"crc":"[0-9a-f]+"', rf'"id":"{number:02d}\1', new.read_text()))
    lines = new.read_bytes().splitlines(True)
    new.write_bytes(b"".join(lines[: -EVENTS // 4]))
    with open(logs / "grows.jsonl", "ab") as log:
        log.write(b"".join(lines[-EVENTS // 4 :] + lines[:20] + [b"no line\n"]))


def _stage(lake: Lake) -> str:
    """What an ingest is at, as its lake shows it."""
    staged = list(Path(lake.path, "_staging").glob("*"))
    if not staged:
        return "before reading"
    if not any(one.joinpath("_SUCCESS").exists() for one in staged):
        return "while files were read"
    numbers = {name: DeltaTable(lake.table(name)).transaction_version(APP) or 0 for name in tables()}
    return "between two commits" if max(numbers.values()) > numbers[LAST] else "between two batches"


if __name__ == "__main__":
    sys.exit(main())
