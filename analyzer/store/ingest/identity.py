"""Recognise sources by their content: their first bytes, and those where reading stopped.

Names, inodes and times change hands between files; content does not. Renamed and rotated files are
read on from where reading stopped, a rewritten file is read from its start, and event ids keep
copies from counting twice.
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
"""Ends of sources with one beginning that are looked at.

More if the input is longer than so many marks.
"""


@dataclass(slots=True, eq=False)
class SourceCheckpoint:
    """The position up to which one source has been read."""

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
    """Whether the last line was read without its newline, which may still come."""
    torn_bytes: int = 0
    """Length of the last line if it went to quarantine because its writer was gone."""
    pending_bytes: int = 0
    codec: str = "plain"
    incident: str | None = None
    """What happened to the file: `truncated`, `rewritten`, `vanished` or `damaged`."""
    status: str = "read"
    """As in the view `sources`, when it was last looked at."""
    detail: str | None = None

    def rewind(self) -> None:
        """Forget what was read of the source, so that it is read from its start."""
        self.offset, self.lines, self.state, self.line_open, self.torn_bytes = 0, 0, None, False, 0

    def advance(self, other: SourceCheckpoint) -> None:
        """Move to the position of another reading of the same file."""
        for name in _READ:
            setattr(self, name, getattr(other, name))

    def retract(self) -> int:
        """Go back before a last line that went to quarantine as torn; return its length in bytes."""
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
        """Say whether the file is as it was when it was read, by size and times."""
        return (self.size, self.mtime_ns, self.ctime_ns) == (source.size, source.mtime_ns, source.ctime_ns)

    def is_there(self) -> bool:
        """Say whether the source's own path still holds it; a copy leaves the original where it was."""
        if self.path == STDIN:
            return False
        try:
            with Input(self.path) as source:
                return self.fits(source)
        except InputError:
            return False

    def fits(self, source: Input) -> bool:
        """Say whether the input begins with exactly what was read of this source."""
        start = source.between(0, self.fingerprint_length)
        if len(start) < self.fingerprint_length or digest(start) != self.fingerprint:
            return False
        mark = source.between(self.offset - self.mark_length, self.offset)
        return len(mark) == self.mark_length and digest(mark) == self.mark


_READ = (
    *("fingerprint", "fingerprint_length", "mark", "mark_length", "size", "mtime_ns", "ctime_ns"),
    *("offset", "lines", "state", "line_open", "torn_bytes"),
)
"""The fields of a checkpoint that depend on its position, not on its source."""


class _SameBeginning:
    """The sources that begin with the same bytes, by their last ones."""

    def __init__(self) -> None:
        self._by_end: dict[tuple[int, int, str], list[SourceCheckpoint]] = {}
        self._ends: list[tuple[int, int]] = []
        """Offset and length of the marks, ascending once sorted."""
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
        """Return the source whose content this input begins with, if it has left its own path.

        Of very many sources, those that were read furthest are looked at: as much of the input as
        reading it would be. A source that is missed is read as a new one, and its events are
        duplicates.
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
            # A copy leaves the original in place. A source that is still there is not checked again in this run.
            while same:
                checkpoint = same.pop()
                if not checkpoint.is_there():
                    return checkpoint
        return None


class Checkpoints:
    """All checkpoints, by path and by the beginning of their content."""

    def __init__(self, checkpoints: Iterable[SourceCheckpoint]) -> None:
        self._last_id = 0
        self._by_path: dict[str, list[SourceCheckpoint]] = {}
        self._by_start: dict[int, dict[str, _SameBeginning]] = {}
        for checkpoint in checkpoints:
            self.add(checkpoint)

    def add(self, checkpoint: SourceCheckpoint) -> None:
        """Add a checkpoint. It is found by its path at once, and by its content from the next run on."""
        self._last_id = max(self._last_id, checkpoint.source_id)
        self._by_path.setdefault(checkpoint.path, []).append(checkpoint)
        # A shorter beginning fits too many files to tell a moved one from a new one.
        if checkpoint.fingerprint_length >= SHORTEST_FINGERPRINT:
            alike = self._by_start.setdefault(checkpoint.fingerprint_length, {})
            alike.setdefault(checkpoint.fingerprint, _SameBeginning()).add(checkpoint)

    def next_id(self) -> int:
        """Return an id that no source has."""
        return self._last_id + 1

    def next_generation(self, path: str) -> int:
        """Return 0 for a new path, else one more than the highest generation of the path."""
        return max((checkpoint.generation for checkpoint in self._by_path.get(path, ())), default=-1) + 1

    def replaced(self, source: Input) -> list[tuple[SourceCheckpoint, str]]:
        """Return the sources that this path held until now, each with what happened to it.

        Another content has replaced theirs.
        """
        incidents: list[tuple[SourceCheckpoint, str]] = []
        for checkpoint in self._by_path.get(source.path, ()):
            if checkpoint.incident in {"truncated", "rewritten"} or not checkpoint.offset:
                continue
            shorter = source.codec == "plain" and source.size < checkpoint.offset
            incidents.append((checkpoint, "truncated" if shorter else "rewritten"))
        return incidents

    def unchanged_at(self, path: str, *, below: bool) -> SourceCheckpoint | None:
        """Return the source that this path still holds, without opening it.

        None if it must be looked at.

        `below`: it is in a folder, and a link in its place is not followed.
        """
        if not (candidates := self._by_path.get(path)):
            return None
        try:
            status = os.stat(on_disk(path), follow_symlinks=not below)
        except OSError:
            return None
        times = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        # A database changes in the file beside it.
        same = (
            item for item in candidates if (item.size, item.mtime_ns, item.ctime_ns) == times and item.codec != "sqlite"
        )
        return next(same, None)

    def document(self, path: str) -> SourceCheckpoint | None:
        """Return the document or database that this path held, or None.

        Its records change in place, and it stays the same source.
        """
        candidates = self._by_path.get(path, ())
        return next((item for item in reversed(candidates) if item.codec in ("json", "sqlite")), None)

    def vanished(self) -> list[tuple[SourceCheckpoint, str]]:
        """Return the missing sources whose last line was never read to its end."""
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
        """Return the checkpoint of this input, and whether it has moved.

        None if it is read from its start.

        A moved source takes the new path. A file that was rewritten under its name is another
        source: the former one keeps its row, and its content may turn up again under a rotated
        name.
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
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return sha256(data).hexdigest()
