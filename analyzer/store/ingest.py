"""Logs → the store: incremental by a checkpoint a source, every line accounted for, nothing twice.

One source failing is reported and stops no other.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import msgspec

from analyzer.errors import InputError, StoreError
from analyzer.events import Event, EventLog, Origin
from analyzer.events.codec import Reject, decode_object
from analyzer.events.sanitize import sanitize
from analyzer.events.times import now
from analyzer.importers import (
    BY_NAME,
    HEAD_BYTES,
    Block,
    Format,
    Hit,
    Reader,
    Source,
    blank_lines,
    block_of,
    detect,
    head_of,
)
from analyzer.store.batch import KEPT_BYTES, Batch, Progress, Rejected, Tally
from analyzer.store.blocks import Blocks, Stretch
from analyzer.store.discovery import STDIN, Found, Problem, discover
from analyzer.store.identity import FINGERPRINT_BYTES, MARK_BYTES, Checkpoint, Known
from analyzer.store.inputs import Input
from analyzer.store.lock import MEMORY
from analyzer.store.replacement import files_of


@dataclass(slots=True)
class IngestResult:
    """What one run did."""

    sources: list[Progress] = field(default_factory=list)
    """One an input that was read, or looked at, in the order of reading."""
    problems: list[Problem] = field(default_factory=list)
    unchanged: int = 0
    """Sources in which nothing was new."""
    seconds: float = 0.0
    pruned: int = 0
    """Of the new events those that are older than what the store keeps: they were left out."""
    unjudged: int = 0
    """Distinct facts without a verdict of the active ruleset, because its rules are no longer where they were."""

    @property
    def total(self) -> Tally:
        """The figures of all sources together."""
        total = Tally()
        for progress in self.sources:
            total.add(progress.tally)
        return total

    def unsupported(self) -> dict[str, int]:
        """Files of formats that are not read yet, by format."""
        counts: dict[str, int] = {}
        for progress in self.sources:
            if progress.status == "unsupported":
                counts[progress.checkpoint.format] = counts.get(progress.checkpoint.format, 0) + 1
        return counts

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        return {
            "schema": "analyzer.ingest/1",
            "files": len(self.sources),
            "unchanged": self.unchanged,
            **self.total.to_dict(),
            "pending_bytes": sum(progress.pending_bytes for progress in self.sources),
            "unsupported": self.unsupported(),
            "pruned": self.pruned,
            "unjudged": self.unjudged,
            "problems": [{"path": item.path, "message": item.message, "hint": item.hint} for item in self.problems],
            "sources": [
                {
                    "path": progress.checkpoint.path,
                    "format": progress.checkpoint.format,
                    "status": progress.status,
                    "detail": progress.detail,
                    **progress.tally.to_dict(),
                    "pending_bytes": progress.pending_bytes,
                }
                for progress in self.sources
            ],
        }


def journal_of(store_path: str) -> str | None:
    """The log folder beside a store; a throw-away store has none."""
    if store_path == MEMORY:
        return None
    base, ending = os.path.splitext(os.path.realpath(store_path))
    return f"{base}.journal" if ending != ".journal" else f"{base}{ending}.journal"


@contextlib.contextmanager
def open_journal(store_path: str) -> Iterator[EventLog | None]:
    """The journal of a store, None for a throw-away one."""
    folder = journal_of(store_path)
    if folder is None:
        yield None
        return
    with EventLog(folder, durability="batch") as journal:
        yield journal


def ingest(
    connection: duckdb.DuckDBPyConnection,
    paths: Iterable[str],
    *,
    store_path: str = MEMORY,
    limits: Mapping[str, int] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> IngestResult:
    """Read everything new below `paths` into the store; `progress` is told each path, its place and how many there are.

    Of paths in `limits` no more than the first so many decompressed bytes are read.

    Raises:
        StoreError: the store or its journal refused a batch; earlier batches are kept.
    """
    began = time.monotonic()
    folder = journal_of(store_path)
    found: Found = discover(paths, own=[*files_of(store_path), folder] if folder else ())
    result = IngestResult(problems=list(found.problems))
    with open_journal(store_path) as journal:
        run = _Run(connection, journal, result)
        for place, path in enumerate(found.files):
            if progress is not None:
                progress(path, place, len(found.files))
            run.read(path, (limits or {}).get(path))
        run.batch.save()
    result.seconds = time.monotonic() - began
    return result


DAMAGED_HINT = "what stands before the damage was kept"


class _Run:
    """One ingest: the batch, and the checkpoints of all sources."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, journal: EventLog | None, result: IngestResult) -> None:
        self._result = result
        self._known = Known(checkpoints(connection))
        self.batch = Batch(connection, journal, now())

    def read(self, path: str, limit: int | None = None) -> None:
        """One input, whatever it is."""
        try:
            with Input(path, limit) as source:
                self._read(source)
        except InputError as error:
            self._result.problems.append(Problem(path, error.message.removeprefix(f"{path}: "), error.hint))

    def _read(self, source: Input) -> None:
        checkpoint, moved = self._known.locate(source) if source.path != STDIN else (None, False)
        if checkpoint is not None and checkpoint.unchanged(source) and _still(checkpoint):
            self._seen(checkpoint, source, moved=moved)
            return
        checkpoint = checkpoint or self._new(source)
        if checkpoint.status == "unsupported" or not _readable(checkpoint.format):
            # It was looked at, not read: now that it has changed, or can be read, it may turn out to be anything.
            checkpoint.rewind()
            self.batch.forget(checkpoint)
        if checkpoint.offset == 0:
            checkpoint.format = detect(head_of(source.head(HEAD_BYTES))).name
        progress = Progress(checkpoint, codec=source.codec)
        self._result.sources.append(progress)
        try:
            _SourceRun(source, progress, BY_NAME[checkpoint.format], self.batch).run()
        except StoreError:
            raise
        except InputError:
            self.batch.abandon(progress)
            raise
        except Exception as error:  # noqa: BLE001 - whatever one log holds, the others are read
            self.batch.abandon(progress)
            hint = "nothing new of it was kept; it is read again next time. Please report this"
            self._result.problems.append(Problem(source.path, f"{type(error).__name__}: {error}"[:300], hint))
            return
        if source.damage:
            progress.status, progress.detail = "damaged", source.damage
            self._result.problems.append(Problem(source.path, source.damage, DAMAGED_HINT))

    def _seen(self, checkpoint: Checkpoint, source: Input, *, moved: bool) -> None:
        """Nothing to read; the row is saved all the same where the file has moved."""
        self._result.unchanged += 1
        progress = Progress(checkpoint, source.codec, checkpoint.status, checkpoint.detail)
        if checkpoint.status == "damaged":
            self._result.problems.append(Problem(source.path, str(checkpoint.detail), DAMAGED_HINT))
        progress.pending_bytes = max(source.size - checkpoint.offset, 0) if source.codec == "plain" else 0
        self._result.sources.append(progress)
        if moved:
            self.batch.touch(progress)

    def _new(self, source: Input) -> Checkpoint:
        generation = self._known.next_generation(source.path)
        checkpoint = Checkpoint(self._known.next_id(), source.path, generation=generation)
        self._known.add(checkpoint)
        return checkpoint


