"""What every importer speaks: bytes of whole lines in, hits out. A line without a hit carries nothing for us.

Importers never count lines and never touch a database; whoever drives them does the book-keeping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from analyzer.events import Event
from analyzer.events.rows import Decoded
from analyzer.importers.lines import Block


@dataclass(frozen=True, slots=True)
class Source:
    """What an importer may know about the file that it reads."""

    path: str
    file_time: datetime
    """Naive UTC; stands in for records without a time."""
    journal: bool = False
    """Whether it is a part of the store's own journal, whose word about origins counts."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that gave events, or that could not be read, or both (a torn record with an intact one glued to it)."""

    offset: int
    """Bytes from the start of the block to the line."""
    length: int
    """Bytes of the line, its newline not included."""
    events: Sequence[Event] = ()
    why: str = ""
    """A reject code where (part of) the line could not be read."""
    detail: str = ""


MOST_OPEN = 1_000
"""Runs of retries, or hand-offs, of one source that may still go on: as many as a checkpoint keeps."""


def forget_oldest(runs: dict[str, Any]) -> None:
    """Delete all but the latest `MOST_OPEN` runs: a source with more was made to fill the memory."""
    while len(runs) > MOST_OPEN:
        del runs[next(iter(runs))]


class Reader(Protocol):
    """Reads one source from front to back; its state lets a later run continue where this one stopped."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits of a block of whole lines, in the order of the lines."""

    def finish(self) -> Sequence[Event]:
        """Events that belong to the source as a whole, once everything that is there now has been read; mostly none."""
        return ()

    def state(self) -> Mapping[str, Any]:
        """The state that the next reader of the same source is given, ready for JSON; empty where lines stand alone."""
        return {}


@runtime_checkable
class RowReader(Reader, Protocol):
    """A reader of lines that are events already: it gives a whole block of them at once."""

    def decode(self, data: bytes) -> Decoded:
        """Decode a block; lines and offsets count from its start."""


class ReaderFactory(Protocol):
    """Makes the reader of a format."""

    def __call__(self, source: Source, state: Mapping[str, Any], /) -> Reader:
        """Make a reader; `state` is empty for a source that is read from its start."""
