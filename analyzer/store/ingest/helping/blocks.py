"""Blocks of our own logs → frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING

import msgspec

from analyzer.events.rows import Decoded, RowDecoder, Rows
from analyzer.store.ingest.helping.errand import Errand
from analyzer.store.ingest.staging import SMALL, staged

if TYPE_CHECKING:
    import polars as pl


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
    mended: int
    """Lines that hold half of a UTF-16 pair."""


class _Header(msgspec.Struct, array_like=True):
    """What a helper sends before the frame of a block."""

    frame_bytes: int
    rejects: list[tuple[int, int, bytes, str, str]]
    lines: int
    blank: int
    blank_bytes: int
    mended: int
    """Lines that hold half of a UTF-16 pair."""


_decoder = msgspec.msgpack.Decoder(_Header)


def tell(decode: Callable[[bytes], Decoded], data: bytes) -> Told:
    """Decode a block in this process."""
    found = decode(data)
    rejects = [(line, offset, text, reject.why, reject.detail) for line, offset, text, reject in found.rejects]
    few = len(found.rows.payloads) < SMALL
    return Told(
        found.rows if few else staged(found.rows), rejects, found.lines, found.blank, found.blank_bytes, found.mended
    )


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
        told = _decoder.decode(answers.read(int(answers.readline())))
        frame = pl.read_ipc(BytesIO(answers.read(told.frame_bytes)))
        return Told(frame, told.rejects, told.lines, told.blank, told.blank_bytes, told.mended)


def serve_block(words: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer a request for a block, of whose first line these are the words behind its name."""
    size, file_time, journal = words
    told = BlockErrand(requests.read(int(size)), datetime.fromisoformat(file_time), journal == "1").here()
    frame = BytesIO()
    (staged(told.events) if isinstance(told.events, Rows) else told.events).write_ipc(frame)
    columns = frame.getbuffer()
    header = msgspec.msgpack.encode(
        _Header(len(columns), told.rejects, told.lines, told.blank, told.blank_bytes, told.mended)
    )
    answers.write(b"%d\n" % len(header) + header)
    answers.write(columns)
