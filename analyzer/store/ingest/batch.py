"""Collect what was read and is not in the store yet, and keep the accounts of each source.

An account says what became of each line and byte of a source: event, duplicate, quarantined, blank
or skipped. Events are frames that DuckDB reads, with a row per event and its place in the source
file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.events import Event
from analyzer.events.appending.writer import Recorded, recorded
from analyzer.events.model import Origin, new_id
from analyzer.events.rows import Decoded, Rows
from analyzer.events.sanitize import sanitize
from analyzer.store.db.frames import frame_of
from analyzer.store.ingest.identity import SourceCheckpoint

if TYPE_CHECKING:
    import polars as pl


STAGED = {
    "source_id": "Int64",
    "line": "Int64",
    "byte_offset": "Int64",
    "byte_length": "Int64",
    "newline_bytes": "Int64",
    "event_id": "String",
    "type": "String",
    "moment": "String",
    "session_id": "String",
    "schema_version": "Int32",
    "writer": "String",
    "seq": "Int64",
    "dropped_before": "Int64",
    "host": "String",
    "time_source": "String",
    "payload": "String",
    "facts": "String",
    "source_format": "String",
    "source_path": "String",
    "source_line": "Int64",
}
"""`line`, `byte_offset` and `byte_length` are where an event stands in the source.