_BOM = b"\xef\xbb\xbf"


class _SourceRun:
    """One source from its checkpoint to its present end."""

    def __init__(self, source: Input, progress: Progress, kind: Format, batch: Batch) -> None:
        self._source, self._progress, self._kind, self._batch = source, progress, kind, batch
        self._checkpoint = progress.checkpoint
        self._line = self._checkpoint.lines
        offset = self._checkpoint.offset
        self._first = source.between(0, min(FINGERPRINT_BYTES, offset))
        self._last = source.between(max(offset - MARK_BYTES, 0), offset)
        self._reader: Reader | None = None
        if kind.reader is not None:
            self._reader = kind.reader(Source(source.path, source.file_time), self._checkpoint.state or {})

    def run(self) -> None:
        """Read, count, and leave the checkpoint at the end of what was taken."""
        if self._reader is None:
            self._progress.status = "unsupported"
            self._progress.detail = self._kind.title
        blocks = Blocks(self._source, self._checkpoint.offset)
        for stretch in blocks:
            self._take(stretch)
        self._take_tail(blocks)
        if self._reader is not None:
            for event in self._reader.finish():
                self._add(None, event)
        self._mark(finished=True)

    def _take(self, stretch: Stretch) -> None:
        tally = self._progress.tally
        data = stretch.data
        if self._checkpoint.line_open:
            # The newline of a line that was taken without it is not a line of its own.
            self._checkpoint.line_open = False
            if data.startswith((b"\n", b"\r\n")):
                cut = data.index(b"\n") + 1
                stretch = Stretch(stretch.offset + cut, data[cut:], stretch.length - cut)
                tally.bytes += cut
                self._remember(data[:cut])
                self._checkpoint.offset += cut
                data = stretch.data
        if stretch.overlong:
            tally.lines += 1
            self._reject(
                self._line + 1, stretch.offset, stretch.length, "line_too_long", f"{stretch.length} bytes", data
            )
            self._line += 1
        elif data:
            bom = data.startswith(_BOM) and stretch.offset == 0
            counted = block_of(b"   " + data[3:] if bom else data)
            tally.lines += counted.lines
            tally.blank += blank_lines(counted)
            if self._reader is not None:
                for hit, line in self._numbered(self._reader, counted):
                    self._take_hit(hit, line, stretch)
            self._line += counted.lines
        tally.bytes += stretch.length
        self._checkpoint.offset = stretch.offset + stretch.length
        self._checkpoint.lines = self._line
        self._remember(stretch.data[: stretch.length])
        if stretch.overlong:
            # Its end is not what was kept of it.
            self._last = stretch.end[-MARK_BYTES:]
        if self._batch.full:
            self._mark(finished=False)
            self._batch.save()

    def _remember(self, data: bytes) -> None:
        """The first and the last bytes that were taken, without copying what lies between."""
        self._first = (self._first + data[:FINGERPRINT_BYTES])[:FINGERPRINT_BYTES]
        self._last = (self._last + data[-MARK_BYTES:])[-MARK_BYTES:]

    def _mark(self, *, finished: bool) -> None:
        """Put the checkpoint where reading stands now."""
        self._checkpoint.state = sanitize(dict(self._reader.state())) if self._reader is not None else None
        self._checkpoint.stamp(self._source, self._first, self._last, finished=finished)
        self._batch.touch(self._progress)

    def _numbered(self, reader: Reader, block: Block) -> Iterator[tuple[Hit, int]]:
        """The hits of a block, each with the number of its line."""
        self._batch.touch(self._progress)
        line, counted = self._line + 1, 0
        for hit in reader.read(block):
            line += block.data.count(b"\n", counted, hit.offset)
            counted = hit.offset
            yield hit, line

    def _take_hit(self, hit: Hit, line: int, stretch: Stretch) -> None:
        self._batch.weigh(hit.length)
        for event in hit.events:
            self._add(line, event)
        if hit.why:
            text = stretch.data[hit.offset : hit.offset + hit.length]
            self._reject(line, stretch.offset + hit.offset, hit.length, hit.why, hit.detail, text)

    def _take_tail(self, blocks: Blocks) -> None:
        """The last line, where it has no newline: taken if it is whole, else it waits for the rest."""
        tail = blocks.tail
        whole = bool(tail.strip()) and (
            self._reader is None or not isinstance(decode_object(tail.strip()), Reject) or self._source.path == STDIN
        )
        if whole:
            offset = self._checkpoint.offset
            self._take(Stretch(offset, tail + b"\n", len(tail)))
            self._checkpoint.line_open = True
        else:
            self._progress.pending_bytes = blocks.tail_length

    def _add(self, line: int | None, event: Event) -> None:
        derived = not self._kind.native
        if derived:
            event = replace(event, origin=Origin(self._kind.name, self._source.path, line))
        self._batch.add_event(self._progress, line, event, derived=derived)

    def _reject(self, line: int, offset: int, length: int, why: str, detail: str, text: bytes) -> None:
        self._batch.touch(self._progress)
        self._batch.add_rejected(self._progress, Rejected(line, offset, length, why, detail, text[:KEPT_BYTES]))


def _readable(name: str) -> bool:
    known = BY_NAME.get(name)
    return known is not None and known.reader is not None


def _still(checkpoint: Checkpoint) -> bool:
    """Whether a file that has not changed needs no second look: it was read, or still cannot be."""
    return checkpoint.status != "unsupported" or not _readable(checkpoint.format)


def checkpoints(connection: duckdb.DuckDBPyConnection) -> list[Checkpoint]:
    """How far each source has been read."""
    rows = connection.execute(
        "select source_id, path, format, fingerprint, fingerprint_length, mark, mark_length, read_bytes, read_lines,"
        " size, mtime_ns, generation, state, line_open, status, detail from internal.source_v1 order by source_id"
    ).fetchall()
    known: list[Checkpoint] = []
    for row in rows:
        checkpoint = Checkpoint(*row[:12])
        checkpoint.state = msgspec.json.decode(row[12] or "{}")
        checkpoint.line_open, checkpoint.status, checkpoint.detail = row[13:]
        known.append(checkpoint)
    return known
