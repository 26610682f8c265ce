"""Cuts an input into stretches of whole lines.

Of a line over the cap only the beginning is kept: memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.importers import newlines
from analyzer.store.ingest.inputs import Input

MAX_LINE = 64 * 1024 * 1024
"""Bytes; lines of transcripts with images in them reach several megabytes."""
KEPT_OF_LONG = 64 * 1024
BOM = b"\xef\xbb\xbf"
"""What some editors put in front of a file; no part of its first line."""
MOST_LINES = 64 * 1024
"""Of a stretch. A line of two bytes takes hundreds in memory; logs have a fifth as many in a chunk."""


@dataclass(slots=True)
class Stretch:
    """Whole lines, each ended by a newline; or the beginning of a line that is over the cap."""

    offset: int
    """Bytes from the start of the input."""
    data: bytes
    length: int
    """Bytes of the input that it stands for; more than `len(data)` only for an overlong line."""
    overlong: bool = False
    torn: bool = False
    """Whether it is a last line that breaks off, and that no one will complete."""
    end: bytes = b""
    """Of an overlong line: its last bytes, as far as they are at hand."""


class Blocks:
    """Iterates over the stretches of an input; afterwards `tail` holds what has no newline yet."""

    def __init__(self, source: Input, offset: int, *, max_line: int = MAX_LINE) -> None:
        self._source = source
        self._offset = offset
        self._max_line = max_line
        self.tail = b""
        self.tail_length = 0

    def __iter__(self) -> Iterator[Stretch]:
        held = b""
        held_length = 0  # of an overlong line more than is kept
        offset = self._offset
        for chunk in self._source.chunks(self._offset):
            cut = chunk.rfind(b"\n") + 1
            if held_length + (cut or len(chunk)) > self._max_line and (first := self._first_break(held_length, chunk)):
                # The held line is too long, wherever it ends.
                yield Stretch(
                    offset, (held + chunk[:first])[:KEPT_OF_LONG], held_length + first, True, end=chunk[:first]
                )
                offset += held_length + first
                chunk, held, held_length = chunk[first:], b"", 0
                cut = chunk.rfind(b"\n") + 1
            if not cut:
                held_length += len(chunk)
                held = (held + chunk) if held_length <= self._max_line else (held + chunk)[:KEPT_OF_LONG]
                continue
            for data in _pieces(held + chunk[:cut]):
                yield Stretch(offset, data, len(data))
                offset += len(data)
            held = chunk[cut:]
            held_length = len(held)
        self.tail = held if held_length == len(held) else b""
        self.tail_length = held_length

    def _first_break(self, held_length: int, chunk: bytes) -> int:
        """Where the held line ends in this chunk, when it is over the cap by then."""
        first = chunk.find(b"\n") + 1
        return first if first and held_length + first > self._max_line else 0


def _pieces(data: bytes) -> Iterator[bytes]:
    """Whole lines in pieces of at most `MOST_LINES`, by halving what has more."""
    waiting = [data]
    while waiting:
        piece = waiting.pop()
        if len(piece) > MOST_LINES and newlines(piece, 0, len(piece)) > MOST_LINES:
            middle = piece.rfind(b"\n", 0, len(piece) // 2) + 1 or piece.index(b"\n") + 1
            waiting += (piece[middle:], piece[:middle])
        else:
            yield piece


def lengths_of(source: Input, lines: set[int]) -> dict[int, int]:
    """Bytes of these lines, by their 1-based number, each with its newline where it has one."""
    found: dict[int, int] = {}
    number = 0
    blocks = Blocks(source, 0)
    for stretch in blocks:
        sizes = [stretch.length] if stretch.overlong else [len(text) + 1 for text in stretch.data.split(b"\n")[:-1]]
        found.update((number + nth, size) for nth, size in enumerate(sizes, 1) if number + nth in lines)
        number += len(sizes)
    if blocks.tail_length and number + 1 in lines:
        found[number + 1] = blocks.tail_length
    return found
