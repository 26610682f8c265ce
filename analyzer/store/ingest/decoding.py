"""Blocks of our own logs → frames, in as many processes as there are processors: Python computes on one core.

Invariant: what a block holds is the same wherever it is decoded, and blocks come back in their order. A helper that
fails, for whatever reason, costs time and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from threading import Condition, Thread
from typing import TYPE_CHECKING, Self

import msgspec

from analyzer.errors import InputError
from analyzer.events.rows import Decoded, RowDecoder, Rows
from analyzer.interpreter import start
from analyzer.store.ingest.blocks import BOM, Blocks, Stretch
from analyzer.store.ingest.inputs import CHUNK, Input
from analyzer.store.ingest.staging import SMALL, staged

if TYPE_CHECKING:
    import polars as pl

WORTH_IT = 32 * 1024 * 1024
"""Bytes of one log, or of all that are to come; less is decoded in this process alone.

Starting another one takes as long as decoding a third of them.
"""
_LEAST = 64 * 1024
"""Bytes; a smaller log is not looked into before its turn."""
_GLANCE = 16 * 1024
"""Bytes of a log in which one of its records stands, as a rule."""
_AHEAD = 3
"""Blocks for each helper that are held in memory until the blocks before them are done: they are taken in order."""
_LARGE = 4 * CHUNK
"""Bytes; a longer block is one very long line, and is decoded here with no other block in memory."""


@dataclass(frozen=True, slots=True)
class Told:
    """The events and the broken lines of one block.

    Line numbers and offsets are counted from the start of the block.
    """

    events: pl.DataFrame | Rows
    """A frame where a helper decoded the block or it has at least `SMALL` events, else rows."""
    rejects: list[tuple[int, int, bytes, str, str]]
    """Line, offset, text, why and details of each broken line."""
    lines: int
    blank: int
    blank_bytes: int


class _Header(msgspec.Struct, array_like=True):
    """What a helper sends before the frame of a block."""

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


class _Task:
    """A block that somebody will decode: a helper, or this process."""

    __slots__ = ("data", "error", "file_time", "journal", "taken", "told")

    def __init__(self, data: bytes, file_time: datetime, journal: bool) -> None:
        self.data, self.file_time, self.journal = data, file_time, journal
        self.taken = False
        self.told: Told | None = None
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether there is an answer."""
        return self.told is not None or self.error is not None

    def decode(self) -> None:
        """Decode the block in this process."""
        try:
            self.told = tell(RowDecoder(self.file_time, journal=self.journal).decode, self.data)
        except Exception as error:  # noqa: BLE001 - it is raised where the block is asked for
            self.error = error


class Helper:
    """A process that decodes blocks, started at the first of them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, data: bytes, file_time: datetime, journal: bool) -> Told | None:
        """The block as the process decodes it; None where that fails, and then it always will."""
        import polars as pl

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
            return None
        return Told(frame, told.rejects, told.lines, told.blank, told.blank_bytes)

    def kill(self) -> None:
        """End the process: it may be in the middle of a block that nobody waits for any more."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Let go of a process that has ended."""
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


