"""What was read and is not in the store yet, and the book-keeping of each source.

An account says what became of each line and byte of a source: event, duplicate, quarantined, blank or skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from analyzer.events import Event
from analyzer.events.appending.writer import Recorded, recorded
from analyzer.events.model import Origin, new_id
from analyzer.events.rows import Rows
from analyzer.store.ingest.decode import SMALL, Heap, joined, placed, staged
from analyzer.store.ingest.identity import SourceCheckpoint

if TYPE_CHECKING:
    import polars as pl


class AccountingError(AssertionError):
    """Lines or bytes do not add up: a bug of this program, found before anything was stored."""


@dataclass(slots=True)
class Tally:
    """Figures of one source, in one run. `lines` is the sum of the next five, `bytes` of those that end in it."""

    lines: int = 0
    event_lines: int = 0
    duplicates: int = 0
    quarantined: int = 0
    blank: int = 0
    skipped: int = 0
    events: int = 0
    bytes: int = 0
    event_bytes: int = 0
    duplicate_bytes: int = 0
    quarantined_bytes: int = 0
    blank_bytes: int = 0
    skipped_bytes: int = 0
    mended: int = 0
    """Lines whose events have U+FFFD in the place of half of a UTF-16 pair; these lines are among the others."""

    def add(self, other: Tally) -> None:
        """Add the figures of another tally to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def settle(self, path: str, *, native: bool) -> None:
        """Count as skipped what is nothing else, and see that everything adds up.

        Raises:
            AccountingError: it does not. In a log of ours nothing is ever skipped.
        """
        self.skipped = self.lines - self.event_lines - self.duplicates - self.quarantined - self.blank
        self.skipped_bytes = (
            self.bytes - self.event_bytes - self.duplicate_bytes - self.quarantined_bytes - self.blank_bytes
        )
        wrong = min(self.to_dict().values()) < 0 or (self.skipped == 0) is not (self.skipped_bytes == 0)
        if wrong or (native and self.skipped):
            raise AccountingError(f"{path}: lines or bytes do not add up: {self.to_dict()}")

    def to_dict(self) -> dict[str, int]:
        """The figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


STORED = tuple(name for name in Tally.__slots__ if name != "mended")
"""The figures that a store keeps of each source."""


MAX_EVENTS = 240_000
"""A little less than two of DuckDB's row groups."""
DERIVED_WEIGHT = 4
"""Rows that an event of a foreign log counts as: until it is in the journal it is some objects beside its row."""
MAX_HEAP = 8_192
"""Rows of small blocks that wait to become a frame; until then each is some objects."""
MAX_WEIGHT = 128 * 1024 * 1024
"""Bytes of lines that a batch holds the events of."""
KEPT_TEXT = 2_000
"""Characters of a rejected line that quarantine keeps."""
KEPT_BYTES = KEPT_TEXT * 8
"""Bytes of it that are held on to: redaction comes before the cut."""


@dataclass(slots=True)
class Progress:
    """The state of one source in one run: its checkpoint and its figures."""

    checkpoint: SourceCheckpoint
    codec: str = "plain"
    status: str = "read"
    detail: str | None = None
    native: bool = False
    """Whether its events are the truth themselves."""
    tally: Tally = field(default_factory=Tally)
    """The figures of what is in the store."""
    gained: Tally = field(default_factory=Tally)
    """The figures of what was read since."""
    pending_bytes: int = 0
    retracted_bytes: int = 0
    """Length of a torn last line that is in quarantine and is read again."""
    kept: SourceCheckpoint | None = None
    """The checkpoint that was last handed over to be saved."""


class Rejected(msgspec.Struct, frozen=True, gc=False):
    """A line on its way to quarantine; small, as there may be very many."""

    source_id: int
    path: str
    line: int
    offset: int
    length: int
    why: str
    detail: str
    text: bytes


