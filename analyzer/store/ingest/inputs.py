"""Read one input as lines: plain, gzip or zstd, a document or a database, a file or standard input.

Offsets count the bytes of the lines: decompressed ones, and of a document those of its records, one
line each. A compressed input is checked to its end: what comes before damage is read, and the
damage is reported.
"""

from __future__ import annotations

import codecs
import errno
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from typing import IO, Any, Self

from analyzer.errors import InputError, system_text
from analyzer.events import Reject, sealed
from analyzer.events.codec import decode_object
from analyzer.events.times import from_epoch, now
from analyzer.importers import HEAD_BYTES, detect, head_of
from analyzer.importers.heads import looks_like_document
from analyzer.importers.shapes.documents import MOST_BYTES, unfolded
from analyzer.importers.shapes.files import FIRST_LINE, SIDES, SQLITE, UNKNOWN, in_use, rows_as_lines
from analyzer.store.db.location import kept, on_disk, open_below
from analyzer.store.ingest.discover import STDIN

BOM = b"\xef\xbb\xbf"
"""Bytes that some editors put at the start of a file; they are no part of its first line."""
CHUNK = 4 * 1024 * 1024
_GATHERED = 512 * 1024
"""Bytes that are gathered from a decompressor at a time, as a member may hold only one."""
LONGEST_HEAD = 64 * 1024 * 1024
_FED = {"gzip": 256 * 1024, "zstd": 2 * 1024, "utf-16": 256 * 1024}
"""Compressed bytes per call. zstd does not bound what comes out of them: up to 32,000 to one."""
_FED_FIRST = 2 * 1024
"""Bytes given to a new member first: the rest is read again, and some members have twenty bytes."""
MAX_RATIO = 200
"""Highest ratio of unpacked to packed bytes; logs reach some 30, and more was made to fill a disk.
"""
ANY_RATIO = 64 * 1024 * 1024
"""Decompressed bytes that are allowed at any ratio."""
_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Beginnings of what PowerShell 5 writes where a program's output is redirected into a file."""
_ZSTD = frozenset({b"\x28\xb5\x2f\xfd", *(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))})
"""Beginnings of frames, and of skippable frames, which parallel compressors put first."""


