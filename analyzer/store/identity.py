"""Which source an input is, told by its content: its first bytes, and the bytes before the place where reading stopped.

Names, inodes and times change hands between files; content does not. Renames and rotation go on where they stopped, a
rewritten file starts again, and event ids keep copies from counting twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from analyzer.errors import InputError
from analyzer.store.discovery import STDIN
from analyzer.store.inputs import Input

FINGERPRINT_BYTES = 1024
MARK_BYTES = 1024
SHORTEST_FINGERPRINT = 64


@dataclass(slots=True, eq=False)
class Checkpoint:
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
        """Take everything back."""
        self.offset, self.lines, self.state, self.line_open, self.torn_bytes = 0, 0, None, False, 0

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


class Known:
    """All checkpoints, found by path or by how their content begins."""

    def __init__(self, checkpoints: Iterable[Checkpoint]) -> None:
        self._last_id = 0
        self._by_path: dict[str, list[Checkpoint]] = {}
        self._by_start: dict[tuple[int, str], list[Checkpoint]] = {}
        for checkpoint in checkpoints:
            self.add(checkpoint)

    def add(self, checkpoint: Checkpoint) -> None:
        """One more; found by its path from now on, and by its content from the next run on."""
        self._last_id = max(self._last_id, checkpoint.source_id)
        self._by_path.setdefault(checkpoint.path, []).append(checkpoint)
        # A shorter beginning fits too many files to tell a moved one from a new one.
        if checkpoint.fingerprint_length >= SHORTEST_FINGERPRINT:
            key = checkpoint.fingerprint_length, checkpoint.fingerprint
            self._by_start.setdefault(key, []).append(checkpoint)

    def next_id(self) -> int:
        """An id that none of them has."""
        return self._last_id + 1

    def next_generation(self, path: str) -> int:
        """0 for a new path, one more than ever before for a path whose content was rewritten."""
        return max((checkpoint.generation for checkpoint in self._by_path.get(path, ())), default=-1) + 1

    def replaced(self, source: Input) -> list[tuple[Checkpoint, str]]:
        """Sources that this path held until now, and what happened to them: another content stands in their place."""
        found: list[tuple[Checkpoint, str]] = []
        for checkpoint in self._by_path.get(source.path, ()):
            if checkpoint.incident in {"truncated", "rewritten"} or not checkpoint.offset:
                continue
            shorter = source.codec == "plain" and source.size < checkpoint.offset
            found.append((checkpoint, "truncated" if shorter else "rewritten"))
        return found

    def vanished(self) -> list[tuple[Checkpoint, str]]:
        """Sources that are no longer there, whose last line was never read to its end."""
        return [
            (checkpoint, "vanished")
            for checkpoints in self._by_path.values()
            for checkpoint in checkpoints
            if (checkpoint.pending_bytes or checkpoint.size < 0)
            and checkpoint.incident is None
            and checkpoint.status == "read"
            and checkpoint.path != STDIN
            and not os.path.lexists(checkpoint.path)
        ]

    def locate(self, source: Input) -> tuple[Checkpoint | None, bool]:
        """The checkpoint of this input, or None for one that has to be read from its start; and whether it has moved.

        A moved source takes the new path. A file that was rewritten under its name is another source: the former one
        keeps its row, and its content may turn up again under a rotated name.
        """
        same_path = self._by_path.get(source.path, [])
        for checkpoint in same_path:
            if checkpoint.unchanged(source) or checkpoint.fits(source):
                return checkpoint, False
        start = source.between(0, FINGERPRINT_BYTES) if self._by_start else b""
        for length in sorted({length for length, _ in self._by_start}, reverse=True):
            for checkpoint in self._by_start.get((length, digest(start[:length])), ()):
                if checkpoint not in same_path and checkpoint.fits(source) and _gone(checkpoint):
                    self._by_path[checkpoint.path].remove(checkpoint)
                    checkpoint.path = source.path
                    self._by_path.setdefault(source.path, []).append(checkpoint)
                    return checkpoint, True
        return None, False


def digest(data: bytes) -> str:
    """SHA-256, hex."""
    return sha256(data).hexdigest()


def _gone(checkpoint: Checkpoint) -> bool:
    """Whether the path that it was read from no longer holds it; a copy leaves the original where it was."""
    if checkpoint.path == STDIN:
        return True
    try:
        with Input(checkpoint.path) as former:
            return not checkpoint.fits(former)
    except InputError:
        return True