`source_*` is what the store shows: for an event out of a journal, the place in the foreign file.
"""


def staged(rows: Rows) -> pl.DataFrame:
    """Make a frame of the rows of a block.

    Its places count from the start of the block; `add_places` adds the other columns.
    """
    import polars as pl

    writers, seqs, dropped = rows.writers, rows.seqs, rows.dropped
    if rows.origins:
        # Writer and number of a derived event belong to the journal that it was read from, unless it was pushed.
        writers, seqs, dropped = list(writers), list(seqs), list(dropped)
        for index, origin in rows.origins.items():
            if not origin.host:
                writers[index] = seqs[index] = dropped[index] = None
    host_of = {writer: _host(writer) for writer in set(writers)}
    hosts = [host_of[writer] for writer in writers]
    for index, origin in rows.origins.items():
        hosts[index] = origin.host or None
    for index, host in rows.hosts.items():
        hosts[index] = host
    columns: dict[str, Any] = {
        "line": rows.lines,
        "byte_offset": rows.offsets,
        "byte_length": rows.lengths,
        "event_id": rows.ids,
        "type": rows.types,
        "moment": rows.moments,
        "session_id": rows.sessions,
        "schema_version": _column(rows.versions, pl.Int32),
        "writer": _column(writers, pl.String),
        "seq": seqs,
        "dropped_before": _column(dropped, pl.Int64),
        "host": _column(hosts, pl.String),
        "time_source": _column(rows.time_sources, pl.String),
        "payload": rows.payloads,
        "facts": rows.facts,
    }
    if rows.origins:
        origins = [rows.origins.get(index) for index in range(len(rows.payloads))]
        columns["source_format"] = [origin.format if origin else None for origin in origins]
        columns["source_path"] = [origin.path if origin else None for origin in origins]
        columns["source_line"] = [origin.line if origin else None for origin in origins]
    return frame_of({key: STAGED[key] for key in columns}, columns)


def add_places(
    block: pl.DataFrame, source_id: int, name: str, path: str, *, line: int, offset: int, end: int
) -> pl.DataFrame:
    """Add the places of a block's rows in their source.

    It begins after `line` lines and `offset` bytes of its source and ends at byte `end`.
    """
    import polars as pl

    shown: dict[str, Any] = {"source_format": pl.lit(name), "source_path": pl.lit(path), "source_line": pl.col("line")}
    if "source_format" in block.columns:
        own = pl.col("source_format").is_null()
        shown = {key: pl.when(own).then(value).otherwise(pl.col(key)) for key, value in shown.items()}
    line_end = pl.col("byte_offset") + pl.col("byte_length")
    moved = block.with_columns(
        pl.lit(source_id, pl.Int64).alias("source_id"),
        pl.col("line") + line,
        pl.col("byte_offset") + offset,
        # The last line of a file may be without its newline.
        (line_end + offset < end).cast(pl.Int64).alias("newline_bytes"),
    )
    return moved.with_columns(**shown).select(list(STAGED))


SMALL = 1_024
"""Blocks of fewer rows wait in `SmallBlocks`: a frame takes as long as several hundred rows."""


@dataclass(slots=True)
class SmallBlocks:
    """Blocks of a few rows each, in the order of reading, that become one frame."""

    rows: Rows = field(default_factory=Rows)
    """The collected rows; their line numbers and offsets count from the start of the file."""
    _places: list[tuple[int, int, str, str]] = field(default_factory=list)
    """Source, bytes of the newline, format and path of each row."""

    def add(self, block: Rows, source_id: int, name: str, path: str, *, line: int, offset: int, end: int) -> None:
        """Add a block; the arguments are those of `add_places`."""
        height = len(self.rows.payloads)
        self.rows.hosts.update((height + index, host) for index, host in block.hosts.items())
        self.rows.extend(block)
        self.rows.lines += [None if number is None else number + line for number in block.lines]
        self.rows.offsets += [start + offset for start in block.offsets]
        self.rows.lengths += block.lengths
        ends = zip(block.offsets, block.lengths, strict=True)
        self._places += [(source_id, int(at + length + offset < end), name, path) for at, length in ends]

    def frame(self) -> pl.DataFrame:
        """Make one frame of all blocks, with the columns that `add_places` gives."""
        import polars as pl

        sources, newlines, names, paths = zip(*self._places, strict=True)
        own = {
            "source_format": pl.Series(names, dtype=pl.String),
            "source_path": pl.Series(paths, dtype=pl.String),
            "source_line": pl.Series(self.rows.lines, dtype=pl.Int64),
        }
        frame = staged(self.rows)
        if "source_format" in frame.columns:
            derived = frame["source_format"].is_not_null()
            own = {key: frame[key].zip_with(derived, values) for key, values in own.items()}
        return frame.with_columns(
            source_id=pl.Series(sources, dtype=pl.Int64), newline_bytes=pl.Series(newlines, dtype=pl.Int64), **own
        ).select(list(STAGED))


def _column(values: list[Any], dtype: Any) -> pl.Series:
    """Make a column; if all rows have one value, as they mostly do, it is converted only once."""
    import polars as pl

    distinct = set(values)
    if len(distinct) == 1:
        return pl.repeat(distinct.pop(), len(values), dtype=dtype, eager=True)
    return pl.Series(values, dtype=dtype)


def _host(writer: str | None) -> str | None:
    return writer.split(":", 1)[0] if writer and ":" in writer else None


def join_frames(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Join the frames of a batch, with `place`: 0, 1, 2, ... in their order."""
    import polars as pl

    # Not made into one piece: DuckDB reads pieces side by side.
    return pl.concat(frames or [frame_of(STAGED)], rechunk=False).with_row_index("place")


def prefix_ids(events: pl.DataFrame, places: Collection[int], prefix: str) -> pl.DataFrame:
    """Put a prefix before the ids of the events at some places."""
    import polars as pl

    named = pl.when(pl.col("place").is_in(places)).then(prefix + pl.col("event_id")).otherwise("event_id")
    return events.with_columns(event_id=named)


@dataclass(frozen=True, slots=True)
class DecodedBlock:
    """The events and the broken lines of one block.

    Line numbers and offsets are counted from the start of the block.
    """

    events: pl.DataFrame | Rows
    """A frame where a helper decoded the block or it has at least `SMALL` events, else rows."""
    rejects: list[tuple[int, int, bytes, str, str]]
    """Line, offset, text, reason and details of each broken line."""
    lines: int
    blank: int
    blank_bytes: int
    mended: int
    """Lines that hold half of a UTF-16 pair."""


