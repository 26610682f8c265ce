"""What a push costs, as `python -m benchmarks.fleet`: of one process, and of Spark on workers of one core.


Each reads the same log, of the mix of `benchmarks.ingest`, and pushes it to a table that is not there yet, in a process
of its own, from its start to its end. That is fair in that all do the whole work: the same lines are read, redacted,
decided on and kept, and processor time is that of every process that took part, the start of Spark and of its JVMs
included. It is unfair to Spark in that master, driver and workers share one machine, and that a log of less than 64 MiB
is one task: a second worker has nothing to read of it. Of a log of 1,000 events nearly all is the start. Seconds are of
use on a machine that has nothing else to do; processor time is, too, on one that has. "Driver" is the command,
"driver's JVM" is Spark's part of it, and "executors" are the JVMs of the workers' executors with their Python
processes; without Spark, "executors" are the processes that lines are decoded in.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.ingest import write_log
from benchmarks.measure import ANALYZER
from tests.spark.cluster import ADDRESS, Cluster

ENGINES = (0, 1, 2)
"""How many workers of Spark."""
_TICK = os.sysconf("SC_CLK_TCK")
_SETTINGS = """
spark.driver.memory 1g
spark.executor.memory 1g
"""
KINDS = ("driver", "driver's JVM", "executors")


@dataclass(slots=True)
class Spent:
    """What the processes of one ingest took, as looked at ten times a second."""

    processes: dict[int, tuple[str, float]] = field(default_factory=dict)
    """By process: its kind, and the processor time it had taken when it was last seen."""
    megabytes: Counter[str] = field(default_factory=Counter)
    """By kind: the peak of the resident memory of all its processes together."""
    seconds: float = 0.0
    """From its start to its end."""

    def look(self, session: int, workers: set[int]) -> None:
        """Add what the processes of a session, and those that workers have started, have taken by now."""
        now: Counter[str] = Counter()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):  # it is gone
                pid, owner = int(entry.name), os.getsid(int(entry.name))
                if pid in workers or owner not in {session, *workers}:
                    continue
                name, told = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                numbers = told.split()
                java = owner == session and name == "java"
                kind = KINDS[0] if pid == session else KINDS[1] if java else KINDS[2]
                self.processes[pid] = kind, (int(numbers[11]) + int(numbers[12])) / _TICK
                now[kind] += int(numbers[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        self.megabytes |= now

    @property
    def by_kind(self) -> Counter[str]:
        """Seconds of processor time."""
        found: Counter[str] = Counter()
        for kind, seconds in self.processes.values():
            found[kind] += seconds
        return found


def ingested(log: Path, workers: int, folder: Path) -> tuple[Spent, int]:
    """What an ingest of a log took, and the bytes of what it made.

    Raises:
        SystemExit: it failed.
    """
    made = folder / "made"
    shutil.rmtree(folder, ignore_errors=True)
    made.mkdir(parents=True)
    with Cluster(folder / "cluster", workers, memory="1g") if workers else contextlib.nullcontext() as cluster:
        to = ["--to", f"delta:{made}/table", "--store", f"{made}/store.duckdb"]
        if cluster:
            with open(folder / "cluster" / "conf" / "spark-defaults.conf", "w") as settings:
                settings.write(f"{ADDRESS}{_SETTINGS}")
        began = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [*ANALYZER, "push", str(log), "--quiet", *to, *(["--master", cluster.master] if cluster else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=cluster.environment if cluster else None,
        )
        spent = Spent()
        while process.poll() is None:
            spent.look(process.pid, cluster.workers if cluster else set())
            time.sleep(0.1)
        spent.seconds = time.monotonic() - began
        if process.returncode:
            raise SystemExit(f"the push with {workers or 'no'} workers ended with {process.returncode}")
    return spent, sum(path.stat().st_size for path in made.rglob("*") if path.is_file())


def main() -> int:
    """Measure, and print a row for each engine and size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--workers", type=int, nargs="+", default=ENGINES, help="0: without Spark")
    parser.add_argument("--folder", type=Path, help="where the logs and stores are made (default: a temporary folder)")
    given = parser.parse_args()
    figures = [*(f"{kind} CPU s" for kind in KINDS), *(f"{kind} MB" for kind in KINDS)]
    print(f"| events | engine | s | {' | '.join(figures)} | MB on disk |")
    print("| ---: | --- | ---: |" + " ---: |" * (len(figures) + 1))
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=given.folder) as scratch:
        for events in given.events:
            log = Path(scratch, "events.jsonl")
            write_log(log, events)
            for workers in given.workers:
                spent, size = ingested(log, workers, Path(scratch, "run"))
                seconds = spent.by_kind
                cells = [
                    f"{spent.seconds:.0f}",
                    *(f"{seconds[kind]:.1f}" for kind in KINDS),
                    *(f"{spent.megabytes[kind]:,.0f}" for kind in KINDS),
                    f"{size / 1e6:.1f}",
                ]
                engine = f"{workers} worker{'s' * (workers > 1)}" if workers else "no Spark"
                print(f"| {events:,} | {engine} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
