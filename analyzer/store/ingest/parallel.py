"""Read blocks of our own logs and files of other programs in several processes.

Files of other programs get as many processes as there are processors. Logs of ours get one fewer:
the database uses a processor of its own, and takes longer over their rows than reading them takes.
A helper for the second of two processors added a fifth to the processor time of 300,000 lines.

Invariant: results do not depend on the process that reads, and are taken in the order of reading. A
helper that fails, for whatever reason, costs only time.

Whole files of other programs become events in the process that reads them; the process in front
only does their accounts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from typing import IO

import msgspec

from analyzer.errors import InputError
from analyzer.events.rows import RowDecoder, Rows
from analyzer.importers import HEAD_BYTES, detect, head_of
from analyzer.interpreter import Errand, Pool, start
from analyzer.store.ingest.batch import (
    Batch,
    DecodedBlock,
    PlacedEvent,
    Progress,
    Rejected,
    Tally,
    decode_block,
    staged,
)
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import BOM, CHUNK, Input
from analyzer.store.ingest.read import Blocks, SourceRun, Stretch

_MOST = 20_000
"""Events and rejected lines of one file; a larger file is read where its batches are saved."""
_MOST_BYTES = 4 * 1024 * 1024
"""Bytes of their payloads and texts, as several such files wait for their turn in memory."""


class BlockTask(Errand[DecodedBlock]):
    """A task to decode one block of our own log."""

    def __init__(self, data: bytes, file_time: datetime, journal: bool) -> None:
        super().__init__()
        self.data, self.file_time, self.journal = data, file_time, journal

    def here(self) -> DecodedBlock:
        """Decode the block in this process."""
        return decode_block(RowDecoder(self.file_time, journal=self.journal).decode, self.data)

    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> DecodedBlock:
        """Ask a helper for the decoded block."""
        import polars as pl

        requests.write(b"block %d %s %d\n" % (len(self.data), self.file_time.isoformat().encode(), self.journal))
        requests.write(self.data)
        requests.flush()
        frame_bytes, *fields = msgspec.msgpack.decode(answers.read(int(answers.readline())))
        return DecodedBlock(pl.read_ipc(BytesIO(answers.read(frame_bytes))), *fields)


def serve_block(words: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer a request for a block; `words` are those after `block` in its first line."""
    size, file_time, journal = words
    block = BlockTask(requests.read(int(size)), datetime.fromisoformat(file_time), journal == "1").here()
    frame = BytesIO()
    (staged(block.events) if isinstance(block.events, Rows) else block.events).write_ipc(frame)
    columns = frame.getbuffer()
    header = msgspec.msgpack.encode(
        (len(columns), block.rejects, block.lines, block.blank, block.blank_bytes, block.mended)
    )
    answers.write(b"%d\n" % len(header) + header)
    answers.write(columns)


class FileContent(msgspec.Struct, array_like=True):
    """The content of one file, in the order of reading.

    Empty if `checkpoint` is None: the file was left.
    """

    checkpoint: SourceCheckpoint | None = None
    gained: Tally = msgspec.field(default_factory=Tally)
    pending_bytes: int = 0
    blocks: list[tuple[int, list[PlacedEvent], Rows]] = []
    """The end of each block with events (bytes from the file's start), its events, and ready rows."""
    rejected: list[tuple[Rejected, int]] = []
    """Lines for quarantine, each with the bytes of its newline."""

    @property
    def format(self) -> str:
        """Return the name of its format; empty if the file was left."""
        return "" if self.checkpoint is None else self.checkpoint.format

    def fits(self, source: Input) -> bool:
        """Say whether this is what an open input holds now."""
        checkpoint = self.checkpoint
        return checkpoint is not None and checkpoint.codec == source.codec and checkpoint.unchanged(source)

    def into(self, batch: Batch, progress: Progress) -> None:
        """Put everything into a batch, and move the checkpoint of the source forward."""
        assert self.checkpoint is not None
        progress.checkpoint.advance(self.checkpoint)
        progress.gained.add(self.gained)
        progress.pending_bytes = self.pending_bytes
        for end, events, rows in self.blocks:
            batch.add_recorded(progress, self.checkpoint.path, events, rows, end=end)
        for rejected, newline_bytes in self.rejected:
            renumbered = msgspec.structs.replace(rejected, source_id=progress.checkpoint.source_id)
            batch.add_rejected(progress, renumbered, newline_bytes)
        batch.touch(progress)


