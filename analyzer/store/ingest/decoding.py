"""Blocks of our own log → frames; of a large log some in a second process, because Python computes on one core.

Invariant: what a block holds is the same wherever it is decoded, and blocks come back in their order. A second process
that fails, for whatever reason, costs time and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Self

import msgspec
import polars as pl

from analyzer.events.rows import Decoded, RowDecoder, Rows
from analyzer.interpreter import start
from analyzer.store.ingest.blocks import Stretch
from analyzer.store.ingest.inputs import CHUNK
from analyzer.store.ingest.staging import SMALL, staged

WORTH_IT = 32 * 1024 * 1024
"""Bytes; a smaller log is decoded in this process alone.

Starting a second one takes as long as decoding a third of them.
"""
_ASKED = 2
"""The most blocks that are handed to the second process at once."""
_MOST_WAITING = 4
"""The most blocks that are held in memory until the block before them is done: they are taken in order."""

_LARGE = 4 * CHUNK
"""Bytes; a longer block is one very long line, and is decoded here with no other block in memory."""


@dataclass(frozen=True, slots=True)
class Told:
    """The events and the broken lines of one block.

    Line numbers and offsets are counted from the start of the block.
    """

    events: pl.DataFrame | Rows
    """A frame where the second process decoded the block or it has at least `SMALL` events, else rows."""
    rejects: list[tuple[int, int, bytes, str, str]]
    """Line, offset, text, why and details of each broken line."""
    lines: int
    blank: int
    blank_bytes: int


class _Header(msgspec.Struct, array_like=True):
    """What the second process sends before the frame of a block."""

    frame_bytes: int
    rejects: list[tuple[int, int, bytes, str, str]]
    lines: int
    blank: int
    blank_bytes: int


def tell(decode: Callable[[bytes], Decoded], data: bytes) -> Told:
    """Decode a block in this process."""
    found = decode(data)
    rejects = [(line, offset, text, reject.why, reject.detail) for line, offset, text, reject in found.rejects]
    few = len(found.rows.payloads) < SMALL
    return Told(found.rows if few else staged(found.rows), rejects, found.lines, found.blank, found.blank_bytes)


class SecondProcess:
    """A process that decodes blocks of large logs, started at the first of them. Use as a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1, "second")
        self._gone = (os.cpu_count() or 1) < 2

    def ahead(
        self,
        stretches: Iterable[Stretch],
        size: int,
        file_time: datetime,
        decode: Callable[[bytes], Decoded],
        *,
        journal: bool = False,
    ) -> Iterator[tuple[Stretch, Told | None]]:
        """All stretches of a log that has so many bytes left, each with what it holds where that is known already.

        The first one is for the caller to look at. Whoever of the two processes is free takes the next.
        """
        waiting: deque[tuple[Stretch, Future[Told | None] | Told | None]] = deque()
        for place, stretch in enumerate(stretches):
            if len(stretch.data) > _LARGE:
                while waiting:
                    yield _settled(*waiting.popleft())
                yield stretch, None
                continue
            if place == 0 or stretch.overlong or self._gone or size < WORTH_IT:
                waiting.append((stretch, None))
            elif sum(isinstance(told, Future) and not told.done() for _, told in waiting) < _ASKED:
                waiting.append((stretch, self._thread.submit(self._ask, stretch.data, file_time, journal)))
            else:
                waiting.append((stretch, tell(decode, stretch.data)))
            while waiting and (len(waiting) > _MOST_WAITING or not _open(waiting[0][1])):
                yield _settled(*waiting.popleft())
        while waiting:
            yield _settled(*waiting.popleft())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._gone = True
        if self._process is not None:
            # It may be in the middle of a block that nobody waits for any more.
            self._process.kill()
        self._thread.shutdown(wait=True)
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _ask(self, data: bytes, file_time: datetime, journal: bool) -> Told | None:
        """The block as the second process decoded it; None once that process has failed."""
        if self._gone:
            return None
        try:
            process = self._process = self._process or _started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"%d %s %d\n" % (len(data), file_time.isoformat().encode(), journal))
            process.stdin.write(data)
            process.stdin.flush()
            told = _decoder.decode(process.stdout.read(int(process.stdout.readline())))
            frame = pl.read_ipc(BytesIO(process.stdout.read(told.frame_bytes)))
        except Exception:  # noqa: BLE001 - however it fails, the block is decoded here, and so are all others
            self._gone = True
            return None
        return Told(frame, told.rejects, told.lines, told.blank, told.blank_bytes)


def _open(told: Future[Told | None] | Told | None) -> bool:
    return isinstance(told, Future) and not told.done()


def _settled(stretch: Stretch, told: Future[Told | None] | Told | None) -> tuple[Stretch, Told | None]:
    return stretch, told.result() if isinstance(told, Future) else told


def _started() -> subprocess.Popen[bytes]:
    return start(
        "-c",
        "from analyzer.store.ingest.decoding import serve; serve()",
        environment={**os.environ, "POLARS_MAX_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


_decoder = msgspec.msgpack.Decoder(_Header)


def serve() -> None:
    """Run the second process: decode one block after the other until stdin ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while asked := source.readline():
        size, file_time, journal = asked.decode().split()
        decoder = RowDecoder(datetime.fromisoformat(file_time), journal=journal == "1")
        told = tell(decoder.decode, source.read(int(size)))
        frame = BytesIO()
        (staged(told.events) if isinstance(told.events, Rows) else told.events).write_ipc(frame)
        columns = frame.getbuffer()
        header = msgspec.msgpack.encode(_Header(len(columns), told.rejects, told.lines, told.blank, told.blank_bytes))
        sink.write(b"%d\n" % len(header) + header)
        sink.write(columns)
        sink.flush()
