"""What an ingest costs with each engine, as `python -m benchmarks.fleet`: DuckDB, and Spark on one machine.

Each engine reads the same log, of the mix of `benchmarks.ingest`, into a store that is not there yet, in a process of
its own, from its start to its end. That is fair in that all do the whole work: the same lines are read, redacted,
decided on and kept, and processor time is that of every process that took part, the start of Spark and its JVM
included. It is unfair to Spark in that one machine has nothing for it to divide: files of less than 64 MiB together are
one task, so a second processor of `local[2]` serves Spark's own work alone. Of a log of 1,000 events nearly all is the
start. "Readers" are Spark's Python workers, and the processes that an ingest into a file decodes lines in.
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

ENGINES = (None, "local[1]", "local[2]")
_TICK = os.sysconf("SC_CLK_TCK")
_MEMORY = "1g"
"""Of the JVM's heap."""


@dataclass(slots=True)
class Spent:
    """What the processes of one ingest took, as looked at ten times a second."""

    seconds: dict[int, tuple[str, float]] = field(default_factory=dict)
    """By process: its kind, and the processor time it had taken when it was last seen."""
    megabytes: float = 0.0
    """The peak of the resident memory of all together."""

    def look(self, session: int) -> None:
        """Add what the processes of a session have taken by now."""
        total = 0
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, IndexError):  # it is gone
                if os.getsid(int(entry.name)) != session:
                    continue
                name, told = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                pid, numbers = int(entry.name), told.split()
                kind = "driver" if pid == session else "JVM" if name == "java" else "readers"
                self.seconds[pid] = kind, (int(numbers[11]) + int(numbers[12])) / _TICK
                total += int(numbers[21]) * os.sysconf("SC_PAGE_SIZE")
        self.megabytes = max(self.megabytes, total / 2**20)

    @property
    def by_kind(self) -> Counter[str]:
        """Seconds of processor time."""
        found: Counter[str] = Counter()
        for kind, seconds in self.seconds.values():
            found[kind] += seconds
        return found


def ingested(log: Path, master: str | None, folder: Path) -> tuple[Spent, int]:
    """What an ingest of a log took, and the bytes of what it made.

    Raises:
        SystemExit: it failed.
    """
    made = folder / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    to = [f"{made}/fleet.duckdb"] if master is None else [f"delta:{made}/fleet", "--master", master]
    settings = folder / "spark-defaults.conf"
    settings.write_text(f"spark.driver.memory {_MEMORY}\n")
    process = subprocess.Popen(  # noqa: S603 - our own command line
        [*ANALYZER, "ingest", str(log), "--quiet", "--store", *to],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | {"SPARK_CONF_DIR": str(folder)},
    )
    spent = Spent()
    while process.poll() is None:
        spent.look(process.pid)
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the ingest with {master or 'DuckDB'} ended with {process.returncode}")
    return spent, sum(path.stat().st_size for path in made.rglob("*") if path.is_file())


def main() -> int:
    """Measure, and print a row for each engine and size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[1_000, 100_000])
    sizes = parser.parse_args().events
    print("| events | engine | driver CPU s | JVM CPU s | readers CPU s | peak MB | MB on disk |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="fleet-") as scratch:
        folder = Path(scratch)
        for events in sizes:
            log = folder / "events.jsonl"
            write_log(log, events)
            for master in ENGINES:
                spent, size = ingested(log, master, folder)
                columns = [f"{spent.by_kind[kind]:.1f}" for kind in ("driver", "JVM", "readers")]
                last = (f"{spent.megabytes:,.0f}", f"{size / 1e6:.1f}")
                print(f"| {events:,} | {master or 'DuckDB'} | {' | '.join((*columns, *last))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