class _FileBatch(Batch):
    """A batch of one file's content, in a form that can be sent to another process."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[int, list[PlacedEvent], Rows]] = []
        self.rejected: list[tuple[Rejected, int]] = []
        self._count = self._bytes = 0

    @property
    def full(self) -> bool:
        """Say whether this is more than what is sent."""
        return self._count + len(self.rejected) > _MOST or self._bytes > _MOST_BYTES

    def add_recorded(
        self, progress: Progress, path: str, events: list[PlacedEvent], ready_rows: Rows, *, end: int
    ) -> None:
        """Keep the events of a block until they are sent."""
        if events or ready_rows.payloads:
            self.blocks.append((end, events, ready_rows))
            self._count += len(events) + len(ready_rows.payloads)
            self._bytes += sum(len(event.payload) for event, *_ in events) + sum(map(len, ready_rows.payloads))

    def add_rejected(self, progress: Progress, rejected: Rejected, newline_bytes: int) -> None:
        """Keep a rejected line until it is sent."""
        self.rejected.append((rejected, newline_bytes))
        self._bytes += len(rejected.text)


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(FileContent).decode


class FileTask(Errand[FileContent]):
    """A task to read a file that was never read."""

    def __init__(self, path: str, below: str | None) -> None:
        super().__init__()
        self.path, self.below = path, below

    def here(self) -> FileContent:
        """Read the file in this process."""
        return _read(self.path, self.below)

    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> FileContent:
        """Ask a helper for the content of the file."""
        asked = msgspec.msgpack.encode((self.path, self.below))
        requests.write(b"file %d\n" % len(asked) + asked)
        requests.flush()
        return _decode(answers.read(int(answers.readline())))


def serve_file(words: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer a request for a file; `words` are those after `file` in its first line."""
    (size,) = words
    path, below = msgspec.msgpack.decode(requests.read(int(size)), type=tuple[str, str | None])
    answer = _encode(_read(path, below))
    answers.write(b"%d\n" % len(answer) + answer)


def _read(path: str, below: str | None) -> FileContent:
    collected = _FileBatch()
    try:
        with Input(path, below=below) as source:
            kind = detect(head_of(source.head(HEAD_BYTES))) if source.codec != "sqlite" else None
            if kind is None or kind.native or kind.reader is None:
                return FileContent()
            checkpoint = SourceCheckpoint(0, source.path, kind.name, codec=source.codec)
            progress = Progress(checkpoint, codec=source.codec)
            for _ in SourceRun(source, progress, kind, collected).run():
                return FileContent()
            if source.damage:
                return FileContent()
    except Exception:  # noqa: BLE001 - the error comes again, and is reported, when the file is read
        return FileContent()
    return FileContent(checkpoint, progress.gained, progress.pending_bytes, collected.blocks, collected.rejected)


WORTH_IT = 32 * 1024 * 1024
"""Bytes of one log, or of all coming ones; less is decoded only in this process.

Starting another process takes as long as decoding a third of them.
"""
_LEAST = 64 * 1024
"""Bytes; a smaller log is not looked into before its turn."""
_GLANCE = 16 * 1024
"""Bytes of a log that usually contain one of its records."""
_AHEAD = 3
"""Blocks per helper that are held in memory until the blocks before them are done."""
_FILES_AHEAD = 32
"""Files per helper that are requested before their turn; only their events are held."""
_LARGE = 4 * CHUNK
"""Bytes; a longer block is one very long line, and is decoded in this process by itself."""


