"""A thread that hands output on: from a pipe to a descriptor, in large pieces, then shows each piece to a watcher."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterable
from typing import IO

CHUNK_BYTES = 1024 * 1024
"""As much as a pipe may hold for an ordinary user of Linux."""


class Pump(threading.Thread):
    """Reads until the end of a pipe. A reader behind us that has gone closes the pipe, as it would without us."""

    def __init__(
        self, source: IO[bytes], target: int | None, watch: Callable[[bytes], None], ended: Callable[[], None]
    ) -> None:
        super().__init__(daemon=True)
        self.failure: Exception | None = None
        """What kept output from being handed on, or a watcher from watching."""
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
            # A command that goes on writing learns from SIGPIPE that nobody reads.
            self._source.close()
            self.handing_on = False
            self._ended()

    def stop(self) -> None:
        """Ends the thread where it only waits for more."""
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
                last_call -= len(data)  # what lies in the pipe is still taken; a writer without end is not waited for
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
    """Waits until one of the descriptors can be read or written, or has lost its other end; which ones."""
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
