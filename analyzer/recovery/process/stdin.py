"""Our stdin for a command that may be started more than once: each start reads it from its beginning.

What has been read is kept in a file without a name, so that it costs no memory and goes with the process.

Invariant: a command reads all of stdin, or is not started.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading

from analyzer.errors import UNREADABLE, AnalyzerError
from analyzer.recovery.process.pump import CHUNK_BYTES, ready, write_all


class StdinError(AnalyzerError):
    """Stdin cannot be read from its beginning again."""

    exit_code = UNREADABLE


class Stdin:
    """Feeds what comes from `source`, now and earlier, to one command after another."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        # Who sits at a terminal speaks to the first command; a later one gets its preface and an end.
        self._ended = os.isatty(source)
        self._lost: OSError | None = None
        """Why a part of what has been read is not kept."""
        self._thread: threading.Thread | None = None
        self._stop: tuple[int, int] | None = None

    def feed(self, preface: bytes = b"") -> int:
        """A descriptor for the next command to read: the preface, all of stdin so far, then what still comes.

        Raises:
            StdinError: some of it could not be kept.
        """
        self.stop()
        if self._lost is not None:
            why = self._lost.strerror or str(self._lost)
            raise StdinError(f"stdin could not be kept for another start: {why}", "make room for temporary files")
        reading, writing = os.pipe()
        self._stop = os.pipe()
        self._thread = threading.Thread(target=self._feed, args=(writing, preface, self._stop[0]), daemon=True)
        self._thread.start()
        return reading

    def stop(self) -> None:
        """Stop feeding the command; what was read is kept for the next one."""
        if self._thread is not None and self._stop is not None:
            os.write(self._stop[1], b"x")
            self._thread.join()
            os.close(self._stop[0])
            os.close(self._stop[1])
            self._thread = self._stop = None

    def close(self) -> None:
        """Close the file that keeps what was read."""
        self.stop()
        self._kept.close()

    def _feed(self, writing: int, preface: bytes, stop: int) -> None:
        # A command need not read its stdin, nor be there any more.
        with contextlib.suppress(OSError):
            os.set_blocking(writing, False)
            if self._write(writing, preface, stop) and self._feed_kept(writing, stop):
                self._feed_live(writing, stop)
        os.close(writing)

    def _feed_kept(self, writing: int, stop: int) -> bool:
        offset = 0
        while data := os.pread(self._kept.fileno(), CHUNK_BYTES, offset):
            if not self._write(writing, data, stop):
                return False
            offset += len(data)
        return True

    def _feed_live(self, writing: int, stop: int) -> None:
        while not self._ended:
            if stop in ready(reading=(self._source, stop)):
                return
            data = os.read(self._source, CHUNK_BYTES)
            self._ended = not data
            try:
                write_all(self._kept.fileno(), data)
            except OSError as error:
                self._lost = error  # this command still gets all of it
            if not self._write(writing, data, stop):
                return

    def _write(self, writing: int, data: bytes, stop: int) -> bool:
        """Whether all of it was written before somebody said stop."""
        view = memoryview(data)
        while view:
            if stop in ready(reading=(stop,), writing=(writing,)):
                return False
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(writing, view) :]
        return True
