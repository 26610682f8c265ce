"""Quarantine tried again: after a fix, the same bytes of the same files may be events now.

A reject that parses leaves quarantine in the transaction that brings its events: its line is one of five things still.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

import duckdb

from analyzer.errors import InputError
from analyzer.events import Origin
from analyzer.events.times import now
from analyzer.importers import BY_NAME, Source, block_of
from analyzer.store.batch import Batch, Progress
from analyzer.store.blocks import MAX_LINE, Blocks
from analyzer.store.database import query_errors
from analyzer.store.ingest import checkpoints, open_journal
from analyzer.store.inputs import Input


@dataclass(slots=True)
class Retry:
    """What became of the rejects."""

    tried: int = 0
    """Stretches that were read again."""
    mended: int = 0
    """Of these the ones that can be read now, and have left quarantine."""
    events: int = 0
    """New events out of them."""
    remaining: int = 0
    """Stretches still in quarantine, those that could not be read again included."""
    gone: list[str] = field(default_factory=list)
    """Files that are no longer there, or hold something else now."""
    pruned: int = 0
    """Of the new events those that are older than what the store keeps: they were left out."""
    unjudged: int = 0
    """As of `analyzer ingest`."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"schema": "analyzer.quarantine-retry/1", **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Reject:
    """One row of quarantine."""

    source_id: int
    line: int
    offset: int
    length: int


def retry(connection: duckdb.DuckDBPyConnection, *, store_path: str) -> Retry:
    """Read every reject again whose file is still there.

    Raises:
        StoreError: the store or its journal refused a batch; earlier batches are kept.
    """
    result = Retry()
    with query_errors():
        rows = connection.execute(
            "select source_id, line, byte_offset, byte_length from internal.quarantine_v1"
            " order by source_id, byte_offset"
        ).fetchall()
        kept = connection.execute(
            "select source_id, codec, status, detail, pending_bytes from internal.source_v1"
        ).fetchall()
    known = {item.source_id: item for item in checkpoints(connection)}
    progresses = {
        source_id: Progress(known[source_id], codec, status, detail, pending_bytes=pending_bytes)
        for source_id, codec, status, detail, pending_bytes in kept
    }
    tried: list[Progress] = []
    with open_journal(store_path) as journal:
        batch = Batch(connection, journal, now())
        for source_id, group in groupby((_Reject(*row) for row in rows), key=lambda item: item.source_id):
            progress = progresses[source_id]
            tried.append(progress)
            try:
                with Input(progress.checkpoint.path, progress.checkpoint.offset) as source:
                    if not progress.checkpoint.fits(source):
                        raise InputError(progress.checkpoint.path)
                    _retry_source(source, progress, list(group), batch, result)
            except InputError:
                result.gone.append(progress.checkpoint.path)
        batch.save()
    result.events = sum(progress.tally.events for progress in tried)
    result.remaining = len(rows) - result.mended
    return result


def _retry_source(source: Input, progress: Progress, rejects: list[_Reject], batch: Batch, result: Retry) -> None:
    kind = BY_NAME.get(progress.checkpoint.format)
    if kind is None or kind.reader is None:
        return
    for reject, text in _texts(source, rejects):
        result.tried += 1
        # Each line by itself: what the lines before it said is long forgotten.
        reader = kind.reader(Source(source.path, source.file_time), {})
        hits = list(reader.read(block_of(text + b"\n")))
        if any(hit.why for hit in hits):
            continue
        result.mended += 1
        batch.resolve(progress, reject.line, reject.offset)
        for event in (event for hit in hits for event in hit.events):
            origin = None if kind.native else Origin(kind.name, source.path, reject.line)
            derived = replace(event, origin=origin) if origin else event
            batch.add_event(progress, reject.line, derived, derived=origin is not None)
        if batch.full:
            batch.save()


def _texts(source: Input, rejects: list[_Reject]) -> Iterator[tuple[_Reject, bytes]]:
    """The bytes of each reject; what is compressed is read once, from its start."""
    waiting = [reject for reject in rejects if reject.length <= MAX_LINE]
    if source.codec == "plain":
        for reject in waiting:
            yield reject, _line(source.between(reject.offset, reject.offset + reject.length))
        return
    waiting.reverse()
    for stretch in Blocks(source, 0):
        end = stretch.offset + stretch.length
        while waiting and waiting[-1].offset < end:
            reject = waiting.pop()
            start = reject.offset - stretch.offset
            yield reject, _line(stretch.data[start : start + reject.length])


def _line(data: bytes) -> bytes:
    return data.rstrip(b"\r\n")
