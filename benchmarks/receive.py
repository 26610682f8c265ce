"""How many records `analyzer receive` takes: `python -m benchmarks.receive`. See README.md for the figures.

The bodies are those of OpenTelemetry's own exporter, 512 log records each, and each is answered when it is on the disk.
Seconds depend on who else is at work; what the server spends of the processor does not.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource

BATCH = 512
"""Records that the exporter's batch processor sends at once."""
COMMAND = (sys.executable, "-c", "from analyzer.cli import main; main()", "receive", "--listen", "127.0.0.1:0", "--log")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.receive")
    parser.add_argument("--requests", type=int, default=40, help="requests of 512 records a run")
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(argv)
    found = [measured(body(), options.requests, options.senders) for _ in range(options.runs)]
    wall, spent = (statistics.median(each) for each in zip(*found, strict=True))
    sys.stdout.write(f"{wall:,.0f} records a second, {spent:,.0f} a second of the server's processor\n")


def body() -> bytes:
    """A request of the exporter: errors and calls of a model in the manner of Claude Code, gzipped protobuf."""
    kept = InMemoryLogRecordExporter()
    logs = LoggerProvider(resource=Resource({"service.name": "claude-code", "service.version": "2.1.332"}))
    logs.add_log_record_processor(SimpleLogRecordProcessor(kept))
    for number in range(BATCH):
        call = {
            "session.id": "0b8c1f3e-6a3c-4a55-9a5e-3f9a0d3c8e11",
            "model": "claude-opus-4-5",
            "event.sequence": number,
        }
        if number % 50:
            name, own = "claude_code.api_request", {"input_tokens": 12_000, "output_tokens": 450, "duration_ms": 5_100}
        else:
            name, own = "claude_code.api_error", {"status_code": 529, "error": "Overloaded", "attempt": 1}
        logs.get_logger("x").emit(event_name=name, body=name, attributes={**call, **own})
    return gzip.compress(encode_logs(kept.get_finished_logs()).SerializeToString())


def measured(sent: bytes, requests: int, senders: int) -> tuple[float, float]:
    """Records a second of the clock, and of the server's processor; every request is answered with 200."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([*COMMAND, folder], stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own
        try:
            port = int(str(server.stderr and server.stderr.readline()).split(",")[0].rpartition(":")[2])
            _send(port, sent, 1)  # what is loaded with the first body is not counted
            before, began = _processor(server.pid), time.monotonic()
            with ThreadPoolExecutor(senders) as pool:
                list(pool.map(lambda _: _send(port, sent, requests // senders), range(senders)))
            seconds, spent = time.monotonic() - began, _processor(server.pid) - before
        finally:
            server.kill()
            server.wait()
    records = BATCH * (requests // senders) * senders
    return records / seconds, records / spent


def _send(port: int, sent: bytes, times: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    for _ in range(times):
        connection.request("POST", "/v1/logs", sent, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"answered with {answer.status}")
    connection.close()


def _processor(pid: int) -> float:
    """Seconds of the processor that a process has spent (Linux)."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
