"""Ingest logs into the store by a checkpoint per source: every line counts, and nothing twice.

A source that fails is reported and stops no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from analyzer.errors import InputError
from analyzer.events.times import EPOCH, now
from analyzer.importers import BY_NAME, HEAD_BYTES, detect, head_of
from analyzer.importers.places import LogPlace
from analyzer.store.db.engine import Connection, execute
from analyzer.store.db.frames import sql
from analyzer.store.db.location import MEMORY, files_of, kept
from analyzer.store.ingest.batch import Batch, Progress, Tally
from analyzer.store.ingest.discover import STDIN, Discovery, Problem, discover
from analyzer.store.ingest.identity import Checkpoints, SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import SourceRun
from analyzer.store.ingest.write import Reopen, Writer
from analyzer.store.journal import journal_of, open_journal
from analyzer.store.shown import Shown


@dataclass(slots=True, repr=False)
class IngestResult(Shown):
    """The figures of one ingest, and the problems it met."""

    sources: list[Progress] = field(default_factory=list)
    """One per input that was read or looked at, in the order of reading."""
    problems: list[Problem] = field(default_factory=list)
    unchanged: int = 0
    """Sources in which nothing was new."""
    seconds: float = 0.0
    pruned: int = 0
    """New events that are older than what the store keeps, and were left out."""
    unjudged: int = 0
    """Distinct facts without a verdict of the active ruleset, because its rules are gone."""

    @property
    def total(self) -> Tally:
        """Return the figures of all sources together."""
        total = Tally()
        for progress in self.sources:
            total.add(progress.tally)
        return total

    def unsupported(self) -> dict[str, int]:
        """Count the files of formats that are not read yet, by format."""
        counts: dict[str, int] = {}
        for progress in self.sources:
            if progress.status == "unsupported":
                counts[progress.checkpoint.format] = counts.get(progress.checkpoint.format, 0) + 1
        return counts

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        total = self.total
        names = ("events", "lines", "duplicates", "quarantined")
        facts = {name: f"{getattr(total, name):,}" for name in names}
        return "IngestResult", {**facts, "files": f"{len(self.sources):,}", "problems": f"{len(self.problems):,}"}

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return {
            "schema": "analyzer.ingest/1",
            "files": len(self.sources),
            "unchanged": self.unchanged,
            **self.total.to_dict(),
            "pending_bytes": sum(progress.pending_bytes for progress in self.sources),
            "unsupported": self.unsupported(),
            "pruned": self.pruned,
            "unjudged": self.unjudged,
            "problems": list(map(asdict, self.problems)),
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


def ingest(
    connection: Connection,
    paths: Iterable[str | LogPlace],
    *,
    store_path: str = MEMORY,
    limits: Mapping[str, int] | None = None,
    below: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    reopen: Reopen | None = None,
    journal_parts: bool = False,
) -> IngestResult:
    """Read everything new below `paths` into the store.

    `progress` is called with each path, its index and their number. Of paths in `limits` at most so
    many decompressed bytes are read; `below` has the folder that a path was listed in; paths in
    both are as a store keeps them. `reopen` closes a connection that an error has made useless and
    gives the next one; without it such an error is final. `journal_parts`: the paths are those of
    the store's own journal, which only a rebuild reads.

    Raises:
        StoreError: the store or its journal refused a batch; earlier batches are kept.
        AccountingError: lines or bytes do not add up, which is a bug; earlier batches are kept.
    """
    began = time.monotonic()
    folder = journal_of(store_path)
    beside = [*files_of(store_path), folder] if folder else []
    discovery: Discovery = discover(paths, own=beside, journals=journal_parts)
    result = IngestResult(problems=list(discovery.problems))
    moment = next_moment(connection)
    known_sources = Checkpoints(checkpoints(connection))
    with open_journal(store_path) as journal:
        writer = Writer(connection, journal, moment, reopen=reopen, rereads=limits is not None)
        run = _Ingest(known_sources, writer, result, journal_parts=journal_parts)
        for index, path in enumerate(discovery.files):
            if progress is not None:
                progress(path, index, len(discovery.files))
            folder = discovery.below.get(path) or (below or {}).get(kept(path))
            run.read(path, (limits or {}).get(kept(path)), folder)
        run.mark_incidents()
        run.save()
    result.seconds = time.monotonic() - began
    return result


def next_moment(connection: Connection) -> datetime:
    """Return the present time, or just after the last ingest if the clock was set back: pushes go by this order."""
    last = execute(connection, "select max(ingested_at) from internal.event_v1 where source_path is not null")
    return max(now(), (last[0][0] or EPOCH) + timedelta(microseconds=1))


DAMAGED_HINT = "what stands before the damage was kept"


class _Ingest:
    """One ingest: its batch and the checkpoints of all sources; a writer saves the batches."""

    def __init__(self, checkpoints: Checkpoints, writer: Writer, result: IngestResult, *, journal_parts: bool) -> None:
        self._checkpoints, self._result = checkpoints, result
        self._batch = Batch()
        self._replaced: dict[int, tuple[SourceCheckpoint, str]] = {}
        self._writer, self._journal_parts = writer, journal_parts

    def save(self) -> None:
        """Save the batch."""
        self._writer.commit(self._batch.seal())

    def read(self, path: str, limit: int | None, below: str | None) -> None:
        """Read one input of any kind."""
        checkpoint = self._checkpoints.unchanged_at(kept(path), below=below is not None) if limit is None else None
        if checkpoint is not None and checkpoint.path != STDIN and _still(checkpoint):
            self._replaced.pop(checkpoint.source_id, None)
            self._seen(checkpoint, checkpoint.codec, checkpoint.size, moved=False)
            return
        try:
            with Input(path, limit, below=below) as source:
                self._read(source, limit)
        except InputError as error:
            message = error.message.removeprefix(f"{path}: ")
            self._result.problems.append(Problem(path, message, error.hint))

    def mark_incidents(self) -> None:
        """Save what happened to sources that are gone.

        At the end, as files are renamed in any order.
        """
        for checkpoint, incident in [*self._replaced.values(), *self._checkpoints.vanished()]:
            checkpoint.incident = incident
            self._batch.note(checkpoint)

    def _read(self, source: Input, limit: int | None) -> None:
        checkpoint, moved = self._checkpoints.locate(source) if source.path != STDIN else (None, False)
        if checkpoint is not None:
            self._replaced.pop(checkpoint.source_id, None)
            if checkpoint.unchanged(source) and _still(checkpoint):
                self._seen(checkpoint, source.codec, source.size, moved=moved)
                return
        rewritten = checkpoint is None and source.codec in ("json", "sqlite")
        if rewritten:
            checkpoint = self._checkpoints.document(source.path)
        if checkpoint is None:
            checkpoint = self._new(source)
        elif rewritten or checkpoint.status == "unsupported" or not _readable(checkpoint.format):
            # What was looked at, not read, may turn out to be anything now that it has changed, or can be read.
            checkpoint.rewind()
            self._batch.forget(checkpoint)
        if checkpoint.offset == 0:
            checkpoint.format = detect(head_of(source.head(HEAD_BYTES))).name
        checkpoint.codec = source.codec
        if checkpoint.offset and source.codec == "sqlite":
            source.go_on((checkpoint.state or {}).get("cursor") or {}, checkpoint.offset)
        progress = Progress(checkpoint, codec=source.codec, kept=replace(checkpoint))
        self._result.sources.append(progress)
        for _ in self._reading(source, progress):
            self.save()
        if self._batch.full:
            self.save()

    def _seen(self, checkpoint: SourceCheckpoint, codec: str, size: int, *, moved: bool) -> None:
        """Count a source with nothing new; its row is saved only if the file has moved."""
        self._result.unchanged += 1
        progress = Progress(checkpoint, codec, checkpoint.status, checkpoint.detail)
        if checkpoint.status == "damaged":
            self._result.problems.append(Problem(checkpoint.path, str(checkpoint.detail), DAMAGED_HINT))
        progress.pending_bytes = max(size - checkpoint.offset, 0) if codec == "plain" else 0
        self._result.sources.append(progress)
        if moved:
            self._batch.touch(progress)

    def _new(self, source: Input) -> SourceCheckpoint:
        for former, incident in self._checkpoints.replaced(source):
            self._replaced[former.source_id] = former, incident
        generation = self._checkpoints.next_generation(source.path)
        checkpoint = SourceCheckpoint(self._checkpoints.next_id(), source.path, generation=generation)
        self._checkpoints.add(checkpoint)
        return checkpoint

    def _reading(self, source: Input, progress: Progress) -> Iterator[None]:
        """Read a source into the batch; yield whenever the batch is full and must be saved.

        If reading fails, that joins the problems, and the batch drops what it holds of the source.

        Raises:
            InputError: it cannot be read.
        """
        kind = BY_NAME[progress.checkpoint.format]
        problems = self._result.problems
        try:
            yield from SourceRun(source, progress, kind, self._batch, journal=self._journal_parts).run()
        except InputError:
            self._batch.abandon(progress)
            raise
        except Exception as error:  # noqa: BLE001 - whatever one log holds, the others are read
            self._batch.abandon(progress)
            hint = "nothing new of it was kept; it is read again next time. Please report this"
            problems.append(Problem(source.path, f"{type(error).__name__}: {error}"[:300], hint))
            return
        if source.damage:
            progress.status, progress.detail, progress.checkpoint.incident = "damaged", source.damage, "damaged"
            problems.append(Problem(source.path, source.damage, DAMAGED_HINT))


def _readable(name: str) -> bool:
    kind = BY_NAME.get(name)
    return kind is not None and bool(kind.made_by)


def _still(checkpoint: SourceCheckpoint) -> bool:
    """Say whether an unchanged file needs no second look: it was read, or still cannot be."""
    return checkpoint.status != "unsupported" or not _readable(checkpoint.format)


CHECKPOINT = (
    *("source_id", "path", "format", "fingerprint", "fingerprint_length", "mark", "mark_length", "read_bytes"),
    *("read_lines", "size", "mtime_ns", "ctime_ns", "generation", "state", "line_open", "torn_bytes", "pending_bytes"),
    *("status", "detail", "incident", "codec"),
)
"""The columns of a stored checkpoint."""


def checkpoints(connection: Connection, paths: Collection[str] | None = None) -> list[SourceCheckpoint]:
    """Return the checkpoints of all sources, or of those that were at some paths."""
    only, parameters = "", []
    if paths is not None:
        only, parameters = " where path in (select unnest(?::varchar[]))", [list(paths)]
    columns = ", ".join(CHECKPOINT)
    rows = execute(
        connection,
        sql("select {columns} from internal.source_v1{only} order by source_id", columns=columns, only=only),
        parameters,
    )
    return [checkpoint_of(row) for row in rows]


def checkpoint_of(row: Sequence[Any]) -> SourceCheckpoint:
    """Make a checkpoint of the stored values of the columns of `CHECKPOINT`."""
    checkpoint = SourceCheckpoint(*row[:13])
    checkpoint.state = msgspec.json.decode(row[13] or "{}")
    checkpoint.line_open, checkpoint.torn_bytes, checkpoint.pending_bytes = row[14:17]
    checkpoint.status, checkpoint.detail, checkpoint.incident, checkpoint.codec = row[17:]
    return checkpoint