class Input:
    """An open input. Use as a context manager."""

    def __init__(self, path: str, limit: int | None = None, *, below: str | None = None) -> None:
        """Open a regular file, or standard input for `-`; of its decompressed bytes the first `limit`, or all.

        `below`: the folder that it was found in; then no link on the way from there is followed.

        Raises:
            InputError: it cannot be opened, or is not a regular file.
        """
        self.path = kept(path)
        """The path, with escapes for bytes that are not UTF-8."""
        self.damage: str | None = None
        """The damage of a compressed input, once it has been read."""
        self._handle: IO[bytes] = _spooled() if path == STDIN else _open(on_disk(path), below)
        status = os.fstat(self._handle.fileno())
        self.identity = status.st_dev, status.st_ino
        """Device and inode: they stay under another name, and pass to another file once this one is
        gone.
        """
        self.size = status.st_size
        self.mtime_ns = min(status.st_mtime_ns, 2**63 - 1)
        """Nanoseconds since 1970, as the file system says."""
        self.ctime_ns = min(status.st_ctime_ns, 2**63 - 1)
        """Nanoseconds since 1970 of the last change of name, mode or content.

        No program can set it.
        """
        self.file_time = _file_time(status.st_mtime)
        try:
            magic = self._handle.read(64)
        except OSError as error:
            self._handle.close()
            raise InputError(f"{path}: cannot be read: {system_text(error)}") from None
        if magic[:2] == _GZIP:
            self.codec = "gzip"
        elif magic[:4] in _ZSTD:
            self.codec = "zstd"
        elif magic[:2] in _UTF16:
            self.codec = "utf-16"
        else:
            self.codec = "plain"
        self._limit = limit
        self._lines: BytesIO | None = None
        """The records of a document or a database, once they are asked for."""
        self._cursor: Mapping[str, object] = {}
        self._base = FIRST_LINE
        if self.codec == "plain" and magic.startswith(SQLITE):
            self.codec = "sqlite"
            self._take_sides(on_disk(path))
        elif self.codec == "plain" and self._is_document(magic) and self._is_read():
            self.codec = "json"
        if limit is not None and self.codec == "plain":
            self.size = min(self.size, limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()

    def _is_document(self, magic: bytes) -> bool:
        """Say whether the input is one document: it begins like one, or its only line is no record."""
        if looks_like_document(magic) or magic.lstrip(BOM + b" \t")[:1] != b"{":
            return looks_like_document(magic)
        self._handle.seek(0)
        data = self._handle.read(min(_GATHERED, self.size)).rstrip()
        if b"\n" not in data and self.size > _GATHERED:
            data = (data + self._handle.read(max(LONGEST_HEAD - len(data), 0))).rstrip()
        return b"\n" not in data and isinstance(decode_object(data.removeprefix(BOM), unique_keys=False), Reject)

    def _is_read(self) -> bool:
        """Say whether a reader takes this document; any other one is read as lines."""
        self._handle.seek(0)
        # A buffer of a small file's length: as long as a head it would cost more than the file.
        return bool(detect(head_of(self._handle.read(min(HEAD_BYTES, self.size)))).made_by)

    def _flat(self) -> tuple[IO[bytes], int, int] | None:
        """Return a file that can be read at any offset, its length, and the bytes skipped in it.

        None if everything before an offset has to be unpacked.
        """
        if self.codec == "plain":
            return self._handle, self.size, 0
        if self.codec not in ("json", "sqlite"):
            return None
        if self._lines is None and self.codec == "sqlite":
            self._lines = self._rows()
        if self._lines is None:
            self._handle.seek(0)
            data = self._handle.read(self.size) if self.size <= MOST_BYTES else b""
            if self.size > MOST_BYTES:
                self.damage = f"a JSON document of more than {MOST_BYTES >> 20} MiB, which is not read"
            self._lines = BytesIO(unfolded(data))
        skipped = self._base - FIRST_LINE
        return self._lines, self._lines.getbuffer().nbytes + skipped, skipped

    def _take_sides(self, path: str) -> None:
        """Add size and time of the files beside a database: its writer may change only them."""
        for ending in SIDES:
            try:
                status = os.stat(path + ending, follow_symlinks=False)
            except OSError:
                continue
            self.size += status.st_size
            # Not its ctime, which SQLite itself moves when a privileged reader opens it.
            self.mtime_ns = max(self.mtime_ns, min(status.st_mtime_ns, 2**63 - 1))

    def go_on(self, cursor: Mapping[str, object], offset: int) -> None:
        """Start a database after the rows of this cursor, at this offset.

        Its first line stays in place.
        """
        self._cursor, self._base, self._lines = cursor, max(offset, FIRST_LINE), None

    def _rows(self) -> BytesIO:
        lines = BytesIO()
        try:
            lines.writelines(rows_as_lines(on_disk(self.path), self._cursor))
        except sqlite3.Error as error:
            if lines.tell() or in_use(error):
                hint = "try again once nobody writes to it" if in_use(error) else "it is damaged, or of another version"
                raise InputError(f"{self.path}: cannot be read: {error}", hint) from None
            lines.write(UNKNOWN)
        return lines

    def between(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, fewer if the input ends before."""
        if end <= start:
            return b""
        if flat := self._flat():
            handle, _, skipped = flat
            try:
                handle.seek(start if start < FIRST_LINE else max(start - skipped, FIRST_LINE))
                return handle.read(max((end if self._limit is None else min(end, self._limit)) - start, 0))
            except OSError as error:
                raise InputError(f"{self.path}: cannot be read: {system_text(error)}") from None
        parts: list[bytes] = []
        position = 0
        for chunk in self.chunks(0):
            if position + len(chunk) > start:
                parts.append(chunk[max(start - position, 0) : end - position])
            position += len(chunk)
            if position >= end:
                break
        return b"".join(parts)

    def length(self) -> int:
        """Return the number of decompressed bytes; a compressed input is unpacked to count them."""
        flat = self._flat()
        return flat[1] if flat else sum(map(len, self.chunks(0)))

    def pieces(self, places: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the bytes at several places; a compressed input is unpacked once for all of them."""
        if self._flat() or not places:
            return (self.between(start, end) for start, end in places)
        first, last = min(start for start, _ in places), max(end for _, end in places)
        pieces: list[bytearray] = [bytearray() for _ in places]
        position = 0
        for chunk in self.chunks(0):
            ahead = position + len(chunk)
            if ahead > first:
                for piece, (start, end) in zip(pieces, places, strict=True):
                    piece += chunk[max(start - position, 0) : max(end - position, 0)]
            position = ahead
            if position >= last:
                break
        return map(bytes, pieces)

    def head(self, length: int) -> bytes:
        """Return the first `length` bytes; more if the first line is longer, up to 64 MiB."""
        data = self.between(0, length)
        while b"\n" not in data and len(data) == length and length < LONGEST_HEAD:
            length *= 4
            data = self.between(0, length)
        return data

    def sealed(self) -> bool:
        """Say whether no living process has this log open for appending: its last line is final."""
        return self.codec == "plain" and sealed(self._handle.fileno())

    def chunks(self, offset: int) -> Iterator[bytes]:
        """Yield everything from `offset` on, as it is now, in chunks of bounded size.

        Raises:
            InputError: the file cannot be read any further.
        """
        try:
            if flat := self._flat():
                handle, length, skipped = flat
                length = length if self._limit is None else min(length, self._limit)
                while offset < length:
                    handle.seek(offset if offset < FIRST_LINE else max(offset - skipped, FIRST_LINE))
                    chunk = handle.read(min(CHUNK, length - offset))
                    if not chunk:
                        return
                    offset += len(chunk)
                    yield chunk
                return
            self._handle.seek(0)
            self.damage = None
            skip = offset
            for chunk in _gathered(self._limited()):
                if skip >= len(chunk):
                    skip -= len(chunk)
                    continue
                yield chunk[skip:]
                skip = 0
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {system_text(error)}") from None

    def _limited(self) -> Iterator[bytes]:
        left = self._limit
        for chunk in self._decompressed():
            if left is None:
                yield chunk
                continue
            if chunk[:left]:
                yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return

    def _decompressed(self) -> Iterator[bytes]:
        """Yield the members or frames, each of which must come to its own checked end."""
        new_engine = _engines(self.codec)
        engine: Any = None
        unpacked = size = 0
        while data := self._handle.read(size or _FED_FIRST):
            if engine is None:
                # Some writers fill a block up with zeros behind a member.
                data = data.lstrip(b"\0")
                if not data:
                    continue
                engine = new_engine()
            size = min(2 * (size or _FED_FIRST), _FED[self.codec])
            try:
                while True:
                    if self.codec == "gzip":
                        out = engine.decompress(data, CHUNK)
                        data = engine.unconsumed_tail
                    else:
                        out, data = engine.decompress(data), b""
                    if out:
                        unpacked += len(out)
                        yield out
                    if unpacked > max(ANY_RATIO, MAX_RATIO * self._handle.tell()):
                        self.damage = f"{self.codec} data that unpacks to more than {MAX_RATIO} times its size"
                        return
                    if not data:
                        break
            except Exception as error:  # noqa: BLE001 - zlib.error, ZstdError: both mean that the bytes are wrong
                self.damage = f"damaged {self.codec} data: {error}"
                return
            if engine.eof:
                self._handle.seek(-len(engine.unused_data), os.SEEK_CUR)
                engine, size = None, 0
        if engine is not None and self.codec != "utf-16":
            self.damage = f"truncated {self.codec} data"


def _gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join small chunks to chunks of a useful size."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= _GATHERED:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


class _Utf16:
    """Turns UTF-16 with a mark into UTF-8, with the methods of a decompressor."""

    eof = False
    unused_data = b""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def decompress(self, data: bytes) -> bytes:
        """Return the UTF-8 of the next bytes."""
        return self._decoder.decode(data).encode()


def _engines(codec: str) -> Callable[[], Any]:
    """Return a function that makes a new decompressor for each member of the file."""
    if codec == "gzip":
        return lambda: zlib.decompressobj(31)
    if codec == "utf-16":
        return _Utf16
    import zstandard

    # Its context is dear to make and is used again; only one frame at a time is read with it.
    return zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj


def _spooled() -> IO[bytes]:
    """Copy standard input to a nameless file: it may exceed memory, and is read more than once."""
    handle = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        shutil.copyfileobj(sys.stdin.buffer, handle)
        handle.seek(0)
    except OSError as error:
        with suppress(OSError):  # what it still holds does not fit either
            handle.close()
        message = f"cannot be kept while it is read: {system_text(error)}"
        raise InputError(f"{STDIN}: {message}", f"free space in {tempfile.gettempdir()}, or set TMPDIR") from None
    return handle


def _file_time(seconds: float) -> datetime:
    try:
        return from_epoch(seconds)
    except ValueError:
        return now()


# A FIFO opened without O_NONBLOCK would wait for ever for someone to write into it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)


def _open(path: str, below: str | None) -> IO[bytes]:
    try:
        descriptor = os.open(path, _FLAGS) if below is None else open_below(below, path, _FLAGS)
    except OSError as error:
        if below is not None and error.errno == errno.ELOOP:
            message = "it, or a folder above it, became a link after the folder was listed"
            raise InputError(f"{path}: {message}: not followed", "name its target instead") from None
        raise InputError(f"{path}: cannot be read: {system_text(error)}", _open_hint(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb")


def _open_hint(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "run as a user who may read it, or change its mode"
    return "check the path"
