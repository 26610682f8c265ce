"""Logs → a lake: looked at by the driver, read by executors from their checkpoints, applied batch by batch.

Whatever dies on the way, the next ingest goes on from the sources' checkpoints: what was read and not committed is read
again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

import msgspec
import pyarrow as pa

from analyzer.events.times import now
from analyzer.importers.machine.places import LogPlace
from analyzer.lake.reading.executing import read_group, read_groups
from analyzer.lake.reading.parts import SCHEMA, PartHeader, Read, header_of, sealed_of
from analyzer.lake.reading.staged import DDL, Staged, batches
from analyzer.lake.reading.tasks import Task, groups_of, tasks_of
from analyzer.lake.writing.applying import Applying
from analyzer.lake.writing.ledger import Ledger
from analyzer.store.db.paths import kept
from analyzer.store.ingest.batch import Progress
from analyzer.store.ingest.discovery import STDIN, Found, Problem, discover
from analyzer.store.ingest.identity import Known
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.run import IngestResult, IngestRun, checkpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ingest(
    spark: Callable[[], SparkSession],
    ledger: Ledger,
    paths: Iterable[str | LogPlace],
    *,
    staging: str,
    own: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    below: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> IngestResult:
    """Read everything new below `paths`, but for what lies below `own`: the lake itself. `limits` and `below` are those
    of an ingest into a file.

    `spark` is asked for its session where there is something. What executors have read waits below `staging`, which
    they and the driver reach.

    Raises:
        StoreBusyError: another process has taken over.
        StoreError: the lake refused a batch; earlier batches are kept.
        AccountingError: lines or bytes do not add up, which is a bug; earlier batches are kept.
    """
    began = time.monotonic()
    found: Found = discover(paths, own=own)
    result = IngestResult(problems=list(found.problems))
    with Applying(spark, ledger, now()) as applying:
        run = _Planned(Known(checkpoints(applying.connection)), result)
        for place, path in enumerate(found.files):
            if progress is not None:
                progress(path, place, len(found.files))
            name = kept(path)
            run.read(path, (limits or {}).get(name), found.below.get(path) or (below or {}).get(name))
        parts = _Parts(spark, staging, run, applying)
        parts.read()
        run.finish(applying, parts.forgotten)
        result.pruned = applying.pruned
    result.seconds = time.monotonic() - began
    return result


class _Planned(IngestRun):
    """An ingest that notes down what executors are to read."""

    def __init__(self, known: Known, result: IngestResult) -> None:
        super().__init__(known, result)
        self.tasks: list[Task] = []
        self.sources: dict[int, Progress] = {}
        self.stdin: IO[bytes] | None = None
        """Standard input, once it was looked at."""

    def take(self, source: Input, progress: Progress, limit: int | None, below: str | None) -> None:
        """As `IngestRun` says."""
        self.sources[progress.checkpoint.source_id] = progress
        if source.path == STDIN:
            self.stdin = source.another()
        self.tasks += tasks_of(source, progress.checkpoint, limit, below)

    def forgotten(self) -> set[int]:
        """The sources whose rows the batch that reads them again has to delete first."""
        return set(self._batch.take_forgotten())

    def failed(self, header: PartHeader) -> None:
        """Note what could not be read."""
        self._result.problems += [Problem(*one) for one in header.problems]
        for source_id in header.failed:
            self.sources[source_id].status = "failed"

    def finish(self, applying: Applying, forgotten: set[int]) -> None:
        """Save what has become of sources in which nothing was read; rows of `forgotten` ones go."""
        self.mark_incidents()
        for source_id in sorted(forgotten):
            self._batch.forget(self.sources[source_id].checkpoint)
        if sealed := self._batch.seal():
            applying.apply(sealed)


class _Parts:
    """What executors have read of the files of a run, on its way into the lake."""

    def __init__(self, spark: Callable[[], SparkSession], staging: str, run: _Planned, applying: Applying) -> None:
        self._spark, self._staging, self._run, self._applying = spark, staging, run, applying
        self.forgotten = run.forgotten()
        """The sources whose rows are still to be deleted."""
        self._before: dict[int, int] = {}
        """By group that is a range: the lines of its file before it."""

    def read(self) -> None:
        """Read all files, and apply what they hold in their order."""
        for here, tasks in _stretches(self._run.tasks):
            if here:
                self._read_here(tasks)
            else:
                self._read_there(tasks)

    def _read_here(self, tasks: list[Task]) -> None:
        """Standard input is the driver's alone."""
        rows: list[pa.RecordBatch] = []
        for batch in read_group(0, tasks, self._run.stdin):
            data = batch.column("header")[0].as_py() if batch.num_rows else None
            if data is None:
                rows.append(batch)
                continue
            self._apply([Read(0, 0, header_of(data))], pa.Table.from_batches(rows, SCHEMA) if rows else None)
            rows = []

    def _read_there(self, tasks: list[Task]) -> None:
        groups = list(groups_of(tasks))
        asked = pa.table(
            {"part_group": range(len(groups)), "tasks": [msgspec.msgpack.encode(group) for group in groups]},
            pa.schema([("part_group", pa.int64()), ("tasks", pa.binary())]),
        )
        # By range, as what goes round robin puts several groups into one task and none into others.
        frame = self._spark().createDataFrame(asked).repartitionByRange(len(groups), "part_group")
        staged = Staged(self._spark(), frame.mapInArrow(partial(read_groups, os.getcwd()), DDL), self._staging)
        self._before.clear()
        for parts in batches(_whole(staged.headers(), groups)):
            self._apply(parts, staged.rows(parts))

    def _apply(self, parts: list[Read], rows: pa.Table | None) -> None:
        for one in parts:
            self._run.failed(one.header)
        batch = sealed_of(parts, rows, self._run.sources, self._before, self.forgotten)
        if batch.sources:
            self._applying.apply(batch)


def _whole(parts: Iterable[Read], groups: list[list[Task]]) -> Iterator[Read]:
    """The parts of groups, without those of a file that was not read to its end before them: it is read again there."""
    broken: set[str] = set()
    for one in parts:
        first = groups[one.group][0]
        if first.goes_on and first.path in broken:
            continue
        one.goes_on = first.goes_on
        if first.is_range and one.header.failed:
            broken.add(first.path)
        yield one


def _stretches(tasks: list[Task]) -> Iterator[tuple[bool, list[Task]]]:
    """Tasks of one kind that follow each other; and whether they are standard input's."""
    start = 0
    for end in range(1, len(tasks) + 1):
        if end == len(tasks) or (tasks[end].path == STDIN) is not (tasks[start].path == STDIN):
            yield tasks[start].path == STDIN, tasks[start:end]
            start = end
