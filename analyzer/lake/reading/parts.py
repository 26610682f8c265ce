"""What an executor has read: rows of events as they are staged, and the book-keeping of their sources, as bytes.

Invariant: nothing of it holds a secret any more; what is rejected is redacted where it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
import polars as pl
import pyarrow as pa

from analyzer.events.codec import encode
from analyzer.events.ids import new_id
from analyzer.events.sanitize import sanitize
from analyzer.store.db.frames import frame_of
from analyzer.store.ingest.accounting import Tally
from analyzer.store.ingest.batch import KEPT_TEXT, Progress, Rejected, Sealed, SourceChange
from analyzer.store.ingest.discovery import Problem
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.staging import STAGED

ROWS = 4_096
"""Events that cross from Python to the engine at a time."""
_ARROW = {"Int64": pa.int64(), "Int32": pa.int32(), "String": pa.string()}
SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("part_group", "part", "place")),
        *((name, _ARROW[kind]) for name, kind in STAGED.items()),
        ("recorded", pa.string()),
        ("header", pa.binary()),
    ]
)
"""A row is an event (`recorded`: its line in the journal, where it goes there), or the `header` of a part."""


class PartChange(msgspec.Struct, array_like=True):
    """What became of one source in one part."""

    checkpoint: SourceCheckpoint
    gained: Tally
    codec: str
    status: str
    detail: str | None
    native: bool
    pending_bytes: int
    retracted_bytes: int


class PartHeader(msgspec.Struct, array_like=True):
    """All of a part but its events."""

    height: int
    """How many events it has."""
    changes: list[PartChange] = []
    rejected: list[Rejected] = []
    bad_lines: list[tuple[int, int]] = []
    failed: list[int] = []
    """Sources that could not be read to their end."""
    problems: list[tuple[str, str, str]] = []


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(PartHeader).decode


def header_of(data: bytes) -> PartHeader:
    """The header that these bytes hold."""
    return _decode(data)


def rows_of(
    group: int, part: int, sealed: Sealed | None, failed: list[int], problems: Iterable[Problem]
) -> Iterator[pa.RecordBatch]:
    """The rows of one part: its events, then its header."""
    header = PartHeader(0, failed=failed, problems=[(one.path, one.message, one.hint) for one in problems])
    if sealed is not None:
        header.height = sealed.events.height
        header.changes = [_change(one) for one in sealed.sources]
        header.rejected = [_clean(one) for one in sealed.rejected]
        header.bad_lines = sorted(sealed.bad_lines)
        yield from _events(group, part, sealed)
    yield _batch({"part_group": [group], "part": [part], "place": [-1], "header": [_encode(header)]})


def _events(group: int, part: int, sealed: Sealed) -> Iterator[pa.RecordBatch]:
    for rows in sealed.events.iter_slices(ROWS):
        places = rows["place"].to_list()
        found = (sealed.derived.get(place) for place in places)
        lines = [None if one is None else encode(one.event, one.payload).decode() for one in found]
        table = rows.drop("place").to_arrow(compat_level=pl.CompatLevel.oldest())
        columns = {name: table.column(name) for name in STAGED}
        count = len(places)
        yield _batch(
            {"part_group": [group] * count, "part": [part] * count, "place": places, **columns, "recorded": lines}
        )


def _batch(columns: dict[str, object]) -> pa.RecordBatch:
    count = len(columns["place"])  # type: ignore[arg-type] # every column is a list or an array
    arrays = []
    for field in SCHEMA:
        values = columns.get(field.name)
        if values is None:
            arrays.append(pa.nulls(count, field.type))
        elif isinstance(values, pa.ChunkedArray):
            arrays.append(values.cast(field.type).combine_chunks())
        else:
            arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(
        [one if isinstance(one, pa.Array) else one.chunk(0) for one in arrays], schema=SCHEMA
    )


def _change(one: SourceChange) -> PartChange:
    return PartChange(
        one.checkpoint,
        one.gained,
        one.progress.codec,
        one.status,
        one.detail,
        one.progress.native,
        one.pending_bytes,
        one.retracted_bytes,
    )


def _clean(one: Rejected) -> Rejected:
    # One character more than what is kept, so that quarantine still says of a longer one that it was cut.
    text = sanitize(one.text.decode("utf-8", "replace"))[: KEPT_TEXT + 1]
    return msgspec.structs.replace(one, text=text.encode(), path=sanitize(one.path), detail=sanitize(one.detail))


@dataclass(slots=True)
class Read:
    """One part as the driver takes it."""

    group: int
    part: int
    header: PartHeader
    goes_on: bool = False
    """Whether it is of a range that begins where another one ends; then its lines are counted from its beginning."""


def sealed_of(
    parts: Iterable[Read],
    rows: pa.Table | None,
    sources: dict[int, Progress],
    before: dict[int, int],
    forgotten: set[int],
) -> Sealed:
    """The batch of some parts, in their order, as `Writer` takes it; `sources` gives each source's progress, which
    learns what became of it, and `before` learns the lines before each range. `forgotten` loses those that are
    forgotten by this batch.
    """
    changes: dict[int, SourceChange] = {}
    rejected: list[Rejected] = []
    bad_lines: set[tuple[int, int]] = set()
    for part in parts:
        header = part.header
        lines = 0
        if part.goes_on and header.changes:
            (one,) = header.changes
            lines = before.setdefault(part.group, sources[one.checkpoint.source_id].checkpoint.lines)
            one.checkpoint.lines += lines
        rejected += (msgspec.structs.replace(one, line=one.line + lines) for one in header.rejected)
        bad_lines.update((source_id, line + lines) for source_id, line in header.bad_lines)
        for one in header.changes:
            progress = sources[one.checkpoint.source_id]
            progress.checkpoint, progress.codec, progress.native = one.checkpoint, one.codec, one.native
            progress.status, progress.detail, progress.pending_bytes = one.status, one.detail, one.pending_bytes
            former = changes.get(one.checkpoint.source_id)
            if former is not None:
                one.gained.add(former.gained)
                one.retracted_bytes += former.retracted_bytes
            changes[one.checkpoint.source_id] = SourceChange(
                progress, one.checkpoint, one.gained, one.status, one.detail, one.pending_bytes, one.retracted_bytes
            )
    own = sorted(forgotten & set(changes))
    forgotten -= set(own)
    return Sealed(new_id(), _frame(rows, before), {}, rejected, bad_lines, list(changes.values()), own)


def _frame(rows: pa.Table | None, before: dict[int, int]) -> pl.DataFrame:
    if rows is None:
        return frame_of({**STAGED, "recorded": "String"}).with_row_index("place")
    frame = pl.DataFrame(pl.from_arrow(rows)).sort("part_group", "part", "place")
    if before:
        lines = pl.col("part_group").replace_strict(before, default=0, return_dtype=pl.Int64)
        frame = frame.with_columns(pl.col("line") + lines, pl.col("source_line") + lines)
    return frame.select(*STAGED, "recorded").with_row_index("place")
