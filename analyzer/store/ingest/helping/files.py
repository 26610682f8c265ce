"""Whole files of other programs → their events, as the book-keeping of the reader in front takes them.

A file is read from its beginning, by the same `SourceRun` as everywhere. What is not an ordinary one is left to the
process that asked: a log of ours, a database, a file that gives very much or cannot be read to its end.
"""

from __future__ import annotations

from typing import IO

import msgspec

from analyzer.importers import HEAD_BYTES, detect, head_of
from analyzer.store.ingest.accounting import Tally
from analyzer.store.ingest.batch import Batch, Placed, Progress, Rejected
from analyzer.store.ingest.helping.errand import Errand
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.source import SourceRun

_MOST = 20_000
"""Events and rejected lines of one file; what gives more is read where its batches are saved."""
_MOST_BYTES = 4 * 1024 * 1024
"""Of their payloads and texts, as several such files wait for their turn in memory."""


class FileRead(msgspec.Struct, array_like=True):
    """What one file holds, in the order of reading; nothing at all where `checkpoint` is None: it was left."""

    checkpoint: SourceCheckpoint | None = None
    gained: Tally = msgspec.field(default_factory=Tally)
    pending_bytes: int = 0
    blocks: list[tuple[int, list[Placed]]] = []
    """The end of each block that gave events, in bytes from the start of the file, and its events."""
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
        for end, events in self.blocks:
            batch.add_recorded(progress, events, end=end)
        for one, newline_bytes in self.rejected:
            mine = msgspec.structs.replace(one, source_id=progress.checkpoint.source_id)
            batch.add_rejected(progress, mine, newline_bytes)
        batch.touch(progress)


class _Heard(Batch):
    """Collects what a file gives, in a form that can be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[int, list[Placed]]] = []
        self.rejected: list[tuple[Rejected, int]] = []
        self._count = self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether this is more than what is sent."""
        return self._count + len(self.rejected) > _MOST or self._bytes > _MOST_BYTES

    def add_recorded(self, progress: Progress, events: list[Placed], *, end: int) -> None:
        """As `Batch` says."""
        if events:
            self.blocks.append((end, events))
            self._count += len(events)
            self._bytes += sum(len(found.payload) for found, *_ in events)

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
