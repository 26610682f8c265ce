"""A million of our own events into a store, beside DuckDB's unchecked reader: `python -m benchmarks.ingest`.

Each run is a process of its own; runs take turns, and medians are compared. Then a second ingest of a thousand files.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from analyzer.classifier import Facts, classify_facts
from analyzer.events import Event, encode, error_payload
from benchmarks.workload import TEMPLATES, stored

ROWS = ("analyzer ingest", "DuckDB read_json")


def main(events: int = 1_000_000, runs: int = 5) -> None:
    """Write the log, read it in turns, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events.jsonl"
        size = write_log(log, events)
        print(f"{events:,} events, {size / 1e6:.0f} MB, {size / events:.0f} bytes a line; medians of {runs} runs\n")
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ROWS}
        for _ in range(runs):
            for name in ROWS:
                taken[name].append(in_process(name, str(log), folder))
        print(f"{'':18} {'seconds':>8} {'slowest':>8} {'CPU s':>7} {'events/s':>10} {'peak MB':>8} {'ratio':>6}")
        base = statistics.median(seconds for seconds, _, _ in taken[ROWS[1]])
        for name, found in taken.items():
            seconds = [run[0] for run in found]
            middle = statistics.median(seconds)
            print(
                f"{name:18} {middle:8.2f} {max(seconds):8.2f} {statistics.median(run[1] for run in found):7.2f} "
                f"{events / middle:10,.0f} {max(run[2] for run in found):8.0f} {base / middle:6.2f}"
            )
        files, repeated = repeat(Path(folder), runs)
        print(f"\n{files:,} files, nothing new: {repeated:.2f} s for the whole command")


def write_log(path: Path, count: int) -> int:
    """A realistic mix: three in five are errors, with facts of which some six in ten are distinct."""
    payloads = []
    for number in range(len(TEMPLATES)):
        payload = dict(error_payload(classify_facts(Facts.from_dict(json.loads(stored(number)))), attempt=1))
        payload.pop("facts")
        payloads.append(payload)
    with path.open("wb") as handle:
        moment = datetime(2026, 11, 1)  # noqa: DTZ001 - naive UTC, as everywhere
        for number in range(count):
            moment += timedelta(milliseconds=137 + number % 700)
            kind, payload = event(number, payloads)
            mixed = (number * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            stamp = f"{1_790_000_000_000 + number * 487:012x}"
            name = (
                f"{stamp[:8]}-{stamp[8:]}-7{mixed >> 52:03x}-8{mixed >> 40 & 0xFFF:03x}-{mixed & 0xFFFFFFFFFFFF:012x}"
            )
            writer = number % 8
            line = Event(
                kind,
                moment,
                f"s-{number % 9_000}",
                payload,
                name,
                writer=f"host-{writer}:{writer}:0a1b2c3d",
                seq=number // 8,
            )
            handle.write(encode(line))
    return path.stat().st_size


def event(number: int, payloads: list[dict[str, object]]) -> tuple[str, dict[str, object]]:
    """Type and payload of one event."""
    caller, operation = f"caller-{number % 50}", f"op-{number // 3:08x}"
    chain = {"operation": operation, "caller": caller, "reason": "network_transient"}
    place = number % 20
    if place < 12:
        which = number % 600_000
        payload = {**payloads[which % len(payloads)], "caller": caller, "operation": operation}
        return "error.classified", {**payload, "facts": json.loads(stored(which))}
    if place < 16:
        return "retry.scheduled", {**chain, "attempt": 1, "delay_seconds": 1.5}
    if place < 18:
        return "retry.settled", {**chain, "outcome": "recovered", "attempts": 2, "waited_seconds": 3.25}
    if place < 19:
        shares = {"token_usage_percent": 82.5, "threshold_percent": 80, "pre_tokens": 160_000}
        return "relay.triggered", {"relay": f"r-{number}", "caller": caller, "step_id": "implement", **shares}
    return "session.observed", {"requests": number % 100, "retry_visibility": "full", "part": f"p-{number}"}


def in_process(name: str, log: str, folder: str) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak megabytes of one run in a process of its own."""
    for left in Path(folder).glob("bench.duckdb*"):
        left.unlink()
    command = [sys.executable, "-m", "benchmarks.ingest", name, log, f"{folder}/bench.duckdb"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - this module itself
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"], answer["cpu"], answer["megabytes"]


def one(name: str, log: str, store: str) -> None:
    """The run itself: from opening the database to having closed it."""
    import duckdb

    from analyzer.store import open_store

    began = time.perf_counter()
    if name == ROWS[0]:
        with open_store(store, writable=True) as opened:
            total = opened.ingest([log]).total
        if total.quarantined or total.events != total.lines:
            raise SystemExit(f"not everything was read: {total}")
    else:
        connection = duckdb.connect(store)
        connection.execute(f"create table event as select * from read_json('{log}', format = 'newline_delimited')")  # noqa: S608
        connection.close()
    # With all that it started, imports included.
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = {
        "seconds": time.perf_counter() - began,
        "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
        "megabytes": (own.ru_maxrss + children.ru_maxrss) / 1024,
    }
    print(json.dumps(answer), flush=True)


def repeat(folder: Path, runs: int) -> tuple[int, float]:
    """How many files, and the median of whole commands that find nothing new in them."""
    logs = folder / "logs"
    logs.mkdir()
    lines = (folder / "events.jsonl").open("rb")
    files = 1_000
    for number in range(files):
        (logs / f"events-{number:04}.jsonl").write_bytes(b"".join(next(lines) for _ in range(20)))
    code = "from analyzer.cli import main; main()"
    command = [sys.executable, "-c", code, "ingest", str(logs), "--store", str(folder / "many.duckdb"), "--quiet"]
    seconds(command)
    return files, statistics.median(seconds(command) for _ in range(runs))


def seconds(command: list[str]) -> float:
    """How long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command line
    return time.perf_counter() - began


def arguments() -> Iterator[int]:
    """Events and runs, where they were given."""
    return (int(argument.replace("_", "")) for argument in sys.argv[1:])


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ROWS:
        one(*sys.argv[1:])
    else:
        main(*arguments())
