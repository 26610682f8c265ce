"""Lines onto the log, as durable as it was asked for, or an error: retries, parts and syncs.

Files are named by UTC day and part, and are never renamed, truncated or deleted. No locks between writers, and none
between threads but for a sync, so that a stopped process, a fork or a signal handler can block no one.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections import deque
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal, TypeVar

from analyzer.events.appending import DEFAULT_MAX_BYTES, places, system
from analyzer.events.appending.part import LogPart

Durability = Literal["process", "batch", "event"]
_T = TypeVar("_T")

MAX_LINE_BYTES = 1024 * 1024
BATCH_SECONDS = 1.0
BATCH_BYTES = 4 * 1024 * 1024
"""What the level `batch` leaves unsynced at most, counted at an append; as much is kept in memory."""
NEWEST = -1
_ATTEMPTS = 3
_DAY = 86_400_000_000_000
_EPOCH_DAY = date(1970, 1, 1)
_SAME_PART = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
_SAME_NAME = frozenset({errno.ENOENT, errno.EBADF, errno.ESTALE})


class Appender:
    """Appends whole lines to the newest part of a log folder. Not a place for policy: it raises `OSError`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        durability: Durability = "process",
    ) -> None:
        self.folder = places.absolute(folder)
        self.own = system.own_mark()
        """Zero once this process is a fork of the one that made the appender: then it writes nothing (`Forked`)."""
        self.max_bytes = max_bytes
        self.durability = durability
        self._part: LogPart | None = None
        self._tag: str | None = None
        self._tried = 0
        """Number of the part that was last opened, or tried."""
        # Of the level `batch`: lines out of a part whose sync failed, until they are in another one.
        self._homeless: deque[bytes] = deque()
        self._synced_at = -math.inf
        self._unsynced_bytes = 0

    def write(self, line: bytes, nanoseconds: int) -> None:
        """Append one line, which includes its newline. The moment names the day of the part.

        Raises:
            OSError: it is not on the log as durably as was asked for; all of it or a torn beginning may be.
            Forked: this process is a fork, and the line would be its parent's. It is not on the log.
        """
        try:
            part = self._write_once(line, nanoseconds, NEWEST)
        except OSError as failure:
            part = self._attempt(self._write_once, line, nanoseconds, failure)
        if self.durability == "batch":
            self._sync_when_due(part, line, nanoseconds)

    def sync(self, nanoseconds: int) -> None:
        """Everything appended so far to the disk; what a failed sync left unsure goes to a new part, as it was.

        Raises:
            OSError: it may not be there. It is tried again at the next call.
        """
        try:
            self._sync_once(b"", nanoseconds, NEWEST)
        except OSError as failure:
            self._attempt(self._sync_once, b"", nanoseconds, failure)
        self._synced_at, self._unsynced_bytes = system.monotonic(), 0

    def close(self) -> None:
        """Let go of the file; the next write opens it again.

        Raises:
            OSError: the last lines may not be on the disk; at the level `process` never.
        """
        try:
            if self.durability != "process":
                self.sync(system.time_ns())
        finally:
            # Others may be in the middle of a line: the descriptor is closed when the last of them lets go of the part.
            self._part = None

    def abandon(self) -> None:
        """In a forked child: close its duplicate of the descriptor. The lease stays the parent's."""
        if self._part is not None:
            self._part.close()

    def _attempt(self, act: Callable[[bytes, int, int], _T], line: bytes, nanoseconds: int, failure: OSError) -> _T:
        """Call `act`, which has failed with the current part, once more, with another part where that is needed."""
        number, left = self._move_on(failure), _ATTEMPTS - 1
        while True:
            try:
                return act(line, nanoseconds, number)
            except OSError as error:
                number, left = self._move_on(error), left - 1
                if not left:
                    raise

    def _write_once(self, line: bytes, nanoseconds: int, number: int) -> LogPart:
        part = self._place(line, nanoseconds, number)
        if self.durability == "event":
            part.sync()
        return part

    def _sync_once(self, _line: bytes, nanoseconds: int, number: int) -> None:
        while self._homeless:
            try:
                line = self._homeless.popleft()
            except IndexError:  # another thread was faster
                break
            try:
                self._keep(self._place(line, nanoseconds, number), line)
            except BaseException:
                self._homeless.appendleft(line)
                raise
        if self._part is not None:
            self._part.sync()

    def _place(self, line: bytes, nanoseconds: int, number: int) -> LogPart:
        """Write the line to a part that has room for it."""
        day = nanoseconds // _DAY
        part = self._part
        if part is not None and part.day == day and not part.failed:
            number = part.number
            try:
                found = system.stat(part.path)
            except FileNotFoundError:
                pass
            else:
                if found.st_ino == part.inode and found.st_dev == part.device:
                    size = found.st_size
                    if not size or size + len(line) <= self.max_bytes:  # nearly always
                        part.append(line, size)
                        return part
                    number += 1
            # Else someone has renamed, replaced or deleted the file: what is written to it now may never be read.
        part, size = self._open(day, number)
        while size and size + len(line) > self.max_bytes:
            part, size = self._open(day, part.number + 1)
        part.append(line, size)
        return part

    def _open(self, day: int, number: int) -> tuple[LogPart, int]:
        """Open a part as the current one; returns it and its size in bytes."""
        synced = self.durability != "process"
        if not os.path.isabs(self.folder):
            # Wherever the program stands by now, it is not the place that was meant.
            why = "there was no working directory to find this folder from; give an absolute path"
            raise FileNotFoundError(errno.ENOENT, why, self.folder)
        places.make_folder(self.folder, synced=synced)
        if self._tag is None:
            # Elsewhere two writers in one file could overwrite each other: there each has files of its own.
            self._tag = "" if places.is_local(self.folder) else f".w{system.urandom(4).hex()}"
        name = str(_EPOCH_DAY + timedelta(days=day))
        self._tried = number = self._newest(name) if number == NEWEST else number
        ending = f".{number:03d}" if number else ""
        part = LogPart(f"{self.folder}/events-{name}{self._tag}{ending}.jsonl", day, number, self.own)
        if synced:
            system.sync_folder(self.folder)
        size = system.fstat(part.descriptor).st_size
        old, self._part = self._part, part
        if old is not None:
            self._leave(old)
        return part, size

    def _newest(self, day: str) -> int:
        found = (places.PART.match(name) for name in system.listdir(self.folder))
        own = (self._tag or "")[2:] or None
        return max((int(m[3] or 0) for m in found if m and m[1] == day and m[2] == own), default=0)

    def _move_on(self, error: OSError) -> int:
        """Decide after a failure whether the part stays; else leave it. Returns the number to open."""
        part = self._part
        if part is not None and not part.failed and error.errno in _SAME_PART:
            return part.number
        self._part = None
        if part is not None:
            self._leave(part)
        if error.errno in _SAME_PART | _SAME_NAME and not (part and part.failed):
            return self._tried
        return self._tried + 1

    def _leave(self, part: LogPart) -> None:
        """Sync the lines of a part that is left; lines that may not have reached the disk go to the next part."""
        if part.unsynced:
            with contextlib.suppress(OSError):
                part.sync()
            left, part.unsynced = part.unsynced, []
            self._homeless.extend(left)

    def _keep(self, part: LogPart, line: bytes) -> None:
        part.unsynced.append(line)
        self._unsynced_bytes += len(line)
        if part is not self._part:  # another thread has left it since the line was written
            self._leave(part)

    def _sync_when_due(self, part: LogPart, line: bytes, nanoseconds: int) -> None:
        self._keep(part, line)
        due = system.monotonic() - self._synced_at >= BATCH_SECONDS or self._unsynced_bytes >= BATCH_BYTES
        if due or self._homeless:
            try:
                self.sync(nanoseconds)
            except OSError:
                # It is told as lost, so it is not to be held on to; the ones before it were acknowledged.
                with contextlib.suppress(ValueError):
                    self._homeless.remove(line)
                raise