def decode_block(decode: Callable[[bytes], Decoded], data: bytes) -> DecodedBlock:
    """Decode a block in this process."""
    block = decode(data)
    rejects = [(line, offset, text, reject.why, reject.detail) for line, offset, text, reject in block.rejects]
    events = block.rows if len(block.rows.payloads) < SMALL else staged(block.rows)
    return DecodedBlock(events, rejects, block.lines, block.blank, block.blank_bytes, block.mended)


class AccountingError(AssertionError):
    """Lines or bytes do not add up: a bug of this program, noticed before anything was stored."""


@dataclass(slots=True)
class Tally:
    """The figures of one source in one run.

    `lines` is the sum of the next five fields; `bytes` is that of the fields that end in `_bytes`.
    """

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
    """Lines with U+FFFD for half of a UTF-16 pair; they are also counted among the others."""

    def add(self, other: Tally) -> None:
        """Add the figures of another tally to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def settle(self, path: str, *, native: bool) -> None:
        """Count the remaining lines as skipped, and check that everything adds up.

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
        """Return the figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


STORED = tuple(name for name in Tally.__slots__ if name != "mended")
"""The figures that a store keeps of each source."""


MAX_EVENTS = 183_000
"""Events of a batch: a little less than one and a half of DuckDB's row groups.

Two batches are in memory, one that is read and one that is stored. Of a million events, one row
group takes a fifth more processor time, and two 100 MB more.
"""
DERIVED_WEIGHT = 3
"""Rows that a foreign event counts as: until it is in the journal, it has objects, too."""
MAX_SMALL_ROWS = 8_192
"""Rows of small blocks that wait to become a frame; until then each is several objects."""
MAX_WEIGHT = 128 * 1024 * 1024
"""Bytes of the lines whose events a batch holds."""
KEPT_TEXT = 2_000
"""Characters of a rejected line that quarantine keeps."""
KEPT_BYTES = KEPT_TEXT * 8
"""Bytes of a rejected line that are held until redaction, which comes before the cut."""


@dataclass(slots=True)
class Progress:
    """The state of one source in one run: its checkpoint and its figures."""

    checkpoint: SourceCheckpoint
    codec: str = "plain"
    status: str = "read"
    detail: str | None = None
    native: bool = False
    """Whether its events come from a log of our own, not from a foreign one."""
    tally: Tally = field(default_factory=Tally)
    """The figures of everything in the store."""
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


PlacedEvent = tuple[Recorded, int | None, int, int]
"""An event of a foreign log, its line, its offset and its length in bytes.

