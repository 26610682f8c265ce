"""Output as it flows by: its last bytes, and whole lines out of pieces, in bounded memory.

Invariant: what is kept does not grow with the output, nor with the length of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TAIL_BYTES = 64 * 1024
MAX_LINE_BYTES = 8 * 1024 * 1024
"""A longer line is nobody's record; it flows by unread."""
_NAMELESS_BYTES = 256
_LINE_END, _WORD_END = re.compile(rb"\n"), re.compile(rb"[\"'\s]")


class Tail:
    """The last `limit` bytes of a stream."""

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._kept = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        if len(data) >= self._limit:
            self._kept = data[-self._limit :]
        else:
            self._kept = (self._kept + data)[-self._limit :]

    def text(self) -> str:
        """What is kept, as text, without what the cut left of a line; of an endless line, without what may be a secret
        whose name is cut off.
        """
        kept = self._kept
        if len(kept) == self._limit:
            ends = _LINE_END.search(kept, 0, len(kept) - 1) or _WORD_END.search(kept, _NAMELESS_BYTES)
            kept = kept[ends.end() :] if ends is not None else b""
        return kept.decode("utf-8", "replace")


class Lines:
    """Whole lines out of pieces. A piece is searched where it lies; only the lines that somebody wants are copied."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, int, int]]:
        """Take a piece; gives regions `(bytes, start, end)` of whole lines, in order.

        The rest waits for the next piece.
        """
        first = data.find(b"\n")
        if first < 0:
            self._keep(data)
            return
        start = 0
        if self._begun_bytes:
            if self._begun_bytes + first < self._limit:
                line = b"".join([*self._begun, data[: first + 1]])
                yield line, 0, len(line)
            start = first + 1
            self._begun, self._begun_bytes = [], 0
        last = data.rfind(b"\n") + 1
        if start < last:
            yield data, start, last
        if last < len(data):
            self._keep(data[last:])

    def rest(self) -> bytes:
        """The last line, which has no newline yet; empty where it is longer than a line may be."""
        return b"".join(self._begun)

    def _keep(self, data: bytes) -> None:
        self._begun_bytes += len(data)
        if self._begun_bytes < self._limit:
            self._begun.append(data)
        else:
            self._begun = []


def line_at(region: bytes, place: int, start: int, end: int) -> bytes:
    """The whole line around a place in a region."""
    begins = region.rfind(b"\n", start, place) + 1
    ends = region.find(b"\n", place, end)
    return region[max(begins, start) : ends if ends >= 0 else end]


def last_lines(region: bytes, start: int, end: int, needle: bytes) -> Iterator[bytes]:
    """The lines with the needle in them, last one first."""
    place = region.rfind(needle, start, end)
    while place >= 0:
        line = line_at(region, place, start, end)
        yield line
        # Over the whole line in one step, however often the needle stands in it.
        begins = region.rfind(b"\n", start, place) + 1
        place = region.rfind(needle, start, max(begins, start))
