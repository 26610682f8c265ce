"""Bytes onto the log: one `write` a line on an O_APPEND descriptor, so that threads and processes never interleave.

Everything that durability needs has its place here and nowhere else. Files are named by UTC day and part, and are
never renamed, truncated or deleted.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from analyzer.events.times import now

DEFAULT_MAX_BYTES = 128 * 1024 * 1024
"""Size at which a new part is begun. A reader can finish a part that no one writes to any more."""
MAX_LINE_BYTES = 1024 * 1024
TORN_AFTER_SECONDS = 0.02
"""A tail without its newline that has not grown for so long is torn; a write in progress takes microseconds."""
_PART = re.compile(r"^events-(\d{4}-\d{2}-\d{2})(?:\.(\d{3,}))?\.jsonl$")


class Appender:
    """Appends whole lines to the newest part of a log folder. Not a place for policy: it raises `OSError`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        today: Callable[[], date] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.max_bytes = max_bytes
        self._today = today or (lambda: now().date())
        self._descriptor = -1
        self._day: date | None = None
        self._part = 0

    def write(self, line: bytes) -> None:
        """Append one line, newline included.

        Raises:
            OSError: it is not on the log; a torn beginning of it may be.
        """
        size = self._ready(len(line))
        if size and not self._ends_whole(size):
            # Someone died in the middle of a line: begin a new one, or this line would be glued to the torn one.
            line = b"\n" + line
        written = os.write(self._descriptor, line)
        if written != len(line):
            raise OSError(28, f"only {written} of {len(line)} bytes were written")

    def sync(self) -> None:
        """Wait until everything written so far is on the disk.

        Raises:
            OSError: it may not be.
        """
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def close(self) -> None:
        """Let go of the file; the next write opens it again."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _ready(self, incoming: int) -> int:
        """Open the part that takes `incoming` more bytes; its present size."""
        today = self._today()
        if self._descriptor < 0 or today != self._day:
            self.sync()
            self.close()
            self._day, self._part = today, self._newest_part(today)
            self._open()
        found = os.fstat(self._descriptor)
        if not found.st_nlink:
            # Someone has deleted the file: what is written to it now, no one will ever read.
            self.close()
            self._open()
            found = os.fstat(self._descriptor)
        size = found.st_size
        while size and size + incoming > self.max_bytes:
            self.sync()
            self.close()
            self._part += 1
            self._open()
            size = os.fstat(self._descriptor).st_size
        return size

    def _ends_whole(self, size: int) -> bool:
        """Whether the file ends in a newline; a line that someone is writing at this moment is given time to end."""
        deadline = 0.0
        while os.pread(self._descriptor, 1, size - 1) != b"\n":
            grown = os.fstat(self._descriptor).st_size
            if grown != size or not deadline:
                size, deadline = grown, time.monotonic() + TORN_AFTER_SECONDS
            elif time.monotonic() > deadline:
                return False
            time.sleep(0)
        return True

    def _newest_part(self, day: date) -> int:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return 0
        found = (_PART.match(name) for name in names)
        return max((int(match[2] or 0) for match in found if match and match[1] == day.isoformat()), default=0)

    def _open(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        suffix = f".{self._part:03d}" if self._part else ""
        path = self.folder / f"events-{self._day}{suffix}.jsonl"
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        # Without O_NONBLOCK a FIFO planted under this name would hang the host program.
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(22, "not a regular file", str(path))
        self._descriptor = descriptor
