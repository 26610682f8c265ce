"""The journal of a lake, read back: executors decode its lines as they would those of a file, and are believed.

Invariant: what it tells of lines and quarantine is counted and dropped: the journal is no source.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from analyzer.events.times import now
from analyzer.lake.answers import stored
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.moving import RULESETS
from analyzer.lake.reading.executing import SHARE
from analyzer.lake.reading.parts import rows_of, sealed_of
from analyzer.lake.reading.staged import DDL, Staged, batches
from analyzer.lake.writing.applying import Applying
from analyzer.lake.writing.ledger import LAST, Ledger
from analyzer.store.decisions import as_decided
from analyzer.store.ingest.batch import Batch, Progress
from analyzer.store.ingest.discovery import Problem
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.run import reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Believing(Applying):
    """Applies what a journal says, whose decisions are decisions."""

    def _took(self) -> None:
        as_decided(self.connection)


def read_journal(
    spark: Callable[[], SparkSession], files: list[str], ledger: Ledger, staging: str, name: str
) -> tuple[int, list[Problem]]:
    """Give the lake of a ledger the events of a journal, which is in these files; the lines that cannot be read, and
    what else is wrong. `name` stands for the journal where a path would stand.

    Raises:
        StoreError: the lake does not take it.
    """
    lines = stored(spark(), tables()[JOURNAL], files)
    lines = lines.where(f"event_id is null or not startswith(event_id, '{RULESETS}/')").select("line")
    staged = Staged(spark(), lines.mapInArrow(partial(_read_lines, name), DDL), staging)
    problems: list[Problem] = []
    sources: dict[int, Progress] = {}
    with _Believing(spark, ledger, now()) as applying:
        for parts in batches(staged.headers()):
            for one in parts:
                problems += [Problem(*said) for said in one.header.problems]
                for change in one.header.changes:
                    sources.setdefault(change.checkpoint.source_id, Progress(change.checkpoint))
            batch = sealed_of(parts, staged.rows(parts), sources, {}, set())
            if batch.sources:
                applying.apply(batch)
    with ledger.batch():
        ledger.delete("quarantine_v1", "true")
        ledger.delete(LAST, "true")
    return sum(one.tally.quarantined for one in sources.values()), problems


def _read_lines(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines of a journal → the rows of their parts, in an executor, by way of a file of its own."""
    from pyspark import TaskContext

    context = TaskContext.get()
    group = context.partitionId() if context is not None else 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal.jsonl")
        with open(path, "wb") as handle:
            for lines in batches:
                handle.writelines(line.encode() + b"\n" for line in lines.column("line").to_pylist())
        if not os.path.getsize(path):
            return
        checkpoint = SourceCheckpoint(group + 1, name, "analyzer", generation=group)
        progress = Progress(checkpoint, kept=replace(checkpoint))
        batch, part = Batch(SHARE), 0
        problems: list[Problem] = []
        with Input(path) as source:
            for _ in reading(source, progress, batch, problems, journal=True):
                yield from rows_of(group, part, batch.seal(), [], [])
                part += 1
        told = [replace(one, path=name) for one in problems]
        yield from rows_of(group, part, batch.seal(), [], told)
