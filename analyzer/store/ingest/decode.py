"""Blocks of our own logs → decoded events → the frames that DuckDB reads.

A frame has one row an event, with its place in the source file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from analyzer.events.rows import Decoded, RowDecoder, Rows
from analyzer.store.db.frames import frame_of

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
"""`line`, `byte_offset` and `byte_length` are where an event stands in the source; `source_*` is what the store shows,
which for an event out of a journal is the place in the foreign file."""


def staged(rows: Rows) -> pl.DataFrame:
    """Make a frame of the rows of a block.

    Its places count from the start of the block; `placed` adds the other columns.
    """
    import polars as pl

    writers, seqs, dropped = rows.writers, rows.seqs, rows.dropped
    if rows.origins:
        # Writer and number of a derived event belong to the journal that it was read from.
        writers, seqs, dropped = list(writers), list(seqs), list(dropped)
        for place in rows.origins:
            writers[place] = seqs[place] = dropped[place] = None
    known = {writer: _host(writer) for writer in set(writers)}
    hosts = [known[writer] for writer in writers]
    for place, host in rows.hosts.items():
        hosts[place] = host
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
        origins = [rows.origins.get(place) for place in range(len(rows.payloads))]
        columns["source_format"] = [one.format if one else None for one in origins]
        columns["source_path"] = [one.path if one else None for one in origins]
        columns["source_line"] = [one.line if one else None for one in origins]
    return frame_of({key: STAGED[key] for key in columns}, columns)


def placed(
    block: pl.DataFrame, source_id: int, name: str, path: str, *, line: int, offset: int, end: int
) -> pl.DataFrame:
    """Add to a block where it lies.

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


SMALL = 256
"""Rows; a smaller block waits in a `Heap`. A frame of its own costs as much time and memory as some hundred rows."""


@dataclass(slots=True)
class Heap:
    """Collects blocks of a few rows each, in the order of reading, and makes one frame of them."""

    rows: Rows = field(default_factory=Rows)
    """The collected rows; their line numbers and offsets count from the start of the file."""
    _places: list[tuple[int, int, str, str]] = field(default_factory=list)
    """Source, bytes of the newline, format and path of each row."""

    def add(self, block: Rows, source_id: int, name: str, path: str, *, line: int, offset: int, end: int) -> None:
        """Add a block; the arguments are those of `placed`."""
        height = len(self.rows.payloads)
        self.rows.hosts.update((height + place, host) for place, host in block.hosts.items())
        self.rows.extend(block)
        self.rows.lines += [None if one is None else one + line for one in block.lines]
        self.rows.offsets += [one + offset for one in block.offsets]
        self.rows.lengths += block.lengths
        ends = zip(block.offsets, block.lengths, strict=True)
        self._places += [(source_id, int(at + length + offset < end), name, path) for at, length in ends]

    def frame(self) -> pl.DataFrame:
        """One frame of all blocks, with the columns that `placed` gives."""
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
    """A column; where one value stands in every row, as it mostly does, it is converted once."""
    import polars as pl

    distinct = set(values)
    if len(distinct) == 1:
        return pl.repeat(distinct.pop(), len(values), dtype=dtype, eager=True)
    return pl.Series(values, dtype=dtype)


def _host(writer: str | None) -> str | None:
    return writer.split(":", 1)[0] if writer and ":" in writer else None


def joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """The frames of a batch as one, with `place`: 0, 1, 2, ... in their order."""
    import polars as pl

    # Not made into one piece: DuckDB reads pieces side by side.
    return pl.concat(frames or [frame_of(STAGED)], rechunk=False).with_row_index("place")


def renamed_at(events: pl.DataFrame, places: Collection[int], prefix: str) -> pl.DataFrame:
    """The events with this before the ids of those at some places."""
    import polars as pl

    named = pl.when(pl.col("place").is_in(places)).then(prefix + pl.col("event_id")).otherwise("event_id")
    return events.with_columns(event_id=named)


Answer = TypeVar("Answer")


class Errand(ABC, Generic[Answer]):
    """Something that somebody will read: a helper, or this process."""

    def __init__(self) -> None:
        self.taken = False
        self.answer: Answer | None = None
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether there is an answer, or an error in its place."""
        return self.answer is not None or self.error is not None

    def do(self) -> None:
        """Do it in this process."""
        try:
            self.answer = self.here()
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is asked for
            self.error = error

    @abstractmethod
    def here(self) -> Answer:
        """The answer, from this process."""

    @abstractmethod
    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> Answer:
        """The answer, from a helper at the other end of two pipes.

        Raises:
            Exception: of any kind, where the helper fails.
        """


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
