"""Blocks of our own logs and files of other programs, read in several processes: Python computes on one core.

Files of other programs get as many as there are processors. Logs of ours get one less: the database works on a
processor of its own, and takes longer over their rows than it takes to read them. A helper for the second of two
processors added a fifth to the processor time of 300,000 lines.

Invariant: what they hold is the same wherever they are read, and answers are taken in the order of reading. A helper
that fails, for whatever reason, costs time and nothing else.

Whole files of other programs become events in the process that is asked, as the book-keeping of the reader in front
takes them.
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
from analyzer.store.ingest.batch import Batch, Placed, Progress, Rejected, Tally, Told, staged, tell
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import BOM, CHUNK, Input
from analyzer.store.ingest.read import Blocks, SourceRun, Stretch

_MOST = 20_000
"""Events and rejected lines of one file; what gives more is read where its batches are saved."""
_MOST_BYTES = 4 * 1024 * 1024
"""Of their payloads and texts, as several such files wait for their turn in memory."""


class BlockErrand(Errand[Told]):
    """A block of a log of ours."""

    def __init__(self, data: bytes, file_time: datetime, journal: bool) -> None:
        super().__init__()
        self.data, self.file_time, self.journal = data, file_time, journal

    def here(self) -> Told:
        """As `Errand` says."""
        return tell(RowDecoder(self.file_time, journal=self.journal).decode, self.data)

    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> Told:
        """As `Errand` says."""
        import polars as pl

        requests.write(b"block %d %s %d\n" % (len(self.data), self.file_time.isoformat().encode(), self.journal))
        requests.write(self.data)
        requests.flush()
        frame_bytes, *told = msgspec.msgpack.decode(answers.read(int(answers.readline())))
        return Told(pl.read_ipc(BytesIO(answers.read(frame_bytes))), *told)


def serve_block(words: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer a request for a block, of whose first line these are the words behind its name."""
    size, file_time, journal = words
    told = BlockErrand(requests.read(int(size)), datetime.fromisoformat(file_time), journal == "1").here()
    frame = BytesIO()
    (staged(told.events) if isinstance(told.events, Rows) else told.events).write_ipc(frame)
    columns = frame.getbuffer()
    header = msgspec.msgpack.encode((len(columns), told.rejects, told.lines, told.blank, told.blank_bytes, told.mended))
    answers.write(b"%d\n" % len(header) + header)
    answers.write(columns)


class FileRead(msgspec.Struct, array_like=True):
    """What one file holds, in the order of reading; nothing at all where `checkpoint` is None: it was left."""

    checkpoint: SourceCheckpoint | None = None
    gained: Tally = msgspec.field(default_factory=Tally)
    pending_bytes: int = 0
    blocks: list[tuple[int, list[Placed], Rows]] = []
    """The end of each block that gave events, in bytes from the start of the file, its events, and those that are rows
    already.
    """
    rejected: list[tuple[Rejected, int]] = []
    """Lines for quarantine, each with the bytes of its newline."""

    @property
    def format(self) -> str:
        """The name of its format; empty where it was left."""
        return "" if self.checkpoint is None else self.checkpoint.format

    def fits(self, source: Input) -> bool:
        """Whether this is what an open input holds, as it is now."""
        found = self.checkpoint
        return found is not None and found.codec == source.codec and found.unchanged(source)

    def into(self, batch: Batch, progress: Progress) -> None:
        """Put all of it into a batch, and the checkpoint of the source where the file was read to."""
        assert self.checkpoint is not None
        progress.checkpoint.advance(self.checkpoint)
        progress.gained.add(self.gained)
        progress.pending_bytes = self.pending_bytes
        for end, events, alike in self.blocks:
            batch.add_recorded(progress, self.checkpoint.path, events, alike, end=end)
        for one, newline_bytes in self.rejected:
            mine = msgspec.structs.replace(one, source_id=progress.checkpoint.source_id)
            batch.add_rejected(progress, mine, newline_bytes)
        batch.touch(progress)


class _Heard(Batch):
    """Collects what a file gives, in a form that can be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[int, list[Placed], Rows]] = []
        self.rejected: list[tuple[Rejected, int]] = []
        self._count = self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether this is more than what is sent."""
        return self._count + len(self.rejected) > _MOST or self._bytes > _MOST_BYTES

    def add_recorded(self, progress: Progress, path: str, events: list[Placed], alike: Rows, *, end: int) -> None:
        """As `Batch` says."""
        if events or alike.payloads:
            self.blocks.append((end, events, alike))
            self._count += len(events) + len(alike.payloads)
            self._bytes += sum(len(found.payload) for found, *_ in events) + sum(map(len, alike.payloads))

    def add_rejected(self, progress: Progress, rejected: Rejected, newline_bytes: int) -> None:
        """As `Batch` says."""
        self.rejected.append((rejected, newline_bytes))
        self._bytes += len(rejected.text)


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(FileRead).decode


class FileErrand(Errand[FileRead]):
    """A file that was never read."""

    def __init__(self, path: str, below: str | None) -> None:
        super().__init__()
        self.path, self.below = path, below

    def here(self) -> FileRead:
        """As `Errand` says."""
        return _read(self.path, self.below)

    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> FileRead:
        """As `Errand` says."""
        asked = msgspec.msgpack.encode((self.path, self.below))
        requests.write(b"file %d\n" % len(asked) + asked)
        requests.flush()
        return _decode(answers.read(int(answers.readline())))