class Decoders:
    """This process and a helper for each other processor. Use as a context manager.

    Whoever is free takes the next block; this process does while it waits for one that a helper has.
    """

    def __init__(self, *, alone: bool = False) -> None:
        """With `alone` there are no helpers: whoever calls runs as often as there are processors."""
        self._helpers = [] if alone else [Helper() for _ in range(_processors() - 1)]
        self._threads: list[Thread] = []
        """One for each helper that there is work for."""
        self._left = 0
        """Of those, the ones that have not failed."""
        self._queue: deque[_Task] = deque()
        self._changed = Condition()
        self._closed = False
        self._coming: deque[tuple[str, str | None]] = deque()
        self._foreseen: dict[str, _Task] = {}

    def expect(self, logs: Iterable[tuple[str, str | None]]) -> None:
        """Say which new files will be read, each with the folder that it was found in, in the order of reading."""
        if self._helpers:
            coming = list(logs)
            size = sum(map(_size, (path for path, _ in coming)))
            if size >= WORTH_IT:
                self._start(size)
                self._coming.extend(coming)

    def look_ahead(self, path: str, is_native: Callable[[bytes], bool], *, journal: bool) -> None:
        """Have the beginnings of logs decoded that come after this one; `is_native` tells a log by its first bytes."""
        if self._coming and self._coming[0][0] == path:
            self._coming.popleft()
        while self._coming and len(self._foreseen) < _AHEAD * self._left:
            name, below = self._coming.popleft()
            if _size(name) < _LEAST:
                continue
            with suppress(InputError), Input(name, below=below) as source:
                # What cannot be read is told of when it is its turn. Most logs are not ours: that shows soon.
                ours = source.codec == "plain" and is_native(source.between(0, _GLANCE))
                stretch = next(iter(Blocks(source, 0)), None) if ours else None
                if stretch is None or stretch.overlong or len(stretch.data) > _LARGE:
                    continue
                if not stretch.data.startswith(BOM) and is_native(stretch.data):
                    self._foreseen[source.path] = self._submit(stretch.data, source.file_time, journal)

    def forget(self, path: str) -> None:
        """Drop what was foreseen of a file, now that it has been read."""
        self._foreseen.pop(path, None)

    def ahead(
        self, stretches: Iterable[Stretch], source: Input, left: int, *, journal: bool
    ) -> Iterator[tuple[Stretch, Told | None]]:
        """All stretches of a source that has so many bytes left, each with what it holds where that is known already.

        The first one is for the caller to look at, unless it was foreseen.
        """
        waiting: deque[tuple[Stretch, _Task | None]] = deque()
        for place, stretch in enumerate(stretches):
            task = None
            if len(stretch.data) > _LARGE:
                while waiting:
                    yield self._settled(*waiting.popleft())
            elif place == 0:
                task = self._foreseen.pop(source.path, None) if stretch.offset == 0 else None
                if task is not None and (task.data, task.file_time) != (stretch.data, source.file_time):
                    task = None
            elif not stretch.overlong:
                if left >= WORTH_IT:
                    self._start(left)
                if self._left:
                    task = self._submit(stretch.data, source.file_time, journal)
            waiting.append((stretch, task))
            while waiting and (len(waiting) > _AHEAD * self._left or (told := waiting[0][1]) is None or told.done):
                yield self._settled(*waiting.popleft())
        while waiting:
            yield self._settled(*waiting.popleft())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for helper in self._helpers:
            helper.kill()
        for thread in self._threads:
            thread.join()
        for helper in self._helpers:
            helper.close()

    def _start(self, size: int) -> None:
        """Have as many helpers at work as so many bytes are worth."""
        for helper in self._helpers[len(self._threads) : size // max(WORTH_IT, 1)]:
            thread = Thread(target=self._work, args=(helper,), name="helper")
            self._threads.append(thread)
            self._left += 1
            thread.start()

    def _submit(self, data: bytes, file_time: datetime, journal: bool) -> _Task:
        task = _Task(data, file_time, journal)
        with self._changed:
            self._queue.append(task)
            self._changed.notify()
        return task

    def _work(self, helper: Helper) -> None:
        """Hand blocks to a helper until it fails, or this run is over."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                task = self._queue.popleft()
                task.taken = True
            told = helper.ask(task.data, task.file_time, task.journal)
            with self._changed:
                task.told = told
                if told is None:
                    task.taken = False
                    self._left -= 1
                self._changed.notify_all()
            if told is None:
                return

    def _settled(self, stretch: Stretch, task: _Task | None) -> tuple[Stretch, Told | None]:
        """A stretch and what it holds, decoded here unless a helper has it; then other blocks are, while it does."""
        while task is not None and not task.done:
            with self._changed:
                if task.taken and not self._queue:
                    self._changed.wait_for(lambda: task.done or not task.taken)
                    continue
                mine = self._queue.popleft() if task.taken else task
                if mine in self._queue:
                    self._queue.remove(mine)
                mine.taken = True
            mine.decode()
        if task is not None and task.error is not None:
            raise task.error
        return stretch, None if task is None else task.told


def _processors() -> int:
    """How many this process may use."""
    allowed: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


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
    """Run a helper: decode one block after the other until stdin ends."""
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