class Readers(Pool):
    """This process and a helper for each other processor. Use as a context manager.

    Whoever is free takes the next task; this process does so while it waits for a helper.
    """

    def __init__(self) -> None:
        super().__init__(lambda: _started(), _processors() - 1)
        self._coming: deque[tuple[str, str | None]] = deque()
        self._worth = 0
        """The number of helpers that pay off for the coming files."""
        self._blocks: dict[str, BlockTask] = {}
        """The first block of each log of ours that was requested before its turn."""
        self._files: dict[str, FileTask] = {}
        """The files of other programs that were requested before their turn."""

    def expect(self, logs: Iterable[tuple[str, str | None]]) -> None:
        """Announce new files in the order of reading, each with the folder that it was listed in."""
        if self._helpers:
            coming = list(logs)
            size = sum(map(_size, (path for path, _ in coming)))
            if size >= WORTH_IT:
                self._worth = size // max(WORTH_IT, 1)
                self._coming.extend(coming)

    def look_ahead(self, path: str, is_native: Callable[[bytes], bool], *, journal: bool) -> None:
        """Request logs that come after this one: the beginning of our own, all of others.

        `is_native` says by the first bytes whether a log is ours.
        """
        if self._coming and self._coming[0][0] == path:
            self._coming.popleft()
        while self._coming and self._room():
            name, below = self._coming.popleft()
            if _size(name) < _LEAST:
                continue
            with suppress(InputError), Input(name, below=below) as source:
                # An error is reported when it is the file's turn.
                if source.codec == "plain" and is_native(source.between(0, _GLANCE)):
                    self._begin_for_ours(self._worth)
                    if not self._left:
                        return
                    self._foresee(source, is_native, journal=journal)
                elif source.codec != "sqlite" and not journal:
                    self.begin(self._worth)
                    self._files[source.path] = self.submit(FileTask(source.path, below))

    def forget(self, path: str) -> None:
        """Drop what was requested of a file, now that it has been read."""
        self._blocks.pop(path, None)
        self._files.pop(path, None)

    def read(self, source: Input) -> FileContent | None:
        """Return the content of an open file if a helper began it in time and it has not changed."""
        work = self._files.pop(source.path, None)
        if work is None:
            return None
        with self._changed:
            if work in self._queue:
                self._queue.remove(work)
            if not work.taken and not work.done:
                return None  # nobody has begun with it
        self.settle(work)
        return work.answer if work.answer is not None and work.answer.fits(source) else None

    def ahead(
        self, stretches: Iterable[Stretch], source: Input, left: int, *, journal: bool
    ) -> Iterator[tuple[Stretch, DecodedBlock | None]]:
        """Yield the stretches of a source with `left` bytes left, each with its decoded block, if any.

        The caller decodes the first one, unless it was requested before.
        """
        waiting: deque[tuple[Stretch, BlockTask | None]] = deque()
        for index, stretch in enumerate(stretches):
            task = None
            if len(stretch.data) > _LARGE:
                while waiting:
                    yield self._settled(*waiting.popleft())
            elif index == 0:
                task = self._blocks.pop(source.path, None) if stretch.offset == 0 else None
                if task is not None and (task.data, task.file_time) != (stretch.data, source.file_time):
                    task = None
            elif not stretch.overlong:
                if left >= WORTH_IT:
                    self._begin_for_ours(left // max(WORTH_IT, 1))
                if self._left:
                    task = self.submit(BlockTask(stretch.data, source.file_time, journal))
            waiting.append((stretch, task))
            while waiting and (len(waiting) > _AHEAD * self._left or (first := waiting[0][1]) is None or first.done):
                yield self._settled(*waiting.popleft())
        while waiting:
            yield self._settled(*waiting.popleft())

    def _begin_for_ours(self, most: int) -> None:
        self.begin(min(most, len(self._helpers) - 1))

    def _room(self) -> bool:
        """Say whether more may be requested before its turn."""
        most = self._left if self._threads else len(self._helpers)
        return len(self._blocks) < _AHEAD * most and len(self._files) < _FILES_AHEAD * most

    def _foresee(self, source: Input, is_native: Callable[[bytes], bool], *, journal: bool) -> None:
        stretch = next(iter(Blocks(source, 0)), None)
        if stretch is None or stretch.overlong or len(stretch.data) > _LARGE:
            return
        if not stretch.data.startswith(BOM) and is_native(stretch.data):
            self._blocks[source.path] = self.submit(BlockTask(stretch.data, source.file_time, journal))

    def _settled(self, stretch: Stretch, work: BlockTask | None) -> tuple[Stretch, DecodedBlock | None]:
        """Return a stretch with its decoded block, if there was a task for it."""
        return stretch, None if work is None else self.settled(work)


def _processors() -> int:
    """Count the processors that this process may use."""
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
        "from analyzer.store.ingest.parallel import serve; serve()",
        environment={**os.environ, "POLARS_MAX_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def serve() -> None:
    """Run a helper: answer one request after the other until stdin ends."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while request := requests.readline():
        kind, *words = request.decode().split()
        (serve_block if kind == "block" else serve_file)(words, requests, answers)
        answers.flush()
