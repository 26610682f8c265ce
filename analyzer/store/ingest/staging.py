"""Decoded events as the frames that DuckDB reads: one row an event, with its place in the source file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyzer.events.rows import Rows
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
