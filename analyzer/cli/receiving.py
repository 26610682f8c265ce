"""Take OpenTelemetry over HTTP, and write each request as a line of JSON that `ingest` reads.

Invariant: a request that is answered with 200 is on the disk, and `ingest` reads it. One thread
writes the lines of all connections, and waits for the disk once for all lines that came meanwhile.
A write that fails is taken back, and its senders get an error.
"""

from __future__ import annotations

import errno
import hmac
import json
import math
import os
import queue
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any

from analyzer.events import Reject
from analyzer.events.appending.system import sync_data, sync_folder
from analyzer.events.codec import decode_object
from analyzer.redaction import may_hold_secret, redact_value

MOST_BODY = 8 << 20
"""Most bytes of a body as it is sent."""
MOST_UNPACKED = 16 << 20
"""Most bytes of an unpacked body, and of its line."""
MOST_WAITING = 64 << 20
"""Most bytes of lines that wait for the disk; beyond that senders are told to come again."""
MOST_CONNECTIONS = 64
"""Most connections; beyond that a new one replaces the one that kept the server waiting longest."""
_AT_ONCE = threading.BoundedSemaphore(2)
"""Limits the bodies that are parsed at once, which takes a multiple of their size in memory."""
REQUEST_SECONDS = 30.0
"""Seconds to send the head of a request, and again for its body; then the connection is closed."""
FILE_BYTES = 128 << 20
_SIGNALS = {"/v1/logs": "resourceLogs", "/v1/traces": "resourceSpans", "/v1/metrics": "resourceMetrics"}
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_COME_AGAIN = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_HOLDERS = frozenset(f"{level}{kind}" for level in ("resource", "scope") for kind in ("Logs", "Spans", "Metrics")) | {
    "logRecords",
    "spans",
    "metrics",
}
_MISNAMED = frozenset(re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name) for name in _HOLDERS) - _HOLDERS
"""The names of `_HOLDERS` in the case of protobuf, which no reader looks for."""
_IDS = ("traceId", "spanId", "parentSpanId")
_WITHOUT_IDS = ("attributes", "body", "resource", "scope")


