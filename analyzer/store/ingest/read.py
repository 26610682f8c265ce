"""Read one source from its checkpoint to its present end, block by block, and count every byte.

An input is cut into stretches of whole lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from analyzer.events import Event, Origin, Reject
from analyzer.events.appending.writer import event_line
from analyzer.events.codec import decode, decode_object
from analyzer.events.rows import RowDecoder
from analyzer.events.sanitize import payload_json
from analyzer.importers import Format, Reader, Source, blank_lines, block_of
from analyzer.importers.shapes.documents import is_closed
from analyzer.redaction.unfolding import mended
from analyzer.store.ingest.batch import KEPT_BYTES, Batch, Progress, Rejected
from analyzer.store.ingest.discover import STDIN
from analyzer.store.ingest.identity import FINGERPRINT_BYTES, MARK_BYTES
from analyzer.store.ingest.inputs import BOM, Input

MAX_LINE = 64 * 1024 * 1024
"""Bytes; lines of transcripts with images in them reach several megabytes."""
KEPT_OF_LONG = 64 * 1024
MOST_LINES = 64 * 1024
"""Lines of a stretch.

A line of two bytes takes hundreds in memory; logs have a fifth as many per chunk.
"""


_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Stretch:
    """Whole lines, each ended by a newline; or the beginning of a line that is over the cap."""

    offset: int
    """Bytes from the start of the input."""
    data: bytes
    length: int
    """Bytes of the input that the stretch covers.

    More than `len(data)` only for an overlong line.
    """
    overlong: bool = False
    torn: bool = False
    """Whether it is a last line that breaks off and that nobody will complete."""
    end: bytes = b""
    """The last bytes of an overlong line, as far as they are in memory."""


class Blocks:
    """The stretches of an input, by iteration.

    Afterwards `tail` holds the bytes without a newline yet.
    """

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
        """Return where the held line ends in this chunk if it is over the cap by then; else 0."""
        first = chunk.find(b"\n") + 1
        return first if first and held_length + first > self._max_line else 0


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield whole lines in pieces of at most `MOST_LINES`.

    Searching newlines is faster than each byte.
    """
    start = 0
    while start < len(data):
        end = start
        for _ in range(MOST_LINES):
            end = data.find(b"\n", end) + 1
            if end == len(data):
                break
        yield data[start:end]
        start = end


def lengths_of(source: Input, lines: set[int]) -> dict[int, int]:
    """Return the bytes of these lines with their newlines, by 1-based number."""
    lengths: dict[int, int] = {}
    number = 0
    blocks = Blocks(source, 0)
    for stretch in blocks:
        sizes = [stretch.length] if stretch.overlong else [len(text) + 1 for text in stretch.data.split(b"\n")[:-1]]
        lengths.update((number + index, size) for index, size in enumerate(sizes, 1) if number + index in lines)
        number += len(sizes)
    if blocks.tail_length and number + 1 in lines:
        lengths[number + 1] = blocks.tail_length
    return lengths


def events_in(path: str) -> Iterator[Event | Reject | None]:
    """Yield what each line of a part of an event log is; None last if a line follows that nobody has finished."""
    with Input(path) as source:
        blocks = Blocks(source, 0)
        for stretch in blocks:
            for line in stretch.data.split(b"\n"):
                if line.strip():
                    yield decode(line, source.file_time)
        if blocks.tail_length:
            yield None


PlacedEvent = tuple[Event, int | None, int, int]
"""An event of a foreign log, its line (None: of the file as a whole), and the line's offset and length in bytes."""


