"""Collect what was read and is not in the store yet, and keep the accounts of each source.

An account says what became of each line and byte of a source: event, duplicate, quarantined, blank
or skipped. Events are frames that DuckDB reads, with a row per event and its place in the source
file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.events.fast_decode import Rows
from analyzer.events.model import new_id
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
    "event_line": "Binary",
}
"""`line`, `byte_offset` and `byte_length` are where an event stands in the source.

`source_*` is what the store shows: for an event out of a journal, the place in the foreign file.
`event_line` is what the journal gets of an event that was translated from a foreign record.
"""


_BLOCK = {
    "rows": "UInt32",
    "source_id": "Int64",
    "lines_before": "Int64",
    "bytes_before": "Int64",
    "end": "Int64",
    "format": "String",
    "path": "String",
}
"""A block of rows: its source, its position there, and the end of the block in bytes from the start of the source."""


def staged(rows: Rows, lines: Sequence[bytes | None], blocks: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Make a frame of the rows of some blocks; `lines` are the event lines of translated events."""
    import polars as pl

    columns: dict[str, Any] = {
        "line": rows.lines,
        "byte_offset": rows.offsets,
        "byte_length": rows.lengths,
        "event_id": rows.ids,
        "type": rows.types,
        "moment": rows.moments,
        "session_id": rows.sessions,
        "schema_version": _column(rows.versions, pl.Int32),
        "writer": _column(rows.writers, pl.String),
        "seq": rows.seqs,
        "dropped_before": _column(rows.dropped, pl.Int64),
        "host": _column(rows.hosts, pl.String),
        "time_source": _column(rows.time_sources, pl.String),
        "payload": rows.payloads,
        "facts": rows.facts,
        "source_format": _column(rows.source_formats, pl.String),
        "source_path": _column(rows.source_paths, pl.String),
        "source_line": _column(rows.source_lines, pl.Int64),
        "event_line": _column(lines, pl.Binary),
    }
    events = frame_of({key: STAGED[key] for key in columns}, columns)
    block = frame_of(_BLOCK, blocks).select(pl.all().repeat_by("rows").explode())
    is_own = pl.col("source_format").is_null()
    line_end = pl.col("byte_offset") + pl.col("byte_length") + pl.col("bytes_before")
    return (
        pl.concat([events, block], how="horizontal")
        .with_columns(
            pl.col("line") + pl.col("lines_before"),
            pl.col("byte_offset") + pl.col("bytes_before"),
            # The last line of a file may be without its newline.
            (line_end < pl.col("end")).cast(pl.Int64).alias("newline_bytes"),
            pl.col("source_format").fill_null(pl.col("format")),
            pl.col("source_path").fill_null(pl.col("path")),
            pl.when(is_own).then(pl.col("line") + pl.col("lines_before")).otherwise("source_line").alias("source_line"),
        )
        .select(list(STAGED))
    )


def _column(values: Sequence[Any], dtype: Any) -> pl.Series:
    """Make a column; if all rows have one value, as they mostly do, it is converted only once."""
    import polars as pl

    distinct = set(values)
    if len(distinct) == 1:
        return pl.repeat(distinct.pop(), len(values), dtype=dtype, eager=True)
    return pl.Series(values, dtype=dtype)


def prefix_ids(events: pl.DataFrame, places: Collection[int], prefix: str) -> pl.DataFrame:
    """Put a prefix before the ids of the events at some places."""
    import polars as pl

    named = pl.when(pl.col("place").is_in(places)).then(prefix + pl.col("event_id")).otherwise("event_id")
    return events.with_columns(event_id=named)


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

Of a million events, one row group takes a fifth more processor time, and two 100 MB more.
"""
_MAX_ROWS = 8_192
"""Rows that wait to become a frame: a frame takes as long as several hundred rows, and a row is several objects."""
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
    """0 for an event of a file as a whole."""
    offset: int
    length: int
    newline_bytes: int
    why: str
    detail: str
    text: bytes


@dataclass(slots=True)
class SealedBatch:
    """A closed batch, which can be applied again and again until it is in the store."""

    batch_id: str
    """Identifies the batch; nothing else does."""
    events: pl.DataFrame
    """`STAGED` without `event_line`, and `place`: 0, 1, 2, ... in the order of reading."""
    event_lines: pl.Series | None
    """The event lines, in the same order; None once the journal has them."""
    rejected: list[Rejected]
    sources: list[Progress]
    """Each source as it was when the batch was closed, with the checkpoint there and what the batch gained of it."""
    forgotten: list[int]


class Batch:
    """Collects events, rejects and checkpoints until they are saved.

    It may be sealed between two blocks of a source.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._rows, self._lines = Rows(), list[bytes | None]()
        self._blocks: list[tuple[Any, ...]] = []
        self._rejected: list[Rejected] = []
        self._touched: dict[int, Progress] = {}
        self._forgotten: list[int] = []
        self._height = self._weight = 0

    @property
    def full(self) -> bool:
        """Say whether the batch is large enough to be saved."""
        return self._height + len(self._rejected) >= MAX_EVENTS or self._weight >= MAX_WEIGHT

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

    def add_rows(
        self,
        progress: Progress,
        rows: Rows,
        *,
        end: int,
        lines_before: int = 0,
        bytes_before: int = 0,
        lines: Sequence[bytes] = (),
    ) -> None:
        """Add the events of a block that ends at byte `end` of its source.

        The positions of the rows count from `lines_before` and `bytes_before`; `lines` are their event lines if they
        were translated.
        """
        count = len(rows.ids)
        if not count:
            return
        checkpoint = progress.checkpoint
        shown = checkpoint.format, sanitize(checkpoint.path)
        self._blocks.append((count, checkpoint.source_id, lines_before, bytes_before, end, *shown))
        self._rows.extend(rows)
        self._lines += lines or [None] * count
        self._height += count
        self._weight += sum(rows.lengths) + sum(map(len, lines))
        if len(self._rows.ids) >= _MAX_ROWS:
            self._make_frame()

    def _make_frame(self) -> None:
        if self._blocks:
            self._frames.append(staged(self._rows, self._lines, self._blocks))
            self._rows, self._lines, self._blocks = Rows(), [], []

    def add_rejected(self, rejected: Rejected) -> None:
        """Add a line that goes to quarantine; it counts once, whatever else came out of it."""
        self._rejected.append(rejected)
        self._weight += len(rejected.text)

    def abandon(self, progress: Progress) -> None:
        """Take back what this batch holds of a source that could not be read to its end."""
        source_id = progress.checkpoint.source_id
        self._make_frame()
        self._frames = [frame.filter(frame["source_id"] != source_id) for frame in self._frames]
        self._height = sum(frame.height for frame in self._frames)
        self._rejected = [bad for bad in self._rejected if bad.source_id != source_id]
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
        import polars as pl

        self._make_frame()
        # Not made into one piece: DuckDB reads pieces side by side.
        events = pl.concat(self._frames or [frame_of(STAGED)], rechunk=False).with_row_index("place")
        event_lines = events.drop_in_place("event_line")
        sources = []
        for progress in self._touched.values():
            progress.checkpoint.pending_bytes = progress.pending_bytes
            progress.kept = replace(progress.checkpoint)
            sources.append(replace(progress, checkpoint=progress.kept))
            progress.gained, progress.retracted_bytes = Tally(), 0
        sealed = SealedBatch(new_id(), events, event_lines, self._rejected, sources, self._forgotten)
        self._clear()
        return sealed