Placed = tuple[Recorded, int | None, int, int]
"""An event of a foreign log, the line that it was read on (None: of the file as a whole), its offset and length in
bytes."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """The checkpoint of one source at the end of a batch, and the figures of what the batch read of it."""

    progress: Progress
    checkpoint: SourceCheckpoint
    gained: Tally
    status: str
    detail: str | None
    pending_bytes: int
    retracted_bytes: int


@dataclass(frozen=True, slots=True)
class Sealed:
    """A batch that nothing is added to any more. It can be applied again and again until it is in the store."""

    batch_id: str
    """Told from every other batch by this alone."""
    events: pl.DataFrame
    """`STAGED`, and `place`: 0, 1, 2, ... in the order of reading."""
    derived: dict[int, Recorded]
    """The events that go to the journal too, by place."""
    rejected: list[Rejected]
    bad_lines: set[tuple[int, int]]
    """Source and line of what is counted as quarantined."""
    sources: list[SourceChange]
    forgotten: list[int]


class Batch:
    """Collects events, rejects and checkpoints until they are saved.

    It may be sealed between two blocks of a source.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._heap = Heap()
        self._derived: dict[int, Recorded] = {}
        """The events that go to the journal too, by place."""
        self._rejected: list[Rejected] = []
        self._touched: dict[int, Progress] = {}
        self._forgotten: list[int] = []
        self._bad_lines: set[tuple[int, int]] = set()
        self._height = self._weight = 0

    @property
    def full(self) -> bool:
        """Whether the batch holds as much as one should, so that it is time to save it."""
        rows = self._height + (DERIVED_WEIGHT - 1) * len(self._derived) + len(self._rejected)
        return rows >= MAX_EVENTS or self._weight >= MAX_WEIGHT

    def touch(self, progress: Progress) -> None:
        """Save this source's figures and checkpoint with the batch."""
        self._touched[progress.checkpoint.source_id] = progress

    def note(self, checkpoint: SourceCheckpoint) -> None:
        """Save what has become of a source in which nothing is read."""
        if checkpoint.source_id not in self._touched:
            self.touch(
                Progress(
                    checkpoint,
                    codec=checkpoint.codec,
                    status=checkpoint.status,
                    detail=checkpoint.detail,
                    pending_bytes=checkpoint.pending_bytes,
                )
            )

    def forget(self, checkpoint: SourceCheckpoint) -> None:
        """Delete the saved row of a source in which nothing was read."""
        self._forgotten.append(checkpoint.source_id)

    def add_block(self, progress: Progress, block: pl.DataFrame | Rows, *, line: int, offset: int, end: int) -> None:
        """Add the events of a block that begins after `line` lines and `offset` bytes of its source and ends at byte
        `end`.
        """
        self._stage(progress, block, [], line=line, offset=offset, end=end)

    def add_derived(
        self, progress: Progress, path: str, events: Iterable[tuple[Event, int | None, int, int]], *, end: int
    ) -> None:
        """Events of a foreign log at a path, each with its line (none: of the file as a whole), offset and length.

        The store gets them exactly as the journal does, so that it can be made again from that.
        """
        kind = progress.checkpoint.format
        made = [
            (recorded(event, Origin(kind, path, line)), line, offset, length) for event, line, offset, length in events
        ]
        self.add_recorded(progress, made, end=end)

    def add_recorded(self, progress: Progress, events: list[Placed], *, end: int) -> None:
        """Events of a foreign log as the journal gets them, of a block that ends at byte `end`."""
        rows = Rows()
        for found, line, offset, length in events:
            rows.add_recorded(found, line, offset, length)
        self._stage(progress, rows, [found for found, *_ in events], line=0, offset=0, end=end)

    def _stage(
        self,
        progress: Progress,
        block: pl.DataFrame | Rows,
        derived: list[Recorded],
        *,
        line: int,
        offset: int,
        end: int,
    ) -> None:
        source = progress.checkpoint.source_id, progress.checkpoint.format, progress.checkpoint.path
        self._derived.update(enumerate(derived, self._height))
        if isinstance(block, Rows) and len(block.payloads) < SMALL:
            self._heap.add(block, *source, line=line, offset=offset, end=end)
            self._height += len(block.payloads)
            self._weight += sum(block.lengths)
            if len(self._heap.rows.payloads) >= MAX_HEAP:
                self._frame_heap()
            return
        self._frame_heap()
        frame = placed(staged(block) if isinstance(block, Rows) else block, *source, line=line, offset=offset, end=end)
        if frame.height:
            self._frames.append(frame)
        self._height += frame.height
        self._weight += int(frame["byte_length"].sum())

    def _take_back(self, source_id: int) -> None:
        self._frame_heap()
        kept: list[pl.DataFrame] = []
        derived: dict[int, Recorded] = {}
        before = self._height = 0
        for frame in self._frames:
            stays = frame["source_id"] != source_id
            for place in stays.arg_true():
                if before + place in self._derived:
                    derived[self._height] = self._derived[before + place]
                self._height += 1
            kept.append(frame.filter(stays))
            before += frame.height
        self._frames, self._derived = kept, derived

    def _frame_heap(self) -> None:
        if self._heap.rows.payloads:
            self._frames.append(self._heap.frame())
            self._heap = Heap()

    def add_rejected(self, progress: Progress, rejected: Rejected, newline_bytes: int) -> None:
        """A line that goes to quarantine; counted once, whatever else was salvaged from it."""
        self._rejected.append(rejected)
        self._weight += len(rejected.text)
        key = rejected.source_id, rejected.line
        if key not in self._bad_lines:
            self._bad_lines.add(key)
            progress.gained.quarantined += 1
            progress.gained.quarantined_bytes += rejected.length + newline_bytes

    def abandon(self, progress: Progress) -> None:
        """Take back what this batch holds of a source that could not be read to its end."""
        source_id = progress.checkpoint.source_id
        self._take_back(source_id)
        self._rejected = [bad for bad in self._rejected if bad.source_id != source_id]
        self._bad_lines = {key for key in self._bad_lines if key[0] != source_id}
        self._touched.pop(source_id, None)
        progress.gained = Tally()
        progress.status, progress.pending_bytes, progress.retracted_bytes = "failed", 0, 0
        if progress.kept is not None:
            progress.checkpoint = progress.kept

    def seal(self) -> Sealed | None:
        """Close the batch and return it, or None where it is empty.

        What is added from now on belongs to the next batch.
        """
        if not self._touched:
            return None
        self._frame_heap()
        events = joined(self._frames)
        sources: list[SourceChange] = []
        for progress in self._touched.values():
            progress.checkpoint.pending_bytes = progress.pending_bytes
            progress.kept = replace(progress.checkpoint)
            sources.append(
                SourceChange(
                    progress,
                    progress.kept,
                    progress.gained,
                    progress.status,
                    progress.detail,
                    progress.pending_bytes,
                    progress.retracted_bytes,
                )
            )
            progress.gained, progress.retracted_bytes = Tally(), 0
        sealed = Sealed(
            new_id(),
            events,
            self._derived,
            self._rejected,
            self._bad_lines,
            sources,
            self._forgotten,
        )
        self._clear()
        return sealed
