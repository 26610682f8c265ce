"""How fast `analyzer ui` answers on a million events, and its memory beside DuckDB's: `python -m benchmarks.ui`.

The store has sessions of fifty events, forty of them requests with tokens, over the sixty days before today. The
server is a process of its own; a page is asked for over HTTP until its answer is read, once cold and then some times
with other words in the address. Its memory, after all pages, stands beside that of a process that only sums up all
sessions once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from datetime import time as midnight
from pathlib import Path
from typing import Any

from analyzer.classifier import Facts, classify_facts
from analyzer.events import Event, encode, error_payload
from analyzer.events.times import now
from benchmarks.measure import ANALYZER
from benchmarks.workload import TEMPLATES, stored

DAYS = 60
OF_SESSION = 50
AT_ONCE = 8
TOKEN = "a-token-of-a-benchmark"  # noqa: S105 - of a server on this machine, for a minute
OF_LOG = 80
"""Sessions of a log."""
BESIDE = """
import sys, analyzer
with analyzer.open_store(sys.argv[1]) as store:
    store.sql("select s.*, e.ending from sessions as s left join endings as e on s.session_id = e.session_id")
print(open("/proc/self/status").read())
"""


def write_logs(folder: Path, events: int) -> None:
    """Write sessions, eight at a time, that end with an error, or as they should."""
    verdicts = [
        dict(error_payload(classify_facts(Facts.from_dict(json.loads(stored(number)))), attempt=1))
        for number in range(len(TEMPLATES))
    ]
    first = datetime.combine(now().date(), midnight()) - timedelta(days=DAYS)
    step = timedelta(days=DAYS) / events
    folder.mkdir()
    for start in range(0, events, OF_LOG * OF_SESSION):
        with (folder / f"{start:09}.jsonl").open("wb") as log:
            for number in range(start, min(start + OF_LOG * OF_SESSION, events)):
                group, place = divmod(number, OF_SESSION * AT_ONCE)
                session, at = group * AT_ONCE + place % AT_ONCE, first + number * step
                kind, payload = event(place // AT_ONCE, session, at, step * OF_SESSION * AT_ONCE, verdicts)
                log.write(encode(Event(kind, at, f"session-{session:06}", payload, f"e-{number:08}")))


def event(
    place: int, session: int, at: datetime, length: timedelta, verdicts: Sequence[dict[str, Any]]
) -> tuple[str, dict[str, Any]]:
    """Return type and payload of an event of a session by its place."""
    caller, operation = f"caller-{session % 50}", f"op-{session:06}-{place // 3}"
    work = {"agent": ("codex", "claude-code")[session % 2], "cwd": f"/work/project-{session % 40}"}
    if place == 0:
        seen = {"started_at": at.isoformat() + "Z", "ended_at": (at + length).isoformat() + "Z", "requests": 40}
        return "session.observed", {**work, **seen, "caller": caller, "model": "claude-opus-4-5", "part": f"{session}"}
    if place in {10, 20, 30, 49 if session % 5 == 0 else 40}:
        which = session * 4 + place // 10
        facts = json.loads(stored(which))
        return "error.classified", {
            **verdicts[which % len(verdicts)], "facts": facts, "caller": caller, "operation": operation,
        }  # fmt: skip
    chain = {"operation": operation, "caller": caller, "reason": "network_transient"}
    if place in {11, 21}:
        return "retry.scheduled", {**chain, "attempt": 1, "delay_seconds": 30}
    if place == 12:
        return "retry.settled", {**chain, "outcome": "recovered", "attempts": 2, "waited_seconds": 30}
    if place == 25:
        return "tool.failed", {**work, "tool": "bash", "message": f"exit code 1: make test-{session} failed"}
    if place == 35:
        return "relay.triggered", {"relay": f"r-{session}", "caller": caller, "strategy": "auto", "pre_tokens": 160_000}
    tokens = {"input_tokens": 900 + place, "output_tokens": 450, "cache_read_tokens": 40_000 + 900 * place}
    named = {"provider": "anthropic", "model": "claude-opus-4-5", "caller": caller}
    return "usage.recorded", {**work, **named, **tokens, "request": f"req-{session}-{place}"}


def asked(port: int, path: str) -> float:
    """Return the milliseconds until a page is read; its first bytes say that it is one."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    began = time.perf_counter()
    connection.request("GET", path, headers={"Cookie": f"analyzer-{port}={TOKEN}"})
    answer = connection.getresponse()
    content = answer.read()
    seconds = time.perf_counter() - began
    connection.close()
    if answer.status != 200 or b"<main>" not in content:
        raise SystemExit(f"{path} was answered with {answer.status}")
    return seconds * 1000


def pages(sessions: int, runs: int) -> dict[str, list[str]]:
    """Return addresses by what they ask for, no two of them the same."""
    turns = range(runs + 1)
    return {
        "Now": ["/now"] * (runs + 1),
        "sessions": [f"/sessions?from={100 * turn}" for turn in turns],
        "a filter and an order": [f"/sessions?agent=codex&sort=cost_usd&caller=caller-{2 * turn}" for turn in turns],
        "a search": [f"/sessions?text=make+test-{turn}" for turn in turns],
        "a session": [f"/session?id=session-{sessions // 2 + 97 * turn:06}" for turn in turns],
        "errors": ["/errors"] * (runs + 1),
    }


def memory(pid: int) -> float:
    """Return the resident megabytes of a process (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def beside(store: str) -> float:
    """Return the megabytes of a process that only has DuckDB, this program and the sums of all sessions."""
    done = subprocess.run([sys.executable, "-c", BESIDE, store], capture_output=True, check=True, text=True)  # noqa: S603
    return int(done.stdout.partition("VmRSS:")[2].split()[0]) / 1024


def measured(folder: Path, runs: int) -> Iterator[str]:
    """Serve the store of a folder, and yield a line a page: cold, the median of the others, the slowest."""
    store = str(folder / "ui.duckdb")
    environment = {**os.environ, "ANALYZER_UI_TOKEN": TOKEN}
    command = [*ANALYZER, "ui", str(folder / "none"), "--store", store, "--no-browser", "--quiet"]
    (folder / "none").mkdir(exist_ok=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:  # noqa: S603 - ours
        assert server.stdout is not None
        port = int(server.stdout.readline().split(":")[2].split("/")[0])
        for name, addresses in pages(sum(1 for _ in (folder / "logs").iterdir()) * OF_LOG, runs).items():
            cold, *warm = (asked(port, path) for path in addresses)
            yield f"{name:24} cold {cold:8,.0f} ms, then {statistics.median(warm):6,.0f}, at most {max(warm):6,.0f}"
        own = memory(server.pid)
        server.terminate()
    other = beside(store)
    yield f"memory {own:,.0f} MB; DuckDB with the sums of all sessions {other:,.0f} MB"


def main(argv: Sequence[str] | None = None) -> None:
    """Make the store, and print the times and the memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ui", description=__doc__)
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", help="where the logs and the store are, or are made (default: a temporary one)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ui-") as scratch:
        folder = Path(options.folder or scratch)
        if not (folder / "ui.duckdb").exists():
            write_logs(folder / "logs", int(options.events))
            ingest = [*ANALYZER, "ingest", str(folder / "logs"), "--store", str(folder / "ui.duckdb"), "--quiet"]
            subprocess.run(ingest, check=True)  # noqa: S603 - our own
        for line in measured(folder, options.runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
