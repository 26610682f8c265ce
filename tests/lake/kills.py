"""Ingests into a lake that are killed at random moments, as `python -m tests.lake.kills --times 20`.

Each is a process of its own, killed with its JVM by SIGKILL; the next one goes on. When the last one has finished, the
lake has to be equal to a DuckDB store that read the same logs at once.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from analyzer.lake.location import lake_of
from analyzer.store import open_store
from tests import REPOSITORY
from tests.lake.equal import differences


def main() -> int:
    """Run it, and return 1 where the lake is not equal."""
    parser = argparse.ArgumentParser(prog="python -m tests.lake.kills", description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--longest", type=float, default=60.0, help="seconds after which a process is killed at the latest"
    )
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    moments = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        name, logs = f"delta:{folder}/fleet", _logs(Path(folder))
        command = [
            sys.executable,
            "-m",
            "analyzer",
            "ingest",
            str(logs),
            "--store",
            name,
            "--master",
            given.master,
            "-q",
        ]
        killed = 0
        for number in range(given.times + 1):
            process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
            after = moments.uniform(1.0, given.longest) if number < given.times else None
            if after is not None:
                time.sleep(after)
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            killed += code == -signal.SIGKILL
            print(f"{number + 1}: ended with {code}{f' after {after:.1f} s' if after else ''}", flush=True)
        with open_store(Path(folder, "fleet.duckdb"), writable=True) as store:
            store.ingest([str(logs)])
        found = differences(lake_of(name), Path(folder, "fleet.duckdb"))
    print(f"killed {killed} times:", found or "equal to one clean run")
    return bool(found) or code != 0


def _logs(folder: Path) -> Path:
    """The samples, in a folder of their own."""
    logs = folder / "logs"
    logs.mkdir()
    for sample in (REPOSITORY / "sample_events").glob("*.jsonl"):
        (logs / sample.name).write_bytes(sample.read_bytes())
    return logs


if __name__ == "__main__":
    sys.exit(main())
