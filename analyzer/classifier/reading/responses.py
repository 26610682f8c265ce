"""Bodies of HTTP responses that nobody has read yet, looked at without taking them from the host.

Invariant: whoever reads the response afterwards gets all of it. Nothing is fetched: the bytes that the connection has
received are looked at, up to the size of its buffer; if there are none, it is waited for `WAITED_SECONDS`, once.
"""

from __future__ import annotations

import time
import zlib
from itertools import islice
from typing import Any
from weakref import WeakSet

WAITED_SECONDS = 0.25
MAX_BODY_BYTES = 64 * 1024
_INSIDE = ("raw", "_raw_stream", "_fp", "fp", "file")
"""Attributes in which requests, botocore, urllib3 and urllib keep the object that they read from."""
_late: WeakSet[Any] = WeakSet()
"""Responses whose body did not come in time: they are not waited for again."""


def body_of(response: object) -> bytes | str | None:
    """Return the body of a response as far as it has arrived; None if it has not, or was taken already.

    `_content` is where requests and httpx keep a body that was read, `_body` where aiohttp does.
    """
    for name in ("_content", "_body"):
        content = attribute_of(response, name)
        if isinstance(content, (bytes, str)) and content:
            return content
    # aiohttp's `content` has the pieces that have arrived; that of requests is a property, which would fetch the body.
    own = attribute_of(response, "__dict__")
    buffer = attribute_of(own.get("content"), "_buffer") if type(own) is dict else None
    pieces = [piece for piece in islice(buffer or (), 64) if isinstance(piece, bytes)] if _is_many(buffer) else []
    if pieces:
        return b"".join(pieces)[:MAX_BODY_BYTES]
    source = response
    for _ in range(4):
        if source is None:
            return None
        try:
            if data := _seen(source):
                return _inflated(data)
        except Exception:  # noqa: BLE001  # a foreign object may raise anything
            return None
        source = next((inner for name in _INSIDE if (inner := attribute_of(source, name)) is not None), None)
    return None


def attribute_of(thing: object, name: str) -> Any:
    """Return an attribute of a foreign object; None if it has none, or reading it raises."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001  # a property of a foreign class may raise anything
        return None


def _is_many(buffer: object) -> bool:
    return type(buffer).__name__ == "deque" or isinstance(buffer, (list, tuple))


def _seen(source: Any) -> bytes:
    """Return what a file in memory has left, or a response of `http.client` has received; empty for anything else."""
    if type(source).__module__ in ("_io", "io") and hasattr(source, "getvalue"):
        value = source.getvalue()
        return value[source.tell() :][:MAX_BODY_BYTES] if isinstance(value, bytes) else b""
    reader, chunked = attribute_of(source, "fp"), attribute_of(source, "chunked")
    connection = attribute_of(attribute_of(reader, "raw"), "_sock")
    if type(chunked) is not bool or connection is None or (chunked and source.chunk_left is not None):
        return b""
    data = _received(source, reader, connection)
    return _unchunked(data) if chunked else data[: source.length]


def _received(response: Any, reader: Any, connection: Any) -> bytes:
    """Look at the bytes that a connection has received; a read that does not block takes none from the buffer."""
    import selectors  # only loaded if somebody has a connection anyway

    until = time.monotonic() + (0 if response in _late else WAITED_SECONDS)
    timeout = connection.gettimeout()
    while True:
        connection.settimeout(0)
        try:
            data: bytes = reader.peek(MAX_BODY_BYTES)
        except OSError:  # of TLS: a record that is not whole yet
            data = b""
        finally:
            connection.settimeout(timeout)
        left = until - time.monotonic()
        if data or left <= 0:
            break
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            if not selector.select(left):
                break
        time.sleep(0.001)  # an end of the stream can always be read
    if not data:
        _late.add(response)
    return data


def _unchunked(data: bytes) -> bytes:
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        try:
            length = int(size.partition(b";")[0], 16)
        except ValueError:
            break
        body, data = body + data[:length], data[length + 2 :]
    return body


def _inflated(data: bytes) -> bytes:
    """Decompress a body; gzip and zlib are recognised by their first bytes, other bodies stay."""
    if not data.startswith((b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda")):
        return data
    try:
        return zlib.decompressobj(47).decompress(data, MAX_BODY_BYTES)
    except zlib.error:
        return data
