"""The streams of a command: its output, handed on and watched,
and our stdin for each of its starts.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from analyzer.errors import UNREADABLE, AnalyzerError, system_text

TAIL_BYTES = 64 * 1024
MAX_LINE_BYTES = 8 * 1024 * 1024
"""The longest line that is read; a longer one is no record."""
_NAMELESS_BYTES = 256
_LINE_END, _WORD_END = re.compile(rb"\n"), re.compile(rb"[\"'\s]")


class Tail:
    """The last `limit` bytes of a stream."""

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._kept = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        if len(data) >= self._limit:
            self._kept = data[-self._limit :]
        else:
            self._kept = (self._kept + data)[-self._limit :]

    def text(self) -> str:
        """Return the kept bytes as text, without a line that was cut at its beginning.

        Of an endless line, the beginning that may be a secret without its name is dropped.
        """
        kept = self._kept
        if len(kept) == self._limit:
            ends = _LINE_END.search(kept, 0, len(kept) - 1) or _WORD_END.search(kept, _NAMELESS_BYTES)
            kept = kept[ends.end() :] if ends is not None else b""
        return kept.decode("utf-8", "replace")


class Lines:
    """Whole lines out of pieces. A piece is searched in place.

    Only lines that a caller wants are copied.
    """

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, int, int]]:
        """Take a piece, and yield regions `(bytes, start, end)` of whole lines, in order.

        The rest waits for the next piece.
        """
        first = data.find(b"\n")
        if first < 0:
            self._keep(data)
            return
        start = 0
        if self._begun_bytes:
            if self._begun_bytes + first < self._limit:
                line = b"".join([*self._begun, data[: first + 1]])
                yield line, 0, len(line)
            start = first + 1
            self._begun, self._begun_bytes = [], 0
        last = data.rfind(b"\n") + 1
        if start < last:
            yield data, start, last
        if last < len(data):
            self._keep(data[last:])

    def rest(self) -> bytes:
        """Return the last line, which has no newline yet.

        Empty if it is longer than `MAX_LINE_BYTES`.
        """
        return b"".join(self._begun)

    def _keep(self, data: bytes) -> None:
        self._begun_bytes += len(data)
        if self._begun_bytes < self._limit:
            self._begun.append(data)
        else:
            self._begun = []


def line_at(region: bytes, position: int, start: int, end: int) -> bytes:
    """Return the whole line around a position in a region."""
    begins = region.rfind(b"\n", start, position) + 1
    ends = region.find(b"\n", position, end)
    return region[max(begins, start) : ends if ends >= 0 else end]


def last_lines(region: bytes, start: int, end: int, needle: bytes) -> Iterator[bytes]:
    """Yield the lines with the needle in them, last one first."""
    position = region.rfind(needle, start, end)
    while position >= 0:
        line = line_at(region, position, start, end)
        yield line
        # Skip the whole line, however often the needle is in it.
        begins = region.rfind(b"\n", start, position) + 1
        position = region.rfind(needle, start, max(begins, start))


CHUNK_BYTES = 1024 * 1024
"""The most that a pipe may hold for an ordinary user of Linux."""


class Pump(threading.Thread):
    """A thread that reads a pipe to its end.

    If the reader of our output is gone, the pipe is closed, as without us.
    """

    def __init__(
        self, source: IO[bytes], target: int | None, watch: Callable[[bytes], None], ended: Callable[[], None]
    ) -> None:
        super().__init__(daemon=True)
        self.failure: Exception | None = None
        """The error that kept output from being handed on, or a watcher from watching."""
        self.reader_gone = False
        self.handing_on = False
        self.moved_bytes = 0
        self._source, self._target, self._watch, self._ended = source, target, watch, ended
        self._stop_read, self._stop_write = os.pipe()
        _widen(source.fileno())

    def run(self) -> None:
        """Copy output until the pipe ends; this is what the thread runs."""
        try:
            self._pump()
        except BrokenPipeError:
            self.reader_gone = True
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits
            self.failure = error
        finally:
            # A command that goes on writing gets SIGPIPE, because nobody reads.
            self._source.close()
            self.handing_on = False
            self._ended()

    def stop(self) -> None:
        """End the thread once it only waits for more."""
        with contextlib.suppress(OSError):
            os.write(self._stop_write, b"x")
        self.join()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def _pump(self) -> None:
        source = self._source.fileno()
        last_call = CHUNK_BYTES
        while last_call > 0:
            readable = ready(reading=(source, self._stop_read))
            if source not in readable:
                return
            data = os.read(source, CHUNK_BYTES)
            if not data:
                return
            if self._stop_read in readable:
                last_call -= len(data)  # the rest in the pipe is still read; an endless writer is not waited for
            self.moved_bytes += len(data)
            if self._target is not None:
                self.handing_on = True
                write_all(self._target, data)
                self.handing_on = False
            self._watch(data)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, also to a descriptor that is non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            ready(writing=(descriptor,))


def ready(reading: Iterable[int] = (), writing: Iterable[int] = ()) -> set[int]:
    """Wait until descriptors can be read or written, or have lost their other end; return these."""
    poll = select.poll()  # unlike `select`, it takes descriptors of any number
    for descriptor in reading:
        poll.register(descriptor, select.POLLIN)
    for descriptor in writing:
        poll.register(descriptor, select.POLLOUT)
    return {descriptor for descriptor, _ in poll.poll()}


def _widen(pipe: int) -> None:
    """Enlarge the pipe where the system can, so that the same bytes take fewer reads."""
    with contextlib.suppress(ImportError, OSError):
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(pipe, F_SETPIPE_SZ, CHUNK_BYTES)


class StdinError(AnalyzerError):
    """Stdin cannot be read from its beginning again."""

    exit_code = UNREADABLE


class Stdin:
    """A feed of `source`, from its beginning on, to one command after another."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        # A person at a terminal talks to the first command; a later one gets its preface and an end.
        self._ended = os.isatty(source)
        self._lost: OSError | None = None
        """The error because of which a part of stdin is not kept."""
        self._thread: threading.Thread | None = None
        self._stop: tuple[int, int] | None = None

    def feed(self, preface: bytes = b"") -> int:
        """Return a descriptor for the next command: the preface, all of stdin so far, then the rest of it.

        Raises:
            StdinError: some of it could not be kept.
        """
        self.stop()
        if self._lost is not None:
            why = system_text(self._lost)
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
        # A command may not read its stdin, or may have ended.
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
        """Write data; return false if `stop` came before all of it was written."""
        view = memoryview(data)
        while view:
            if stop in ready(reading=(stop,), writing=(writing,)):
                return False
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(writing, view) :]
        return True