class SourceRun:
    """One reading of one source."""

    def __init__(self, source: Input, progress: Progress, kind: Format, batch: Batch, *, journal: bool = False) -> None:
        """Begin at the checkpoint."""
        self._source, self._progress, self._kind, self._batch = source, progress, kind, batch
        self._checkpoint = progress.checkpoint
        progress.native = kind.native
        # A line that was torn when it was read may be complete by now: a copy went on, or a new writer ended it.
        progress.retracted_bytes = self._checkpoint.retract()
        offset = self._checkpoint.offset
        self._first = source.between(0, min(FINGERPRINT_BYTES, offset))
        self._last = source.between(max(offset - MARK_BYTES, 0), offset)
        self._reader: Reader | None = None
        if kind.reader is not None:
            self._reader = kind.reader(Source(source.path, source.file_time, journal), self._checkpoint.state or {})
        # A translated line says itself where it comes from, as a line of a journal.
        self._decoder = RowDecoder(source.file_time, journal=journal or not kind.native)

    def run(self) -> Iterator[None]:
        """Read to the end of the source and leave the checkpoint there.

        Yield when the batch must be saved.
        """
        if self._reader is None:
            self._progress.status = "unsupported"
            self._progress.detail = self._kind.title
        blocks = Blocks(self._source, self._checkpoint.offset)
        for stretch in blocks:
            self._take(stretch)
            if self._batch.full:
                self._mark(finished=False)
                yield
        self._take_tail(blocks)
        if self._reader is not None:
            self._translate([(event, None, 0, 0) for event in self._reader.finish()], self._checkpoint.offset)
        self._mark(finished=True)

    def _take(self, stretch: Stretch) -> None:
        checkpoint, gained = self._checkpoint, self._progress.gained
        stretch = self._rest_of_line(stretch)
        if stretch.overlong:
            gained.lines += 1
            text = stretch.data
            self._reject(1, 0, stretch.length, stretch, "line_too_long", f"{stretch.length} bytes", text)
        elif stretch.data:
            bom = stretch.data.startswith(BOM) and stretch.offset == 0
            data = b"   " + stretch.data[3:] if bom else stretch.data
            lines = self._take_own(data, stretch) if self._kind.native else self._take_foreign(data, stretch)
            gained.lines += lines
            checkpoint.lines += lines
        checkpoint.lines += stretch.overlong
        gained.bytes += stretch.length
        checkpoint.offset = stretch.offset + stretch.length
        self._remember(stretch.data[: stretch.length])
        if stretch.overlong:
            # Its end is not what was kept of it.
            self._last = stretch.end[-MARK_BYTES:]

    def _take_own(self, data: bytes, stretch: Stretch) -> int:
        """Take a block of our own log; return its number of lines."""
        decoded = self._decoder.decode(data)
        self._count_blank(decoded.blank, decoded.blank_bytes, stretch)
        self._batch.add_rows(
            self._progress,
            decoded.rows,
            lines_before=self._checkpoint.lines,
            bytes_before=stretch.offset,
            end=stretch.offset + stretch.length,
        )
        self._progress.gained.mended += decoded.mended
        for line, offset, text, reject in decoded.rejects:
            self._reject(line, offset, len(text), stretch, reject.why, reject.detail, text)
        return decoded.lines

    def _take_foreign(self, data: bytes, stretch: Stretch) -> int:
        """Take a block of a foreign log; return its number of lines."""
        block = block_of(data)
        self._count_blank(*blank_lines(block), stretch)
        if self._reader is None:
            return len(block.ends)
        events: list[PlacedEvent] = []
        for hit in self._reader.read(block):
            line = block.number(hit.offset)
            number = self._checkpoint.lines + line
            events += [(event, number, stretch.offset + hit.offset, hit.length) for event in hit.events]
            text = stretch.data[hit.offset : hit.offset + hit.length]
            self._progress.gained.mended += mended(text) is not text
            if hit.why:
                self._reject(line, hit.offset, hit.length, stretch, hit.why, hit.detail, text)
        self._translate(events, stretch.offset + stretch.length)
        return len(block.ends)

    def _translate(self, events: list[PlacedEvent], end: int) -> None:
        """Add events of a foreign log as what a journal gives back for their lines.

        The block ends at byte `end` of the source.
        """
        kind, path = self._kind.name, self._source.path
        lines = [event_line(event, Origin(kind, path, line)) for event, line, _, _ in events]
        if not lines:
            return
        translated = self._decoder.decode_clean(lines)
        if len(translated.ids) != len(lines):
            raise ValueError("an event cannot be read back from its line")
        translated.lines = [line for _, line, _, _ in events]
        translated.offsets = [offset for _, _, offset, _ in events]
        translated.lengths = [length for _, _, _, length in events]
        self._batch.add_rows(self._progress, translated, end=end, lines=lines)

    def _count_blank(self, lines: int, size: int, stretch: Stretch) -> None:
        self._batch.touch(self._progress)
        self._progress.gained.blank += lines
        self._progress.gained.blank_bytes += min(size, stretch.length)

    def _rest_of_line(self, stretch: Stretch) -> Stretch:
        """Take the newline of a line that was read without it: it is not a line of its own."""
        if not self._checkpoint.line_open or not stretch.data:
            return stretch
        self._checkpoint.line_open = False
        if not stretch.data.startswith((b"\n", b"\r\n")):
            return stretch
        cut = stretch.data.index(b"\n") + 1
        self._progress.gained.bytes += cut
        self._progress.gained.blank_bytes += cut
        self._batch.touch(self._progress)
        self._remember(stretch.data[:cut])
        self._checkpoint.offset += cut
        return Stretch(stretch.offset + cut, stretch.data[cut:], stretch.length - cut)

    def _remember(self, data: bytes) -> None:
        """Keep the first and the last bytes that were read, without copying those between."""
        self._first = (self._first + data[:FINGERPRINT_BYTES])[:FINGERPRINT_BYTES]
        self._last = (self._last + data[-MARK_BYTES:])[-MARK_BYTES:]

    def _mark(self, *, finished: bool) -> None:
        """Move the checkpoint to where reading is now."""
        state = payload_json(self._reader.state()) if self._reader is not None else b"null"
        self._checkpoint.state = msgspec.json.decode(state)
        # The rows of a database come in the order of their changes, so its last bytes do not stay in place.
        last = b"" if self._source.codec == "sqlite" else self._last
        self._checkpoint.stamp(self._source, self._first, last, finished=finished)
        self._batch.touch(self._progress)

    def _take_tail(self, blocks: Blocks) -> None:
        """Take a last line without newline if it is complete or never will be; else leave it for
        later.
        """
        tail = blocks.tail
        if tail.strip() and not self._checkpoint.line_open:
            final = self._source.path == STDIN or (self._kind.native and self._source.sealed())
            marked = self._checkpoint.offset == 0 and tail.startswith(BOM)
            read = decode_object(tail[3 * marked :].strip(), unique_keys=False)
            whole = self._reader is None or not isinstance(read, Reject) or is_closed(tail[3 * marked :])
            if whole or final:
                self._take(Stretch(self._checkpoint.offset, tail + b"\n", len(tail), torn=not whole))
                self._checkpoint.line_open = whole
                self._checkpoint.torn_bytes = 0 if whole else len(tail)
                return
        self._progress.pending_bytes = blocks.tail_length

    def _reject(
        self, line: int, offset: int, length: int, stretch: Stretch, why: str, detail: str, text: bytes
    ) -> None:
        checkpoint = self._checkpoint
        rejected = Rejected(
            checkpoint.source_id,
            checkpoint.path,
            checkpoint.lines + line,
            stretch.offset + offset,
            length,
            int(not stretch.overlong and offset + length < stretch.length),
            "torn_tail" if stretch.torn else why,
            detail,
            text[:KEPT_BYTES],
        )
        self._batch.touch(self._progress)
        self._batch.add_rejected(rejected)
