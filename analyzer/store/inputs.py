"""One input as bytes: plain, gzip or zstd, a file or standard input. Offsets count decompressed bytes.

A compressed input is checked to its end: what stands before the damage is read, and the damage is told.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, Any, Self

from analyzer.errors import InputError
from analyzer.store.discovery import STDIN

CHUNK = 8 * 1024 * 1024
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Input:
    """An open input. Use as a context manager."""

    def __init__(self, path: str) -> None:
        """Open a regular file, or standard input for `-`.

        Raises:
            InputError: it cannot be opened, or is not a regular file.
        """
        self.path = path
        self.damage: str | None = None
        """What is wrong with a compressed input, once it has been read."""
        self._handle: IO[bytes] = io.BytesIO(sys.stdin.buffer.read()) if path == STDIN else _open(path)
        if path == STDIN:
            self.size = len(self._handle.getvalue())  # type: ignore[attr-defined]
            self.mtime_ns = 0
            self.file_time = datetime.now(UTC).replace(tzinfo=None)
        else:
            status = os.fstat(self._handle.fileno())
            self.size = status.st_size
            self.mtime_ns = status.st_mtime_ns
            self.file_time = datetime.fromtimestamp(status.st_mtime, UTC).replace(tzinfo=None)
        magic = self._handle.read(4)
        self.codec = "gzip" if magic[:2] == _GZIP else "zstd" if magic == _ZSTD else "plain"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()

    def between(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, fewer where the input ends before."""
        if self.codec == "plain":
            self._handle.seek(start)
            return self._handle.read(max(end - start, 0))
        parts: list[bytes] = []
        position = 0
        for chunk in self.chunks(0):
            if position + len(chunk) > start:
                parts.append(chunk[max(start - position, 0) : end - position])
            position += len(chunk)
            if position >= end:
                break
        return b"".join(parts)

    def chunks(self, offset: int) -> Iterator[bytes]:
        """Everything from `offset` on, as it stands now, in chunks of bounded size.

        Raises:
            InputError: the file cannot be read any further.
        """
        try:
            if self.codec == "plain":
                while offset < self.size:
                    self._handle.seek(offset)
                    chunk = self._handle.read(min(CHUNK, self.size - offset))
                    if not chunk:
                        return
                    offset += len(chunk)
                    yield chunk
                return
            self._handle.seek(0)
            self.damage = None
            skip = offset
            for chunk in self._decompressed():
                if skip >= len(chunk):
                    skip -= len(chunk)
                    continue
                yield chunk[skip:]
                skip = 0
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from None

    def _decompressed(self) -> Iterator[bytes]:
        """Members or frames one after another; each must come to its own checked end."""
        engine: Any = None
        pending = b""
        while True:
            data = pending or self._handle.read(256 * 1024)
            pending = b""
            if not data:
                break
            if engine is None:
                engine = _engine(self.codec)
            try:
                while True:
                    if self.codec == "gzip":
                        out = engine.decompress(data, CHUNK)
                        data = engine.unconsumed_tail
                    else:
                        out, data = engine.decompress(data), b""
                    if out:
                        yield out
                    if not data:
                        break
            except Exception as error:  # noqa: BLE001 - zlib.error, ZstdError: both mean that the bytes are wrong
                self.damage = f"damaged {self.codec} data: {error}"
                return
            if engine.eof:
                pending = engine.unused_data.lstrip(b"\0")
                engine = None
        if engine is not None:
            self.damage = f"truncated {self.codec} data"


def _engine(codec: str) -> Any:
    if codec == "gzip":
        return zlib.decompressobj(31)
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()


def _open(path: str) -> IO[bytes]:
    try:
        # A FIFO opened without O_NONBLOCK would wait for ever for someone to write into it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", _open_hint(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb")


def _open_hint(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "run as a user who may read it, or change its mode"
    return "check the path"
