"""Files → parts, in an executor: the product's own reading, from a checkpoint, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import replace
from typing import IO

import msgspec
import pyarrow as pa

from analyzer.errors import InputError
from analyzer.importers import HEAD_BYTES, detect, head_of
from analyzer.lake.reading.parts import rows_of
from analyzer.lake.reading.tasks import Task
from analyzer.store.db.paths import on_disk
from analyzer.store.ingest.batch import Batch, Progress
from analyzer.store.ingest.discovery import Problem
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.run import reading, unread

SHARE = 4
"""Of a batch a part holds the fourth part: as much is in memory wherever something is read."""


_decode = msgspec.msgpack.Decoder(list[Task]).decode


def read_groups(folder: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `part_group` and `tasks` → the rows of their parts; names of files are those that hold in a folder."""
    for batch in batches:
        for row in batch.to_pylist():
            tasks = _decode(row["tasks"])
            with where_held(folder, (task.path for task in tasks)):
                yield from read_group(row["part_group"], tasks)


def where_held(folder: str, paths: Iterable[str]) -> AbstractContextManager[None]:
    """Within the block these names of files, as a store keeps them, are those that hold in a folder."""
    return nullcontext() if all(os.path.isabs(on_disk(path)) for path in paths) else chdir(folder)


def read_group(group: int, tasks: list[Task], stdin: IO[bytes] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of the parts of some files, which are read in their order; or of standard input, which is open."""
    batch, part = Batch(SHARE), 0
    problems: list[Problem] = []
    failed: list[int] = []
    for task in tasks:
        progress = Progress(task.checkpoint, codec=task.checkpoint.codec, kept=replace(task.checkpoint))
        try:
            with Input(task.path, task.limit, below=task.below, handle=stdin) as source:
                _same(source, task)
                for _ in reading(source, progress, batch, problems):
                    yield from rows_of(group, part, batch.seal(), [], [])
                    part += 1
            if task.ends_early:
                _leave(task, progress, batch)
        except InputError as error:
            problems.append(unread(task.path, error))
            progress.status = "failed"
        if progress.status == "failed":
            failed.append(task.checkpoint.source_id)
        if batch.full:
            yield from rows_of(group, part, batch.seal(), [], [])
            part += 1
    yield from rows_of(group, part, batch.seal(), failed, problems)


def _leave(task: Task, progress: Progress, batch: Batch) -> None:
    """Leave a range where the next one goes on: its file was not read to its end.

    Raises:
        InputError: the file ends before the range, or what was read of it could not be kept.
    """
    if progress.status == "failed":
        return
    if progress.checkpoint.offset != task.limit:
        batch.abandon(progress)
        raise InputError(f"{task.path}: it was cut short while it was read", "run the same command again")
    progress.checkpoint.size = progress.checkpoint.mtime_ns = progress.checkpoint.ctime_ns = -1


def _same(source: Input, task: Task) -> None:
    """Go where reading stopped.

    Raises:
        InputError: another file stands under this name than the one that the checkpoint is of.
    """
    checkpoint = task.checkpoint
    if checkpoint.offset and source.codec == "sqlite":
        source.go_on((checkpoint.state or {}).get("cursor") or {}, checkpoint.offset)
    fits = (
        checkpoint.fits(source)
        if checkpoint.offset
        else detect(head_of(source.head(HEAD_BYTES))).name == checkpoint.format
    )
    if not fits or source.codec != checkpoint.codec:
        said = "another file took its place while it was looked at"
        raise InputError(f"{task.path}: {said}", "run the same command again")
