"""Which source an input is, told by its content: its first bytes, and the bytes before the place where reading stopped.

Names, inodes and times change hands between files; content does not. Renames and rotation go on where they stopped, a
rewritten file starts again, and event ids keep copies from counting twice.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from analyzer.errors import InputError
from analyzer.store.db.location import on_disk
from analyzer.store.ingest.discover import STDIN
from analyzer.store.ingest.inputs import Input

FINGERPRINT_BYTES = 1024
MARK_BYTES = 1024
SHORTEST_FINGERPRINT = 64
_MOST_ENDS = 16
"""Of sources that begin alike; more of them are looked at where the input is longer than so many marks."""


@dataclass(slots=True, eq=False)
class SourceCheckpoint:
    """How far one source has been read."""

    source_id: int
    path: str
    format: str = ""
    fingerprint: str = ""
    fingerprint_length: int = 0
    mark: str = ""
    mark_length: int = 0
    offset: int = 0
    lines: int = 0
    """Lines before the offset, in this generation."""
    size: int = -1
    mtime_ns: int = -1
    ctime_ns: int = -1
    generation: int = 0
    state: dict[str, Any] | None = None
    line_open: bool = False
    """Whether the last line was taken without its newline, which may still come."""
    torn_bytes: int = 0
    """Length of that line, where it went to quarantine because whoever wrote it was gone."""
    pending_bytes: int = 0
    codec: str = "plain"
    incident: str | None = None
    """What happened to the file: `truncated`, `rewritten`, `vanished` or `damaged`."""
    status: str = "read"
    """As in the view `sources`, when it was last looked at."""
    detail: str | None = None

    def rewind(self) -> None:
        """Start again: nothing of the source counts as read."""
        self.offset, self.lines, self.state, self.line_open, self.torn_bytes = 0, 0, None, False, 0

    def advance(self, other: SourceCheckpoint) -> None:
        """Go where another reading of the same file has come to."""
        for name in _READ:
            setattr(self, name, getattr(other, name))

    def retract(self) -> int:
        """Go back before a last line that went to quarantine as torn; how many bytes that is."""
        torn, self.torn_bytes = self.torn_bytes, 0
        if torn:
            self.offset -= torn
            self.lines -= 1
        return torn

    def stamp(self, source: Input, first: bytes, last: bytes, *, finished: bool) -> None:
        """Remember the content up to the offset: its first bytes, and its last ones before the offset.

        Only a source that was read to its end may be taken for unchanged by its size and time later on.
        """
        self.fingerprint_length, self.fingerprint = len(first), digest(first)
        self.mark_length, self.mark = len(last), digest(last)
        times = source.size, source.mtime_ns, source.ctime_ns
        self.size, self.mtime_ns, self.ctime_ns = times if finished else (-1, -1, -1)

    def unchanged(self, source: Input) -> bool:
        """Whether nothing has happened to the file since it was read."""
        return (self.size, self.mtime_ns, self.ctime_ns) == (source.size, source.mtime_ns, source.ctime_ns)

    def fits(self, source: Input) -> bool:
        """Whether the input begins with exactly what was read of this source."""
        start = source.between(0, self.fingerprint_length)
        if len(start) < self.fingerprint_length or digest(start) != self.fingerprint:
            return False
        mark = source.between(self.offset - self.mark_length, self.offset)
        return len(mark) == self.mark_length and digest(mark) == self.mark


_READ = (
    *("fingerprint", "fingerprint_length", "mark", "mark_length", "size", "mtime_ns", "ctime_ns"),
    *("offset", "lines", "state", "line_open", "torn_bytes"),
)
"""What a checkpoint says of how far its source was read, not of which it is."""


class _Alike:
    """Sources that begin with the same bytes, found by their last ones."""

    def __init__(self) -> None:
        self._by_end: dict[tuple[int, int, str], list[SourceCheckpoint]] = {}
        self._ends: list[tuple[int, int]] = []
        """Offset and length of the marks, ascending; sorted when they are asked for."""
        self._sorted = True

    def add(self, checkpoint: SourceCheckpoint) -> None:
        """Add a source."""
        end = checkpoint.offset, checkpoint.mark_length
        same = self._by_end.setdefault((*end, checkpoint.mark), [])
        if not same:
            self._ends.append(end)
            self._sorted = False
        same.append(checkpoint)

    def moved_to(self, source: Input) -> SourceCheckpoint | None:
        """The source whose content this input begins with, if that content has left its own path.

        Of very many, those that were read furthest are looked at: as much of the input as reading it would be. One that
        is missed is read as a new source, and its events are duplicates.
        """
        if not self._sorted:
            self._ends = sorted(set(self._ends))
            self._sorted = True
        ends = self._ends[::-1]
        if len(ends) > _MOST_ENDS:
            length = source.length()
            upto = bisect_right(self._ends, (length, MARK_BYTES))
            ends = self._ends[max(upto - _MOST_ENDS - length // MARK_BYTES, 0) : upto][::-1]
        marks = source.pieces([(offset - length, offset) for offset, length in ends])
        for (offset, length), mark in zip(ends, marks, strict=True):
            same = self._by_end.get((offset, length, digest(mark)))
            # A copy leaves the original where it was. Who is still there is not asked for again in this run.
            while same:
                checkpoint = same.pop()
                if _gone(checkpoint):
                    return checkpoint
        return None


class Known:
    """All checkpoints, found by path or by how their content begins."""

    def __init__(self, checkpoints: Iterable[SourceCheckpoint]) -> None:
        self._last_id = 0
        self._by_path: dict[str, list[SourceCheckpoint]] = {}
        self._by_start: dict[int, dict[str, _Alike]] = {}
        for checkpoint in checkpoints:
            self.add(checkpoint)

    def add(self, checkpoint: SourceCheckpoint) -> None:
        """Add a checkpoint. It is found by its path at once, and by its content from the next run on."""
        self._last_id = max(self._last_id, checkpoint.source_id)
        self._by_path.setdefault(checkpoint.path, []).append(checkpoint)
        # A shorter beginning fits too many files to tell a moved one from a new one.
        if checkpoint.fingerprint_length >= SHORTEST_FINGERPRINT:
            alike = self._by_start.setdefault(checkpoint.fingerprint_length, {})
            alike.setdefault(checkpoint.fingerprint, _Alike()).add(checkpoint)

    def next_id(self) -> int:
        """An id that none of them has."""
        return self._last_id + 1

    def next_generation(self, path: str) -> int:
        """0 for a new path, one more than ever before for a path whose content was rewritten."""
        return max((checkpoint.generation for checkpoint in self._by_path.get(path, ())), default=-1) + 1

    def replaced(self, source: Input) -> list[tuple[SourceCheckpoint, str]]:
        """Sources that this path held until now, and what happened to them: another content stands in their place."""
        found: list[tuple[SourceCheckpoint, str]] = []
        for checkpoint in self._by_path.get(source.path, ()):
            if checkpoint.incident in {"truncated", "rewritten"} or not checkpoint.offset:
                continue
            shorter = source.codec == "plain" and source.size < checkpoint.offset
            found.append((checkpoint, "truncated" if shorter else "rewritten"))
        return found

    def unchanged_at(self, path: str, *, below: bool) -> SourceCheckpoint | None:
        """The source that this path still holds, told without opening it; None where it has to be looked at.

        `below`: it was found in a folder, and a link in its place is none.
        """
        there = self._by_path.get(path, ())
        try:
            status = os.stat(on_disk(path), follow_symlinks=not below) if there else None
        except OSError:
            return None
        if status is None:
            return None
        times = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        # A database changes in the file beside it.
        same = (item for item in there if (item.size, item.mtime_ns, item.ctime_ns) == times and item.codec != "sqlite")
        return next(same, None)

    def document(self, path: str) -> SourceCheckpoint | None:
        """The document or database that this path held, or None: its records change in place, and it is the same."""
        there = self._by_path.get(path, ())
        return next((item for item in reversed(there) if item.codec in ("json", "sqlite")), None)

    def vanished(self) -> list[tuple[SourceCheckpoint, str]]:
        """Sources that are no longer there, whose last line was never read to its end."""
        return [
            (checkpoint, "vanished")
            for checkpoints in self._by_path.values()
            for checkpoint in checkpoints
            if (checkpoint.pending_bytes or checkpoint.size < 0)
            and checkpoint.incident is None
            and checkpoint.status == "read"
            and checkpoint.path != STDIN
            and not os.path.lexists(on_disk(checkpoint.path))
        ]

    def locate(self, source: Input) -> tuple[SourceCheckpoint | None, bool]:
        """The checkpoint of this input, or None for one that has to be read from its start; and whether it has moved.

        A moved source takes the new path. A file that was rewritten under its name is another source: the former one
        keeps its row, and its content may turn up again under a rotated name.
        """
        same_path = self._by_path.get(source.path, [])
        for checkpoint in same_path:
            if checkpoint.unchanged(source) or checkpoint.fits(source):
                return checkpoint, False
        start = source.between(0, FINGERPRINT_BYTES) if self._by_start else b""
        for length in sorted(self._by_start, reverse=True):
            alike = self._by_start[length].get(digest(start[:length])) if length <= len(start) else None
            moved = alike.moved_to(source) if alike is not None else None
            if moved is not None:
                self._by_path[moved.path].remove(moved)
                moved.path = source.path
                self._by_path.setdefault(source.path, []).append(moved)
                return moved, True
        return None, False


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal digits."""
    return sha256(data).hexdigest()


def _gone(checkpoint: SourceCheckpoint) -> bool:
    """Whether the path that it was read from no longer holds it; a copy leaves the original where it was."""
    if checkpoint.path == STDIN:
        return True
    try:
        with Input(checkpoint.path) as former:
            return not checkpoint.fits(former)
    except InputError:
        return True