class RefusedError(Exception):
    """A refused request: the status of the answer, why, and the seconds until a new try."""

    def __init__(self, status: int, why: str, after: int | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.after = status, why, after


class Spool:
    """The files of a folder for the lines: one for every process and day, or more if they fill up."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.abspath(folder)
        self._lines: queue.SimpleQueue[tuple[bytes, Future[Exception | None]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._file = self._size = -1
        self._day = self._path = ""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._writer = threading.Thread(target=self._write_all, name="spool", daemon=True)
        self._writer.start()

    def write(self, data: bytes) -> None:
        """Write a line, and return once it is on the disk.

        Raises:
            RefusedError: too many bytes wait already, or the disk refuses the line.
        """
        written: Future[Exception | None] = Future()
        with self._lock:
            if self._waiting + len(data) > MOST_WAITING:
                raise RefusedError(429, "too much waits for the disk", 1)
            self._waiting += len(data)
        self._lines.put((data, written))
        if (error := written.result()) is not None:
            raise RefusedError(503, f"it cannot be written: {type(error).__name__}", 30)

    def close(self) -> None:
        """Write the waiting lines, and close the file."""
        self._lines.put(None)
        self._writer.join()
        if self._file >= 0:
            os.close(self._file)

    def _write_all(self) -> None:
        ends = False
        while not ends:
            batch = [self._lines.get()]
            while not self._lines.empty():
                batch.append(self._lines.get())
            ends = None in batch
            lines = [line for line in batch if line is not None]
            data = b"".join(data for data, _ in lines)
            error = self._append(data) if lines else None
            with self._lock:
                self._waiting -= len(data)
            for _, written in lines:
                written.set_result(error)

    def _append(self, data: bytes) -> Exception | None:
        """Write lines and wait for the disk.

        If that fails, remove them all and return the error.
        """
        try:
            self._open()
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
            sync_data(self._file)
            if not self._is_in_place():
                raise FileNotFoundError(errno.ENOENT, "the file was moved or deleted meanwhile", self._path)
        except Exception as error:  # noqa: BLE001 - senders wait for this thread, whatever happens to it
            self._truncate()
            return error
        self._size += len(data)
        return None

    def _open(self) -> None:
        today = time.strftime("%Y-%m-%d", time.gmtime())
        if self._file >= 0:
            if self._day == today and self._size < FILE_BYTES and self._is_in_place():
                return
            os.close(self._file)
            self._file = -1
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._path = os.path.join(self._folder, f"otlp-{today}.{os.getpid()}-{time.time_ns():x}.jsonl")
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._day, self._size = today, 0
        sync_folder(self._folder)

    def _is_in_place(self) -> bool:
        """Tell whether the open file still has its name.

        Readers find it only there, and follow no link.
        """
        with suppress(OSError):
            return os.path.samestat(os.lstat(self._path), os.fstat(self._file))
        return False

    def _truncate(self) -> None:
        """Cut off an incomplete line and close the file; the next line goes to a new file."""
        if self._file < 0:
            return
        with suppress(OSError):  # readers put a torn line into quarantine
            os.ftruncate(self._file, self._size)
        os.close(self._file)
        self._file = -1


def line_of(path: str, kind: str, body: bytes) -> bytes:
    """Return the line of a body: OTLP in JSON, without secrets; empty if the body holds no record.

    Raises:
        RefusedError: the body is no request of this path.
    """
    expected = _SIGNALS[path]
    if kind == _PROTOBUF:
        request = _from_protobuf(path, body)
    elif kind == _JSON:
        request = _decoded(body)
    else:
        raise RefusedError(415, f"a body is {_JSON} or {_PROTOBUF}")
    if not isinstance(request.get(expected, []), list) or set(request) - {expected}:
        raise RefusedError(400, f"a request of {path} is an object with {expected}")
    if not request.get(expected):
        return b""
    line = json.dumps(_clean(request), separators=(",", ":")).encode()
    if len(line) >= MOST_UNPACKED:
        raise RefusedError(413, "the body is too large")
    _decoded(line, unique_keys=False)
    return line + b"\n"


def _decoded(line: bytes, *, unique_keys: bool = True) -> dict[str, Any]:
    """Decode a line as `ingest` does, and refuse one that `ingest` would put into quarantine."""
    request = decode_object(line, unique_keys=unique_keys)
    if isinstance(request, Reject):
        status = 413 if request.why == "too_many_items" else 400
        raise RefusedError(status, f"the body cannot be read: {request.detail}")
    return request


def _clean(value: Any) -> Any:
    """Take secrets out of each record by itself: redaction drops values beyond a number of them.

    Raises:
        RefusedError: records are where `ingest` does not look for them.
    """
    for key in value if isinstance(value, dict) else ():
        if key in _MISNAMED or (key in _HOLDERS and not isinstance(value[key] or [], list)):
            raise RefusedError(400, f"{key} is no list of OTLP in JSON: nothing in it would be read")
    if not isinstance(value, dict) or not any(key in _HOLDERS for key in value):
        return redact_value(value) if _may_hold(value) else value
    kept: dict[Any, Any] = {}
    for key, inner in value.items():
        if key in _HOLDERS and isinstance(inner, list):
            kept[key] = [_clean(item) for item in inner]
        else:
            kept |= redact_value({key: inner})
    return kept


def _may_hold(record: Any) -> bool:
    """Tell whether a record may hold a secret.

    Each attribute is searched under its own name: the name `key` would make every record
    suspicious, and to redact every record takes five times as long.
    """
    attributes = record.get("attributes") if isinstance(record, dict) else None
    if not isinstance(attributes, list):
        return True
    named = []
    for attribute in attributes:
        if not isinstance(attribute, dict) or attribute.keys() != {"key", "value"}:
            return True
        name, value = attribute["key"], attribute["value"]
        if type(name) is not str:
            return True
        if not isinstance(value, dict) or len(value) != 1 or "bytesValue" in value:
            return True
        (inner,) = value.values()
        named.append({name: inner})
    return may_hold_secret(json.dumps({**record, "attributes": named}, ensure_ascii=False).encode("utf-8", "replace"))


def _from_protobuf(path: str, body: bytes) -> Any:
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError, Error
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise RefusedError(415, "protobuf wants the extra: pip install 'agent-error-analyzer[receive]'") from None
    kinds: dict[str, Any] = {"/v1/logs": ExportLogsServiceRequest, "/v1/traces": ExportTraceServiceRequest}
    try:
        message = kinds.get(path, ExportMetricsServiceRequest).FromString(body)
        return _with_hexadecimal_ids(MessageToDict(message, use_integers_for_enums=True))
    except (DecodeError, Error, ValueError, RecursionError):
        raise RefusedError(400, "the body is no protobuf of this path") from None


def _with_hexadecimal_ids(value: Any) -> Any:
    """Turn ids from base64, as protobuf maps them to JSON, into hexadecimal digits, as OTLP does."""
    import base64

    if isinstance(value, list):
        return [_with_hexadecimal_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    converted = {}
    for key, inner in value.items():
        if key in _IDS and isinstance(inner, str):
            converted[key] = base64.b64decode(inner).hex()
        elif key in _WITHOUT_IDS:
            converted[key] = inner
        else:
            converted[key] = _with_hexadecimal_ids(inner)
    return converted


def unpacked(data: bytes, encoding: str) -> bytes:
    """Return a body without its compression.

    Raises:
        RefusedError: the compression is not gzip, is broken, or the body has more than
            `MOST_UNPACKED` bytes.
    """
    if encoding in ("", "identity"):
        return data
    if encoding != "gzip":
        raise RefusedError(415, "a body is plain or gzip")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        body = unpacking.decompress(data, MOST_UNPACKED)
    except zlib.error:
        raise RefusedError(400, "the body is no gzip") from None
    if unpacking.unconsumed_tail:
        raise RefusedError(413, "the body is too large")
    if not unpacking.eof or unpacking.unused_data:
        raise RefusedError(400, "the body breaks off, or goes on after its end")
    return body


class Receiver(ThreadingHTTPServer):
    """A server on one address, which writes requests to a spool."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, spool: Spool, token: str | None) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self.spool, self.token = spool, token
        self._lock = threading.Lock()
        self._deadlines: dict[socket.socket, float] = {}

    def expect(self, connection: socket.socket, seconds: float) -> None:
        """Close a connection unless this is called again in time.

        Raises:
            ConnectionError: the connection is closed already.
        """
        with self._lock:
            if connection not in self._deadlines:
                raise ConnectionError
            self._deadlines[connection] = time.monotonic() + seconds

    def service_actions(self) -> None:
        """Close the connections whose time is over; `serve_forever` calls this again and again."""
        with self._lock:
            self._close_due(time.monotonic())

    def _close_due(self, moment: float) -> None:
        for connection in [peer for peer, until in self._deadlines.items() if until <= moment < math.inf]:
            del self._deadlines[connection]
            with suppress(OSError):  # it has gone by itself
                connection.shutdown(socket.SHUT_RDWR)  # which ends its thread

    def verify_request(self, request: Any, _address: Any) -> bool:
        """Accept a connection, or tell it to come again if all others are at work."""
        with self._lock:
            if len(self._deadlines) >= MOST_CONNECTIONS:
                self._close_due(min(self._deadlines.values()))
            has_place = len(self._deadlines) < MOST_CONNECTIONS
            if has_place:
                self._deadlines[request] = time.monotonic() + REQUEST_SECONDS
        if not has_place:
            with suppress(OSError):
                request.sendall(_COME_AGAIN)
        return has_place

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and make room for another one."""
        with self._lock:
            self._deadlines.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, *_: Any) -> None:
        """Log nothing about broken connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "analyzer", ""
    timeout = REQUEST_SECONDS
    server: Receiver

    def do_POST(self) -> None:
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        try:
            self._check()
            self.server.expect(self.connection, REQUEST_SECONDS)
            data, encoding = self._body(), (self.headers.get("Content-Encoding") or "").strip().lower()
            self.server.expect(self.connection, math.inf)
            with _AT_ONCE:
                line = line_of(self.path, kind, unpacked(data, encoding))
            if line:
                self.server.spool.write(line)
        except RefusedError as refused:
            self._answer(refused.status, json.dumps({"message": refused.why}).encode(), _JSON, refused.after)
            return
        self._answer(200, b"" if kind == _PROTOBUF else b"{}", kind)

    def _check(self) -> None:
        token = self.server.token
        authorization = self.headers.get("Authorization") or ""
        if token is not None and not hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
            raise RefusedError(401, "Authorization: Bearer and the token are wanted")
        if self.path not in _SIGNALS:
            raise RefusedError(404, f"what is taken goes to {', '.join(_SIGNALS)}")

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length")
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked" and length is None:
            return _chunks(self.rfile)
        if length is None or not (length.isascii() and length.isdigit()):
            raise RefusedError(411, "the length of the body is wanted")
        if len(length) > 10 or int(length) > MOST_BODY:
            raise RefusedError(413, "the body is too large")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise RefusedError(400, "the body breaks off")
        return body

    def _answer(self, status: int, body: bytes, kind: str, after: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if after is not None:
            self.send_header("Retry-After", str(after))
        if status != 200:
            # The unread rest of the body would be taken for the next request.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.server.expect(self.connection, REQUEST_SECONDS)
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing about single requests."""


def _chunks(source: BufferedIOBase) -> bytes:
    body = bytearray()
    while True:
        digits = source.readline(20).partition(b";")[0].strip()
        try:
            size = int(digits, 16) if digits.isalnum() else -1
        except ValueError:
            size = -1
        if size < 0:
            raise RefusedError(400, "the body breaks off")
        if len(body) + size > MOST_BODY:
            raise RefusedError(413, "the body is too large")
        body += source.read(size)
        ending = source.readline(1_000)
        if size == 0:
            if ending.strip():
                raise RefusedError(400, "what follows a body in chunks is not taken")
            return bytes(body)
        if ending.strip():
            raise RefusedError(400, "the body breaks off")


def serve(host: str, port: int, folder: str, token: str | None, began: Callable[[str], None]) -> None:
    """Take requests until an exception ends it; call `began` with the address.

    Raises:
        OSError: the address or the folder cannot be used.
    """
    spool = Spool(folder)
    try:
        with Receiver(host, port, spool, token) as server:
            began(f"http://{f'[{host}]' if ':' in host else host}:{server.server_address[1]}")
            server.serve_forever(0.2)
    finally:
        spool.close()