def serve_file(words: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer a request for a file, of whose first line these are the words behind its name."""
    (size,) = words
    path, below = msgspec.msgpack.decode(requests.read(int(size)), type=tuple[str, str | None])
    found = _encode(_read(path, below))
    answers.write(b"%d\n" % len(found) + found)


def _read(path: str, below: str | None) -> FileRead:
    heard = _Heard()
    try:
        with Input(path, below=below) as source:
            kind = detect(head_of(source.head(HEAD_BYTES))) if source.codec != "sqlite" else None
            if kind is None or kind.native or kind.reader is None:
                return FileRead()
            checkpoint = SourceCheckpoint(0, source.path, kind.name, codec=source.codec)
            progress = Progress(checkpoint, codec=source.codec)
            for _ in SourceRun(source, progress, kind, heard).run():
                return FileRead()
            if source.damage:
                return FileRead()
    except Exception:  # noqa: BLE001 - it happens again where the file is read instead, and is told there
        return FileRead()
    return FileRead(checkpoint, progress.gained, progress.pending_bytes, heard.blocks, heard.rejected)


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
_FILES_AHEAD = 32
"""Files for each helper that are asked for before their turn: of those only the events are held."""
_LARGE = 4 * CHUNK
"""Bytes; a longer block is one very long line, and is decoded here with no other block in memory."""


class Readers(Pool):
    """This process and a helper for each other processor. Use as a context manager.

    Whoever is free takes the next piece of work; this process does while it waits for one that a helper has.
    """

    def __init__(self) -> None:
        super().__init__(lambda: _started(), _processors() - 1)
        self._coming: deque[tuple[str, str | None]] = deque()
        self._worth = 0
        """The number of helpers that the coming files are worth."""
        self._blocks: dict[str, BlockErrand] = {}
        """The first block of each log of ours that was looked into before its turn."""
        self._files: dict[str, FileErrand] = {}
        """The files of other programs that were handed over before their turn."""

    def expect(self, logs: Iterable[tuple[str, str | None]]) -> None:
        """Say which new files will be read, each with the folder that it was found in, in the order of reading."""
        if self._helpers:
            coming = list(logs)
            size = sum(map(_size, (path for path, _ in coming)))
            if size >= WORTH_IT:
                self._worth = size // max(WORTH_IT, 1)
                self._coming.extend(coming)

    def look_ahead(self, path: str, is_native: Callable[[bytes], bool], *, journal: bool) -> None:
        """Have logs read that come after this one: of ours the beginning, of others everything; `is_native` tells which
        it is by the first bytes.
        """
        if self._coming and self._coming[0][0] == path:
            self._coming.popleft()
        while self._coming and self._room():
            name, below = self._coming.popleft()
            if _size(name) < _LEAST:
                continue
            with suppress(InputError), Input(name, below=below) as source:
                # What cannot be read is told of when it is its turn.
                if source.codec == "plain" and is_native(source.between(0, _GLANCE)):
                    self._begin_for_ours(self._worth)
                    if not self._left:
                        return
                    self._foresee(source, is_native, journal=journal)
                elif source.codec != "sqlite" and not journal:
                    self.begin(self._worth)
                    self._files[source.path] = self.submit(FileErrand(source.path, below))

    def forget(self, path: str) -> None:
        """Drop what was foreseen of a file, now that it has been read."""
        self._blocks.pop(path, None)
        self._files.pop(path, None)

    def read(self, source: Input) -> FileRead | None:
        """All that an open file holds, where a helper was asked for it in time and nothing has changed."""
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
    ) -> Iterator[tuple[Stretch, Told | None]]:
        """All stretches of a source that has so many bytes left, each with what it holds where that is known already.

        The first one is for the caller to look at, unless it was foreseen.
        """
        waiting: deque[tuple[Stretch, BlockErrand | None]] = deque()
        for place, stretch in enumerate(stretches):
            work = None
            if len(stretch.data) > _LARGE:
                while waiting:
                    yield self._settled(*waiting.popleft())
            elif place == 0:
                work = self._blocks.pop(source.path, None) if stretch.offset == 0 else None
                if work is not None and (work.data, work.file_time) != (stretch.data, source.file_time):
                    work = None
            elif not stretch.overlong:
                if left >= WORTH_IT:
                    self._begin_for_ours(left // max(WORTH_IT, 1))
                if self._left:
                    work = self.submit(BlockErrand(stretch.data, source.file_time, journal))
            waiting.append((stretch, work))
            while waiting and (len(waiting) > _AHEAD * self._left or (told := waiting[0][1]) is None or told.done):
                yield self._settled(*waiting.popleft())
        while waiting:
            yield self._settled(*waiting.popleft())

    def _begin_for_ours(self, most: int) -> None:
        self.begin(min(most, len(self._helpers) - 1))

    def _room(self) -> bool:
        """Whether more may be looked into before its turn."""
        most = self._left if self._threads else len(self._helpers)
        return len(self._blocks) < _AHEAD * most and len(self._files) < _FILES_AHEAD * most

    def _foresee(self, source: Input, is_native: Callable[[bytes], bool], *, journal: bool) -> None:
        stretch = next(iter(Blocks(source, 0)), None)
        if stretch is None or stretch.overlong or len(stretch.data) > _LARGE:
            return
        if not stretch.data.startswith(BOM) and is_native(stretch.data):
            self._blocks[source.path] = self.submit(BlockErrand(stretch.data, source.file_time, journal))

    def _settled(self, stretch: Stretch, work: BlockErrand | None) -> tuple[Stretch, Told | None]:
        """A stretch and what it holds, where anybody was asked for that."""
        return stretch, None if work is None else self.settled(work)


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
        "from analyzer.store.ingest.parallel import serve; serve()",
        environment={**os.environ, "POLARS_MAX_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def serve() -> None:
    """Run a helper: answer one request after the other until stdin ends."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while asked := requests.readline():
        kind, *words = asked.decode().split()
        (serve_block if kind == "block" else serve_file)(words, requests, answers)
        answers.flush()
