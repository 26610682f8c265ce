"""What executors are asked to read: files from their checkpoints, and byte ranges of a large one, cut at line ends.

Invariant: the ranges of a file follow each other without a gap, and what is read of one is what reading the whole file
would find there: only logs whose every line stands for itself are cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from analyzer.importers import BY_NAME
from analyzer.store.ingest.discovery import STDIN
from analyzer.store.ingest.identity import FINGERPRINT_BYTES, MARK_BYTES, SourceCheckpoint
from analyzer.store.ingest.inputs import Input

GROUP_BYTES = 64 * 1024 * 1024
"""Bytes of the files that one task of an executor reads, and of a range of a larger file."""
_GROUP_FILES = 500
_LOOK = 64 * 1024
"""Bytes in which the end of a line stands, as a rule."""


class Task(msgspec.Struct, array_like=True):
    """One file to read, from a checkpoint, or a range of it."""

    path: str
    limit: int | None
    """Bytes of the file up to which it is read; None for all that is there."""
    below: str | None
    checkpoint: SourceCheckpoint
    """Of a range that goes on where another one ends: its lines are counted from the beginning of the range."""
    size: int
    """Bytes that are to be read, as the file was when it was looked at."""
    goes_on: bool = False
    """Whether it is a range that begins where another one ends."""
    ends_early: bool = False
    """Whether it is a range that another one goes on from."""

    @property
    def is_range(self) -> bool:
        """Whether it is a part of what there is to read of its file."""
        return self.goes_on or self.ends_early


def tasks_of(source: Input, checkpoint: SourceCheckpoint, limit: int | None, below: str | None) -> Iterator[Task]:
    """One task for an open input, or one for each range of a large log."""
    left = source.size - checkpoint.offset if source.codec == "plain" else source.size
    # A reader of another log knows what came before a line, and a compressed file is unpacked from its beginning.
    alone = source.path == STDIN or limit is not None or source.codec != "plain"
    whole = alone or not BY_NAME[checkpoint.format].native
    cuts = [] if whole else list(_cuts(source, checkpoint.offset))
    if not cuts:
        yield Task(source.path, limit, below, checkpoint, max(left, 0))
        return
    yield Task(source.path, cuts[0], below, checkpoint, cuts[0] - checkpoint.offset, ends_early=True)
    for begin, end in zip(cuts, [*cuts[1:], None], strict=True):
        there = replace(checkpoint, offset=begin, lines=0, line_open=False, torn_bytes=0, state={})
        first, last = source.between(0, FINGERPRINT_BYTES), source.between(max(begin - MARK_BYTES, 0), begin)
        there.stamp(source, first[:begin], last, finished=False)
        size = (source.size if end is None else end) - begin
        yield Task(source.path, end, below, there, size, goes_on=True, ends_early=end is not None)


def groups_of(tasks: list[Task]) -> Iterator[list[Task]]:
    """Tasks that one executor reads together, in their order; a range is alone."""
    group: list[Task] = []
    size = 0
    for task in tasks:
        full = size + task.size > GROUP_BYTES or len(group) >= _GROUP_FILES
        if group and (full or task.is_range or group[-1].is_range):
            yield group
            group, size = [], 0
        group.append(task)
        size += task.size
    if group:
        yield group


def _cuts(source: Input, offset: int) -> Iterator[int]:
    """Where the ranges of an input end that is read from `offset` on: behind line ends; the last one ends with it."""
    while (at := offset + GROUP_BYTES) < source.size:
        end = _line_end(source, at)
        if end is None or end >= source.size:
            return
        yield end
        offset = end


def _line_end(source: Input, at: int) -> int | None:
    """The place behind the first newline at or behind the byte before `at`; None where none comes."""
    place, length = at - 1, _LOOK
    while found := source.between(place, place + length):
        if (newline := found.find(b"\n")) >= 0:
            return place + newline + 1
        place += len(found)
        length = min(2 * length, GROUP_BYTES)
    return None
