"""A million events into a store, beside DuckDB's unchecked reader on the same file: `python -m benchmarks.ingest`.

The log is written three times: as our appender does, as any program does that has ids (`json.dumps`, no checksum, no
writer), and without ids. Each run is a process of its own; runs take turns, and medians are compared. Then lines that
all need repair, by processor time, and a second ingest of a thousand files.
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
from typing import Any, NamedTuple

from analyzer.classifier import Facts, classify_facts
from analyzer.events import Event, encode, error_payload
from benchmarks.workload import TEMPLATES, stored

FIRST = datetime(2026, 11, 1)  # noqa: DTZ001 - naive UTC, as everywhere
OURS, RIVAL = "analyzer ingest", "DuckDB read_json"
LOGS = {"crc": "with crc", "plain": "without crc", "nameless": "without crc and id"}
HOSTILE_LINES = 200_000


class Row(NamedTuple):
    """One reader on one log: medians over the runs, of megabytes the most."""

    log: str
    reader: str
    seconds: float
    slowest: float
    cpu_seconds: float
    megabytes: float
    ratio: float
    """Seconds of DuckDB by the reader's."""


def main(events: int = 1_000_000, runs: int = 5) -> None:
    """Write the logs, read them in turns, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        print(f"{events:,} events; medians of {runs} runs\n")
        print(
            f"{'':18} {'':18} {'seconds':>8} {'slowest':>8} {'CPU s':>7} {'events/s':>10} {'peak MB':>8} {'ratio':>6}"
        )
        for row in rows(Path(folder), events, runs):
            print(
                f"{row.log:18} {row.reader:18} {row.seconds:8.2f} {row.slowest:8.2f} {row.cpu_seconds:7.2f} "
                f"{events / row.seconds:10,.0f} {row.megabytes:8.0f} {row.ratio:6.2f}"
            )
        print(f"\nlines that all need repair: {hostile(Path(folder), runs):,.0f} a second of processor time")
        files, repeated = repeat(Path(folder), runs)
        print(f"{files:,} files, nothing new: {repeated:.2f} s for the whole command")


def rows(folder: Path, events: int, runs: int) -> Iterator[Row]:
    """The rows of the table, as they become known."""
    write_log(folder / "crc.jsonl", events)
    write_plain(folder)
    for log, title in LOGS.items():
        taken: dict[str, list[tuple[float, float, float]]] = {OURS: [], RIVAL: []}
        for _ in range(runs):
            for name, found in taken.items():
                found.append(in_process(name, str(folder / f"{log}.jsonl"), str(folder)))
        base = statistics.median(seconds for seconds, _, _ in taken[RIVAL])
        for name, found in taken.items():
            middle = statistics.median(run[0] for run in found)
            cpu = statistics.median(run[1] for run in found)
            yield Row(
                title, name, middle, max(run[0] for run in found), cpu, max(run[2] for run in found), base / middle
            )


def write_log(
    path: Path, count: int, first: datetime = FIRST, days: float | None = None, of_session: int | None = None
) -> int:
    """A realistic mix: three in five are errors, with facts of which some six in ten are distinct.

    Two events a second on the average, or all of them spread over so many days. Nine thousand sessions take turns, or
    each has so many events on end.
    """
    payloads = [
        dict(error_payload(classify_facts(Facts.from_dict(json.loads(stored(number)))), attempt=1))
        for number in range(len(TEMPLATES))
    ]
    with path.open("wb") as handle:
        moment = first
        even = None if days is None else timedelta(days=days) / count
        for number in range(count):
            moment += even or timedelta(milliseconds=137 + number % 700)
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
                f"s-{number % 9_000 if of_session is None else number // of_session}",
                payload,
                name,
                writer=f"host-{writer}:{writer}:0a1b2c3d",
                seq=number // 8,
            )
            handle.write(encode(line))
    return path.stat().st_size


def write_plain(folder: Path) -> None:
    """The same events as any program writes them: with ids; and without, but for the line that says whose log it is."""
    with (
        (folder / "crc.jsonl").open("rb") as lines,
        (folder / "plain.jsonl").open("w") as plain,
        (folder / "nameless.jsonl").open("w") as nameless,
    ):
        for number, line in enumerate(lines):
            record = json.loads(line)
            kept: dict[str, Any] = {
                key: record[key] for key in ("timestamp", "type", "id", "sessionId", "v", "payload")
            }
            plain.write(json.dumps(kept) + "\n")
            if number:
                del kept["id"]
            nameless.write(json.dumps(kept) + "\n")


def write_hostile(path: Path, count: int) -> None:
    """Lines with a secret, a control character and a number beyond 64 bits in each."""
    with path.open("w") as handle:
        for number in range(count):
            kind, payload = event(number, [{"reason": "unknown", "retryable": False, "rule": "fallback"}])
            payload |= {"detail": f"\x07 POST /v1 api_key=Ab3dEf6hIj{number:08}x refused", "serial": 10**24 + number}
            handle.write(json.dumps({"v": 1, "id": f"h-{number}", "type": kind, "sessionId": "s", "payload": payload}))
            handle.write("\n")


def hostile(folder: Path, runs: int, lines: int = HOSTILE_LINES) -> float:
    """Lines that need repair, a second of processor time of the whole ingest."""
    write_hostile(folder / "hostile.jsonl", lines)
    return lines / statistics.median(
        in_process(OURS, str(folder / "hostile.jsonl"), str(folder))[1] for _ in range(runs)
    )


def event(number: int, payloads: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Type and payload of one event, its keys in the order of the typed methods."""
    caller, operation = f"caller-{number % 50}", f"op-{number // 3:08x}"
    chain = {"operation": operation, "caller": caller, "reason": "network_transient"}
    place = number % 20
    if place < 12:
        which = number % 600_000
        verdict, facts = payloads[which % len(payloads)], json.loads(stored(which))
        return "error.classified", {**verdict, "facts": facts, "caller": caller, "operation": operation}
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
    if name == OURS:
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
    lines = (folder / "crc.jsonl").open("rb")
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
    if sys.argv[1:2] and sys.argv[1] in (OURS, RIVAL):
        one(*sys.argv[1:])
    else:
        main(*arguments())