The line is None for an event of the file as a whole.
"""


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
class SealedBatch:
    """A closed batch, which can be applied again and again until it is in the store."""

    batch_id: str
    """Identifies the batch; nothing else does."""
    events: pl.DataFrame
    """`STAGED`, and `place`: 0, 1, 2, ... in the order of reading."""
    derived: dict[int, Recorded | None]
    """Events that go to the journal too, by place; None if the row says all of it."""
    rejected: list[Rejected]
    bad_lines: set[tuple[int, int]]
    """Source and line of everything that is counted as quarantined."""
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
        self._small = SmallBlocks()
        self._derived: dict[int, Recorded | None] = {}
        self._rejected: list[Rejected] = []
        self._touched: dict[int, Progress] = {}
        self._forgotten: list[int] = []
        self._bad_lines: set[tuple[int, int]] = set()
        self._height = self._weight = 0

    @property
    def full(self) -> bool:
        """Say whether the batch is large enough to be saved."""
        rows = self._height + (DERIVED_WEIGHT - 1) * len(self._derived) + len(self._rejected)
        return rows >= MAX_EVENTS or self._weight >= MAX_WEIGHT

    def touch(self, progress: Progress) -> None:
        """Save this source's figures and checkpoint with the batch."""
        self._touched[progress.checkpoint.source_id] = progress

    def note(self, checkpoint: SourceCheckpoint) -> None:
        """Save the state of a source in which nothing is read."""
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

    def add_derived(
        self,
        progress: Progress,
        path: str,
        events: Iterable[tuple[Event, int | None, int, int]],
        rows: Rows,
        *,
        end: int,
    ) -> None:
        """Add events of a foreign log at a path, exactly as the journal gets them.

        `events` have their line (None: of the file as a whole), offset and length; `rows` are
        events that are rows already. The store gets what the journal gets, so that it can be made
        again from it.
        """
        kind = progress.checkpoint.format
        made = [
            (recorded(event, Origin(kind, path, line)), line, offset, length) for event, line, offset, length in events
        ]
        self.add_recorded(progress, path, made, rows, end=end)

    def add_recorded(
        self, progress: Progress, path: str, events: list[PlacedEvent], ready_rows: Rows, *, end: int
    ) -> None:
        """Add events of a foreign log as the journal gets them, of a block that ends at byte `end`."""
        rows = Rows()
        for index, (event, line, offset, length) in enumerate(events, self._height):
            self._derived[index] = event
            rows.add_recorded(event, line, offset, length)
        first = self._height + len(events)
        self._derived.update(dict.fromkeys(range(first, first + len(ready_rows.payloads))))
        for block in (rows, ready_rows):
            self.add_block(progress, block, line=0, offset=0, end=end, path=path)

    def add_block(
        self,
        progress: Progress,
        block: pl.DataFrame | Rows,
        *,
        line: int,
        offset: int,
        end: int,
        path: str | None = None,
    ) -> None:
        """Add the events of a block.

        The block begins after `line` lines and `offset` bytes of its source and ends at byte `end`.
        Rows without an origin are shown at `path` (None: the path of the source).
        """
        checkpoint = progress.checkpoint
        shown = checkpoint.path if path is None else sanitize(path)
        source = checkpoint.source_id, checkpoint.format, shown
        if isinstance(block, Rows) and len(block.payloads) < SMALL:
            self._small.add(block, *source, line=line, offset=offset, end=end)
            self._height += len(block.payloads)
            self._weight += sum(block.lengths)
            if len(self._small.rows.payloads) >= MAX_SMALL_ROWS:
                self._frame_small()
            return
        self._frame_small()
        frame = add_places(
            staged(block) if isinstance(block, Rows) else block, *source, line=line, offset=offset, end=end
        )
        if frame.height:
            self._frames.append(frame)
        self._height += frame.height
        self._weight += int(frame["byte_length"].sum())

    def _take_back(self, source_id: int) -> None:
        self._frame_small()
        kept: list[pl.DataFrame] = []
        derived: dict[int, Recorded | None] = {}
        before = self._height = 0
        for frame in self._frames:
            stays = frame["source_id"] != source_id
            for index in stays.arg_true():
                if before + index in self._derived:
                    derived[self._height] = self._derived[before + index]
                self._height += 1
            kept.append(frame.filter(stays))
            before += frame.height
        self._frames, self._derived = kept, derived

    def _frame_small(self) -> None:
        if self._small.rows.payloads:
            self._frames.append(self._small.frame())
            self._small = SmallBlocks()

    def add_rejected(self, progress: Progress, rejected: Rejected, newline_bytes: int) -> None:
        """Add a line that goes to quarantine; it counts once, whatever else came out of it."""
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

    def seal(self) -> SealedBatch | None:
        """Close the batch and return it; None if it is empty.

        What is added from now on belongs to the next batch.
        """
        if not self._touched:
            return None
        self._frame_small()
        events = join_frames(self._frames)
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
        sealed = SealedBatch(new_id(), events, self._derived, self._rejected, self._bad_lines, sources, self._forgotten)
        self._clear()
        return sealed
