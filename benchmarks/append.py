"""How many events a second and process: `python -m benchmarks.append`. See README.md for what the rows mean.

Each row writes the same payloads in one thread to a file of its own, one line an event that survives the process; they
take turns. It is not quite fair to ours, as none of the others looks for secrets, makes ids or writes a checksum.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import logging
import os
import statistics
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time, time_ns
from typing import Any, NamedTuple

from analyzer.events import EventLog
from analyzer.events.sanitize import MAX_ITEMS, _encode, _plain_items
from analyzer.redaction import may_hold_secret

Write = Callable[[Mapping[str, Any]], object]


class Rival(NamedTuple):
    """A way to append events as JSON lines."""

    name: str
    open: Callable[[Path, ExitStack], Write]
    promise: str
    """What is known about an event once the call is back."""
    share: int = 1
    """One part in so many of the events: some ways are slow."""


def events(count: int) -> list[dict[str, Any]]:
    """Payloads of `error.classified` with their facts, some 400 bytes each; no secrets in them."""
    return [
        {
            "caller": f"probe-{number % 7}",
            "reason": "rate_limited",
            "detail": "requests",
            "retryable": True,
            "action": "wait_then_retry",
            "rule": "status-429",
            "ruleset": "5c1f0e9a2b7d",
            "operation": f"op-{number}",
            "attempt": number % 3 + 1,
            "max_attempts": 3,
            "retry_after_seconds": number % 60 + 0.5,
            "input_tokens": 1_000 + number,
            "facts": {
                "status": 429,
                "type": "rate_limit_error",
                "message": f"Too many requests, {number % 90} waiting, try again in {number % 60} seconds",
                "provider": "example",
                "headers": {"retry-after": str(number % 60)},
            },
        }
        for number in range(count)
    ]


def _event_log(level: Any) -> Callable[[Path, ExitStack], Write]:
    def opened(folder: Path, stack: ExitStack) -> Write:
        log = stack.enter_context(EventLog(folder / "log", durability=level))

        def write(payload: Mapping[str, Any]) -> None:
            if log.append("error.classified", payload, session="s-42") is None:
                raise OSError("an event was lost")

        return write

    return opened


def _floor(folder: Path, stack: ExitStack) -> Write:
    """The bytes, checks and calls to the system of `EventLog`, in one function that takes no fault, fork or limit."""
    log = stack.enter_context(EventLog(folder / "log"))
    log.append("error.classified", {}, session="s-42")
    (path,) = map(str, (folder / "log").iterdir())
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    stack.callback(os.close, descriptor)
    inode, numbers = os.fstat(descriptor).st_ino, itertools.count(1)
    written = Path(path).read_bytes()
    beginning, shared = (
        written[: written.index(b'"id":')],
        written[written.index(b'","type"') : written.index(b'0,"payload"')],
    )

    def write(payload: Mapping[str, Any]) -> None:
        number = next(numbers)
        event_id = f"{time_ns() // 1_000_000:012x}-7000-8000-{number:012x}"
        if _plain_items(payload, 0) > MAX_ITEMS or may_hold_secret(encoded := _encode(payload)):
            raise ValueError("not a plain payload")
        body = b'%s"id":"%s%s%d,"payload":%s' % (beginning, event_id.encode(), shared, number, encoded)
        line = b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body))
        if os.stat(path).st_ino != inode or os.write(descriptor, line) != len(line):
            raise OSError("an event was lost")
        if not os.fstat(descriptor).st_nlink:
            raise OSError("an event was lost")

    return write


def _structlog(raw: bool) -> Callable[[Path, ExitStack], Write]:
    def opened(folder: Path, stack: ExitStack) -> Write:
        import structlog

        stamp = structlog.processors.TimeStamper(fmt="iso", key="timestamp")
        if raw:
            import orjson

            sink: Any = structlog.BytesLogger(stack.enter_context((folder / "a.jsonl").open("ab")))
            render = structlog.processors.JSONRenderer(serializer=orjson.dumps)
        else:
            sink = structlog.WriteLogger(stack.enter_context((folder / "a.jsonl").open("a", encoding="utf-8")))
            render = structlog.processors.JSONRenderer()
        logger = structlog.wrap_logger(sink, processors=[structlog.processors.add_log_level, stamp, render]).bind()
        return lambda payload: logger.error("error.classified", sessionId="s-42", payload=payload)

    return opened


def _jsonlines(folder: Path, stack: ExitStack) -> Write:
    import jsonlines

    writer = stack.enter_context(jsonlines.open(str(folder / "a.jsonl"), "a", flush=True))
    return lambda payload: writer.write(_record(payload))


def _json_logger(folder: Path, stack: ExitStack) -> Write:
    from pythonjsonlogger.json import JsonFormatter

    handler = logging.FileHandler(folder / "a.jsonl")
    stack.callback(handler.close)
    handler.setFormatter(JsonFormatter("{message}{levelname}{asctime}", style="{"))
    logger = logging.Logger("benchmark")
    logger.addHandler(handler)
    return lambda payload: logger.error("error.classified", extra={"sessionId": "s-42", "payload": payload})


def _loguru(folder: Path, stack: ExitStack) -> Write:
    from loguru import logger

    logger.remove()
    sink = logger.add(str(folder / "a.jsonl"), serialize=True)
    stack.callback(logger.remove, sink)
    bound = logger.bind(sessionId="s-42")
    return lambda payload: bound.bind(payload=payload).error("error.classified")


def _by_hand(folder: Path, stack: ExitStack) -> Write:
    handle = stack.enter_context((folder / "a.jsonl").open("a", encoding="utf-8"))

    def write(payload: Mapping[str, Any]) -> None:
        handle.write(json.dumps(_record(payload)) + "\n")
        handle.flush()

    return write


def _record(payload: Mapping[str, Any]) -> dict[str, Any]:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"type": "error.classified", "timestamp": moment, "sessionId": "s-42", "payload": payload}


_KILL = "survives kill -9; errors are raised; no ids, checksums, redaction"
OURS, PEER = "EventLog, process", "structlog, BytesLogger, orjson"
RIVALS = (
    Rival(OURS, _event_log("process"), "survives kill -9; id, checksum, redaction, losses counted"),
    Rival("the same without layers", _floor, "the first row's bytes, checks and calls; nothing is made good"),
    Rival("EventLog, batch", _event_log("batch"), "the same, and on the disk once a second"),
    Rival("EventLog, event", _event_log("event"), "the same, and on the disk: survives a power cut", share=100),
    Rival(PEER, _structlog(raw=True), _KILL),
    Rival("structlog, WriteLogger, json", _structlog(raw=False), _KILL),
    Rival("jsonlines, flush", _jsonlines, "two writes a line: lines of two processes may mix"),
    Rival("python-json-logger, FileHandler", _json_logger, "survives kill -9; errors to stderr; no ids, no redaction"),
    Rival("loguru, serialize", _loguru, "survives kill -9; errors to stderr; no redaction"),
    Rival("json.dumps, write, flush", _by_hand, _KILL),
)


class Timing(NamedTuple):
    """One run of one row, in microseconds an event."""

    wall: float
    processor: float


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    options = _parser().parse_args(argv)
    given = events(2_000)
    timings: dict[str, list[Timing]] = {rival.name: [] for rival in RIVALS}
    absent: dict[str, str] = {}
    for turn in range(options.runs):
        # Every other time backwards: what a run leaves behind does not always meet the same neighbour.
        for rival in RIVALS[:: 1 if turn % 2 == 0 else -1]:
            try:
                timings[rival.name].append(run(rival, given, options.events // rival.share, options.folder))
            except ImportError as error:
                absent[rival.name] = f"not installed: {error.name}"
    own = statistics.median(timing.processor for timing in timings[RIVALS[0].name])
    print(f"{'row':32} {'wall us':>8} {'cpu us':>8} {'events/s':>9} {'cpu ratio':>9}  promise")
    for rival in RIVALS:
        if rival.name in absent:
            print(f"{rival.name:32} {absent[rival.name]}")
            continue
        wall = statistics.median(timing.wall for timing in timings[rival.name])
        processor = statistics.median(timing.processor for timing in timings[rival.name])
        rate = 1e6 / wall
        print(f"{rival.name:32} {wall:8.1f} {processor:8.1f} {rate:9,.0f} {processor / own:9.2f}  {rival.promise}")
    return 0


def run(rival: Rival, payloads: Sequence[Mapping[str, Any]], count: int, folder: str | None) -> Timing:
    """Append so many events to a log of their own."""
    with tempfile.TemporaryDirectory(dir=folder) as place, ExitStack() as stack:
        write = rival.open(Path(place), stack)
        given = list(itertools.islice(itertools.cycle(payloads), count))
        for payload in payloads[: count // 10]:
            write(payload)
        gc.collect()
        wall, processor = perf_counter(), process_time()
        for payload in given:
            write(payload)
        return Timing((perf_counter() - wall) / count * 1e6, (process_time() - processor) / count * 1e6)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.append", description=__doc__)
    parser.add_argument("--events", type=int, default=50_000, help="events a run (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="runs a row; the median counts (default: %(default)s)")
    parser.add_argument("--folder", help="where to write (default: the folder for temporary files)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
