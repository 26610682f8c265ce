"""`analyzer receive` as senders meet it: the real exporters of OpenTelemetry, raw requests, kills and full disks."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import StatusCode

import analyzer
from analyzer.cli import receiving
from analyzer.cli.receiving import Receiver, RefusedError, Spool, line_of, unpacked
from analyzer.events import Reject
from analyzer.events.codec import MOST_ITEMS, decode_object
from analyzer.redaction import redact_value
from tests import REPOSITORY
from tests.security.test_prose import whole


class Served:
    """A receiver in this process, and what it wrote."""

    def __init__(self, folder: Path, server: Receiver) -> None:
        self.folder, self.server, self.port = folder, server, server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def lines(self) -> list[dict[str, Any]]:
        """The requests in its files."""
        return [json.loads(line) for path in sorted(self.folder.iterdir()) for line in path.read_bytes().splitlines()]

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """The answer to one request."""
        return post(self.port, path, body, **headers)


def post(port: int, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """The answer to one request; keywords are headers, with `_` for `-`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    named = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        connection.request("POST", path, body, named)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@contextmanager
def serving(folder: Path, token: str | None = None) -> Iterator[Served]:
    """A receiver on a port of its own."""
    spool = Spool(str(folder))
    with Receiver("127.0.0.1", 0, spool, token) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Served(folder, server)
        finally:
            # A thread that goes on would keep a run of tests from its end.
            server.shutdown()
            thread.join()
            spool.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A receiver whose files are in a folder of their own."""
    with serving(tmp_path / "log") as served:
        yield served


def request(number: int = 0, **more: str) -> bytes:
    """A request with an error of Claude Code."""
    found = {"event.name": "claude_code.api_error", "session.id": f"s-{number}", "status_code": "529", **more}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in found.items()]
    log = {"timeUnixNano": "1772704800000000000", "attributes": attributes}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "claude-code"}}]}
    return json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [log]}]}]}).encode()


def test_the_real_exporters_are_understood(served: Served) -> None:
    """Logs, traces and metrics of OpenTelemetry's SDK arrive, gzipped in protobuf, and are read as what they are."""
    resource = Resource({"service.name": "claude-code", "session.id": "s-1"})
    how: dict[str, Any] = {"compression": Compression.Gzip, "timeout": 10}
    logs = LoggerProvider(resource=resource)
    logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{served.url}/v1/logs", **how)))
    attributes = {"status_code": 529, "error": "Overloaded", "attempt": 11, "event.sequence": 7}
    logs.get_logger("x").emit(event_name="claude_code.api_error", body="claude_code.api_error", attributes=attributes)
    traces = TracerProvider(resource=resource)
    traces.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{served.url}/v1/traces", **how)))
    with traces.get_tracer("x").start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as span:
        span.set_status(StatusCode.ERROR, "429 Too many requests")
        trace_id = f"{span.get_span_context().trace_id:032x}"
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{served.url}/v1/metrics", **how), 60_000)
    metrics = MeterProvider([reader], resource=resource)
    metrics.get_meter("x").create_counter("calls").add(1)
    for provider in (logs, traces, metrics):
        provider.shutdown()
    told, spans, counted = served.lines()
    assert [*told, *spans, *counted] == ["resourceLogs", "resourceSpans", "resourceMetrics"]
    assert spans["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] == trace_id
    with analyzer.open_store(":memory:") as store:
        assert store.ingest([str(served.folder)]).total.quarantined == 0
        errors = store.sql("select session_id, agent, reason, message, attempt from errors order by reason").rows()
    assert errors == [
        ("s-1", "claude-code", "network_transient", "Overloaded", 11),
        ("s-1", "claude-code", "rate_limited", "429 Too many requests", None),
    ]


def test_json_and_protobuf_give_the_same_line(served: Served) -> None:
    """The same request in either form, plain, gzipped or in chunks, is the same line, answered in its own form."""
    from google.protobuf.json_format import Parse

    body = request()
    binary = Parse(body, ExportLogsServiceRequest()).SerializeToString()
    answers = [
        served.post("/v1/logs", body),
        served.post("/v1/logs", gzip.compress(body), Content_Encoding="gzip"),
        served.post("/v1/logs", binary, Content_Type="application/x-protobuf"),
        served.post("/v1/logs", gzip.compress(binary), Content_Type="application/x-protobuf", Content_Encoding="gzip"),
    ]
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request(
        "POST", "/v1/logs", iter([body[:7], body[7:]]), {"Content-Type": "application/json"}, encode_chunked=True
    )
    assert connection.getresponse().read() == b"{}"
    connection.close()
    assert [(status, answer) for status, _, answer in answers] == [(200, b"{}"), (200, b"{}"), (200, b""), (200, b"")]
    lines = served.lines()
    assert len(lines) == 5 and all(line == lines[0] for line in lines)


def test_secrets_are_not_written(served: Served) -> None:
    """A key in an attribute is replaced before it reaches the disk."""
    key = "sk-ant-api03-" + "a" * 93
    assert served.post("/v1/logs", request(error=f"invalid key {key}"))[0] == 200
    (path,) = served.folder.iterdir()
    assert key.encode() not in path.read_bytes() and b"REDACTED" in path.read_bytes()
    assert (path.stat().st_mode & 0o777, served.folder.stat().st_mode & 0o777) == (0o600, 0o700)


def _text(value: str) -> dict[str, Any]:
    return {"stringValue": value}


def _base64(value: str) -> dict[str, Any]:
    return {"bytesValue": base64.b64encode(value.encode()).decode()}


def _array(*values: Any) -> dict[str, Any]:
    return {"arrayValue": {"values": [_text(value) if isinstance(value, str) else value for value in values]}}


def _pairs(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in pairs]


PLANTED: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    **{
        f"{kind} under {name}": lambda secret, name=name, typed=typed: _pairs((name, typed(secret)))
        for name in ("db.password", "ApiKey", "http.request.header.x_api_key", "client_secret", "AUTH_TOKEN")
        for kind, typed in {
            "text": _text,
            "bytes": _base64,
            "list": lambda secret: _array("other", secret),
            "members": lambda secret: {"kvlistValue": {"values": _pairs(("v", _text(secret)))}},
        }.items()
    },
    "cookies": lambda secret: _pairs(("http.request.header.cookie", _array(f"sid={secret}"))),
    "flag": lambda secret: _pairs(("process.command_args", _array("agent", "--password", secret))),
    "command": lambda secret: _pairs(("process.command_args", _array("curl", "-u", f"app:{secret}"))),
    "member": lambda secret: _pairs(("config", {"kvlistValue": {"values": _pairs(("api_key", _text(secret)))}})),
    "name and value": lambda secret: _pairs(("name", _text("DB_PASSWORD")), ("value", _text(secret))),
    "text in bytes": lambda secret: _pairs(("input", _base64(f"password={secret}"))),
    "name with a character that is not seen": lambda secret: _pairs(("pass\u200bword", _text(secret))),
    "error": lambda secret: _pairs(("error", _text(f"<password type='x'>{secret}</password>"))),
}
"""Attributes that hold a secret, each in another way."""


def test_no_secret_of_a_record_is_kept_or_shown(served: Served, tmp_path: Path, run: Any) -> None:
    """Whatever type a secret has in OTLP: no file, store, journal, page or JSON holds it, or its Base64."""
    secrets = {place: f"tr0ub4dor-Zq{number}x" for number, place in enumerate(PLANTED, 100)}
    numbers = {"db.password": {"intValue": "83746152937465"}, "password": {"doubleValue": 83746152937466.0}}
    found = json.loads(request())
    (log,) = found["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    planted = [PLANTED[place](secret) for place, secret in secrets.items()]
    planted += [_pairs((name, value)) for name, value in numbers.items()]
    logs = [{**log, "attributes": [*attributes, *log["attributes"]]} for attributes in planted]
    logs += [{**log, "body": _array("agent", "--password", secrets["flag"])}]
    for record in logs:
        found["resourceLogs"][0]["scopeLogs"][0]["logRecords"] = [record]
        assert served.post("/v1/logs", json.dumps(found).encode())[0] == 200
    store, page = tmp_path / "a.duckdb", tmp_path / "a.html"
    ran = [
        run("ingest", str(served.folder), "--store", str(store)),
        run("report", "--store", str(store), "--output", str(page)),
        run("report", "--store", str(store), "--json"),
        run("query", "errors-messages", "--store", str(store), "--json"),
    ]
    assert [done.returncode for done in ran] == [0, 0, 0, 0]
    shown = (
        "".join(json.dumps(line) for line in served.lines())
        + page.read_text("utf-8")
        + "".join(done.stdout + done.stderr for done in ran)
        + whole(store)
    )
    assert "REDACTED" in shown
    hidden = {**secrets, **dict.fromkeys(numbers, "8374615293746")}
    for secret in list(secrets.values()):
        hidden[f"Base64 of {secret}"] = _base64(secret)["bytesValue"]
        hidden[f"Base64 with a name of {secret}"] = _base64(f"password={secret}")["bytesValue"]
    assert [place for place, secret in hidden.items() if secret in shown] == []


NAMES = (
    "session.id",
    "input_tokens",
    "password",
    "api_key",
    "authorization",
    "http.request.header.cookie",
    "error",
    "key",
)
VALUES = (
    *(
        "hunter2",
        "Bearer abcdef0123456789abcdef",
        "sk-ant-api03-" + "a" * 93,
        "12000",
        "Overloaded",
        "https://a:b@c.d/",
        "",
    ),
    *(
        "password=hunter2",
        "0b8c1f3e-6a3c-4a55-9a5e-3f9a0d3c8e11",
        "x" * 40,
        "curl -u app:secret https://x.y",
        "ключ",
        chr(0xD800),
    ),
)


@pytest.mark.parametrize("kind", ["stringValue", "intValue", "bytesValue"])
def test_a_record_is_searched_as_thoroughly_as_by_its_values(kind: str) -> None:
    """What is passed over without a search is what a search leaves as it is, whatever stands under whatever name."""
    left = 0
    for name in NAMES:
        for value in VALUES:
            record = {
                "body": {"stringValue": "claude_code.api_request"},
                "attributes": [{"key": "model", "value": {"stringValue": "m"}}, {"key": name, "value": {kind: value}}],
                "timeUnixNano": "1772704800000000000",
            }
            assert receiving._clean(record) == redact_value(record), (name, value)
            left += not receiving._may_hold(record)
    assert left > len(NAMES) or kind == "bytesValue"  # which are always decoded


@pytest.mark.parametrize(
    "attributes",
    [
        None,
        {},
        [7],
        [{"key": "a"}],
        [{"key": ["a"], "value": {}}],
        [{"key": "a", "value": {"kvlistValue": {}, "x": 1}}],
    ],
)
def test_a_record_of_another_form_is_searched(attributes: object) -> None:
    """Where attributes are not what they should be, no promise is made."""
    assert receiving._may_hold({"attributes": attributes})


def test_a_large_request_is_whole(served: Served) -> None:
    """Five thousand records of one request are five thousand records of one line."""
    one = json.loads(request())
    logs = one["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    logs *= 5000
    assert served.post("/v1/logs", gzip.compress(json.dumps(one).encode()), Content_Encoding="gzip")[0] == 200
    (line,) = served.lines()
    assert line == one


BOMB = gzip.compress(b"[" * (receiving.MOST_UNPACKED + 1))
HOSTILE: list[tuple[str, bytes, dict[str, str], int]] = [
    ("/v1/logs", b"", {}, 400),
    ("/v1/logs", b"{", {}, 400),
    ("/v1/logs", b"[]", {}, 400),
    ("/v1/logs", b'{"resourceSpans":[]}', {}, 400),
    ("/v1/logs", b'{"resourceLogs":{}}', {}, 400),
    ("/v1/logs", b'{"resourceLogs":[NaN]}', {}, 400),
    ("/v1/logs", b"[" * 100_000, {}, 400),
    ("/v1/logs", b'{"resourceLogs":' + b"[" * 900 + b"]" * 900 + b"}", {}, 400),
    ("/v1/logs", b"\xff\xfe", {}, 400),
    ("/v1/logs", b"\xff\xfe\x00", {"Content_Type": "application/x-protobuf"}, 400),
    ("/v1/logs", b"{}", {"Content_Type": "text/plain"}, 415),
    ("/v1/logs", b"{}", {"Content_Encoding": "br"}, 415),
    ("/v1/logs", b"no gzip", {"Content_Encoding": "gzip"}, 400),
    ("/v1/logs", gzip.compress(request())[:-9], {"Content_Encoding": "gzip"}, 400),
    ("/v1/logs", BOMB, {"Content_Encoding": "gzip"}, 413),
    ("/v1/logs", gzip.compress(request()) + gzip.compress(request()), {"Content_Encoding": "gzip"}, 400),
    ("/v1/logs", gzip.compress(request()) + b"more", {"Content_Encoding": "gzip"}, 400),
    ("/v1/logs", b'{"resourceLogs":[' + b"[]," * MOST_ITEMS + b"[]]}", {}, 413),
    ("/v1/logs", b'{"resourceLogs":[{}],"resourceLogs":[]}', {}, 400),
    ("/elsewhere", b"{}", {}, 404),
    ("/v1/logs", b"{}", {"Content_Length": "99999999999"}, 413),
    ("/v1/logs", b"{}", {"Content_Length": "-1"}, 411),
    ("/v1/logs", b"zz\r\n", {"Transfer_Encoding": "chunked"}, 400),
    ("/v1/logs", b"fffffff\r\n", {"Transfer_Encoding": "chunked"}, 413),
]


@pytest.mark.parametrize(("path", "body", "headers", "status"), HOSTILE)
def test_what_is_no_request_is_refused(
    path: str, body: bytes, headers: dict[str, str], status: int, served: Served
) -> None:
    """Each with its status, and the next request is taken as ever."""
    assert served.post(path, body, **headers)[0] == status
    assert served.post("/v1/logs", request())[0] == 200
    assert served.lines()[-1] == json.loads(request())


@pytest.mark.parametrize("name", ["scope_logs", "log_records", "scopeLogs", "logRecords"])
def test_records_where_no_reader_looks_are_refused(name: str, served: Served) -> None:
    """Under a name of protobuf, or in what is no list: they would be taken, and nothing of them read."""
    (resource,) = json.loads(request())["resourceLogs"]
    holder = resource if name.lower().startswith("scope") else resource["scopeLogs"][0]
    (old,) = {"scopeLogs", "logRecords"} & holder.keys()
    records = holder.pop(old)
    holder[name] = records if "_" in name else records[0]
    status, _, answer = served.post("/v1/logs", json.dumps({"resourceLogs": [resource]}).encode())
    assert (status, b"would be read" in answer, served.lines()) == (400, True, [])


def nested(levels: int) -> str:
    """Return a value in so many lists."""
    return '{"arrayValue":{"values":[' * levels + '{"stringValue":"x"}' + "]}}" * levels


ODD_VALUES = [
    '{"doubleValue":1e999}',
    '{"doubleValue":-Infinity}',
    '{"intValue":' + "9" * 4_000 + "}",
    '{"stringValue":"\\ud800 \\u0000"}',
    '{"stringValue":"a","stringValue":"b"}',
    "null",
    "[]",
    nested(15),
    nested(25),
    '{"arrayValue":{"values":[' + ",".join(["1"] * 450_000) + "]}}",
    '{"arrayValue":{"values":[' + ",".join(["1"] * 550_000) + "]}}",
    '{"stringValue":"' + "a b " * 150_000 + '"}',
]
PLACES = [
    ('"key": "status_code", "value": {"stringValue": "529"}', '"key": "odd", "value": VALUE'),
    ('"timeUnixNano": "1772704800000000000"', '"timeUnixNano": VALUE'),
    ('{"resource": {', '{"odd": VALUE, "resource": {'),
    ('"scopeLogs": [', '"scopeLogs": [VALUE, '),
    ('{"resourceLogs"', '{"resourceLogs": VALUE, "resourceLogs"'),
    ("}]}]}]}", "}]}]}, VALUE]}"),
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: value[:30])
def test_what_is_acknowledged_is_read(value: str, tmp_path: Path) -> None:
    """A request with an odd value is refused, or it gives its events; the one after it gives its own in any case."""
    taken = set()
    for number, (old, new) in enumerate(PLACES):
        odd, good = (request(2 * number + more).decode() for more in (0, 1))
        assert old in odd
        with (tmp_path / f"{number}.jsonl").open("wb") as file:
            for session, body in enumerate([odd.replace(old, new.replace("VALUE", value)), good], 2 * number):
                with suppress(RefusedError):
                    file.write(line_of("/v1/logs", "application/json", body.encode()))
                    taken.add(f"s-{session}")
    with analyzer.open_store(":memory:") as store:
        total = store.ingest([str(tmp_path)]).total
        assert (total.quarantined, total.skipped) == (0, 0)
        assert {session for (session,) in store.sql("select session_id from errors").rows()} == taken
    assert taken >= {f"s-{2 * number + 1}" for number in range(len(PLACES))}


@pytest.mark.parametrize("levels", [10, 90])
def test_deep_protobuf_is_read_or_refused(levels: int) -> None:
    """What protobuf can nest and a reader of lines cannot is refused."""
    from google.protobuf.json_format import Parse

    old, new = PLACES[0]
    body = request().decode().replace(old, new.replace("VALUE", nested(levels // 3)))
    binary = Parse(body, ExportLogsServiceRequest(), max_recursion_depth=200).SerializeToString()
    with suppress(RefusedError):
        line = line_of("/v1/logs", "application/x-protobuf", binary)
        assert not isinstance(decode_object(line), Reject)


def test_other_methods_and_broken_requests_do_no_harm(served: Served) -> None:
    """GET is not implemented; what is no HTTP, or breaks off, is let go; the server goes on."""
    for raw in (
        b"GET /v1/logs HTTP/1.1\r\n\r\n",
        b"\0\0\0\r\n\r\n",
        b"POST /v1/logs HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
    ):
        with socket.create_connection(("127.0.0.1", served.port), 10) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(100)
            assert not answer.startswith(b"HTTP/1.1 200")
    assert served.post("/v1/logs", request())[0] == 200


def test_a_token_is_wanted_where_one_is_set(tmp_path: Path) -> None:
    """Without it, or with another one, nothing is written."""
    with serving(tmp_path / "log", "secret") as served:
        assert served.post("/v1/logs", request())[0] == 401
        assert served.post("/v1/logs", request(), Authorization="Bearer other")[0] == 401
        assert served.post("/v1/logs", request(), Authorization="Bearer s\xe9cret")[0] == 401
        assert served.post("/v1/logs", request(), Authorization="Bearer secret")[0] == 200


def test_a_full_disk_is_told_and_leaves_no_torn_line(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 with Retry-After; half a line that was written is taken back, and what comes later is taken."""
    assert served.post("/v1/logs", request(1))[0] == 200
    real, full = os.write, [True]

    def write(handle: int, data: Any) -> int:
        if full[0] and len(data) > 100:
            if full.pop():
                full.append(False)
            return real(handle, bytes(data)[:50])
        if full[0] is False and len(data) > 100:
            full[0] = None  # type: ignore[call-overload]
            raise OSError(28, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(receiving.os, "write", write)
    status, headers, answer = served.post("/v1/logs", request(2))
    assert (status, headers["retry-after"]) == (503, "30")
    assert b"OSError" in answer
    assert served.post("/v1/logs", request(3))[0] == 200
    assert served.lines() == [json.loads(request(1)), json.loads(request(3))]


def test_a_disk_that_does_not_confirm_is_a_refusal(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that fails is no acknowledgement."""

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(receiving.os, "fdatasync", broken)
    assert served.post("/v1/logs", request())[0] == 503
    monkeypatch.undo()
    assert served.post("/v1/logs", request(1))[0] == 200
    assert served.lines() == [json.loads(request(1))]


def test_too_much_at_once_is_told_to_come_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """429 with Retry-After while too much waits for the disk; a client that comes again is served."""
    monkeypatch.setattr(receiving, "MOST_WAITING", 10)
    status, headers, _ = served.post("/v1/logs", request())
    assert (status, headers["retry-after"]) == (429, "1")
    monkeypatch.undo()
    assert served.post("/v1/logs", request())[0] == 200


@pytest.mark.parametrize("head", [b"", b"POST /v1/logs HTTP/1.1\r\nHost: x\r\n", b"POST /v1/logs HTTP/1.1\r\nX"])
def test_connections_that_keep_it_waiting_keep_nobody_out(
    head: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all places are held by connections without a whole request, a sender gets the place of one of them."""
    monkeypatch.setattr(receiving, "MOST_CONNECTIONS", 2)
    with serving(tmp_path / "log", "secret") as served, ExitStack() as held:
        for _ in range(3):
            for _ in range(2):
                held.enter_context(socket.create_connection(("127.0.0.1", served.port))).sendall(head)
            assert served.post("/v1/logs", request(), Authorization="Bearer secret")[0] == 200


def test_more_requests_than_places_are_told_to_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection gets 429 at once while all places wait for the disk, and a place that is free again is given."""
    monkeypatch.setattr(receiving, "MOST_CONNECTIONS", 2)
    real, is_free = os.fdatasync, threading.Event()
    monkeypatch.setattr(receiving.os, "fdatasync", lambda file: is_free.wait(60) and real(file))
    with serving(tmp_path / "log") as served, ThreadPoolExecutor(2) as pool:
        posts = [pool.submit(served.post, "/v1/logs", request()) for _ in range(2)]
        for _ in range(2_000):
            if list(served.server._deadlines.values()) == [math.inf, math.inf]:
                break
            time.sleep(0.01)
        assert 429 in answers(served, until=429)
        is_free.set()
        assert [post.result()[0] for post in posts] == [200, 200]
        assert 200 in answers(served, until=200)


@pytest.mark.parametrize("drop", [b"X-a: b\r\n", b"Content-Length: 9000\r\n\r\n", b"1"])
def test_a_request_that_takes_too_long_is_let_go(drop: bytes, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is closed when its request has not come whole in time, though it sends something all the while."""
    monkeypatch.setattr(receiving, "REQUEST_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", served.port), 30) as connection, suppress(OSError):
        connection.sendall(b"POST /v1/logs HTTP/1.1\r\n" + b"Content-Length: 9000\r\n\r\n" * (drop == b"1"))
        for _ in range(1_000):
            connection.sendall(drop)
            time.sleep(0.01)
        pytest.fail("it is still open")
    assert served.lines() == []


@pytest.mark.parametrize("how", ["file", "folder", "moved folder", "moved file", "link"])
def test_files_that_go_away_are_written_anew(how: str, served: Served) -> None:
    """After the file or the folder is deleted, moved or made a link, what is acknowledged is in the folder again."""
    folder = served.folder
    assert served.post("/v1/logs", request(1))[0] == 200
    (path,) = folder.iterdir()
    match how:
        case "file":
            path.unlink()
        case "folder":
            shutil.rmtree(folder)
        case "moved folder":
            folder.rename(folder.with_name("elsewhere"))
        case "moved file":
            path.rename(folder.with_name("elsewhere"))
        case "link":
            path.rename(folder.with_name("elsewhere"))
            path.symlink_to(folder.with_name("elsewhere"))
    assert [served.post("/v1/logs", request(number))[0] for number in (2, 3)] == [200, 200]
    path.unlink(missing_ok=True)  # readers follow no link in a folder
    assert served.lines() == [json.loads(request(2)), json.loads(request(3))]


def test_a_file_that_goes_away_during_a_write_is_told(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that was written to a deleted file is not acknowledged; the sender's next try is."""
    real = os.fdatasync

    def deleting(file: int) -> None:
        for path in served.folder.iterdir():
            path.unlink()
        real(file)

    monkeypatch.setattr(receiving.os, "fdatasync", deleting)
    assert served.post("/v1/logs", request())[0] == 503
    monkeypatch.undo()
    assert served.post("/v1/logs", request())[0] == 200
    assert served.lines() == [json.loads(request())]


def answers(served: Served, until: int) -> list[int]:
    """The statuses of requests, of which one comes after another until one is what is waited for."""
    found: list[int] = []
    for _ in range(200):
        with suppress(OSError):
            found.append(served.post("/v1/logs", request())[0])
        if until in found:
            break
        time.sleep(0.05)
    return found


def test_files_are_of_a_day_and_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is full is followed by another one, and none is written twice."""
    monkeypatch.setattr(receiving, "FILE_BYTES", 100)
    spool = Spool(str(tmp_path))
    for number in range(3):
        spool.write(request(number) + b"\n")
    spool.close()
    assert sorted(len(path.read_bytes().splitlines()) for path in tmp_path.iterdir()) == [1, 1, 1]


@contextmanager
def started(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command in a process of its own, and its port."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from analyzer.cli import main; main()",
            "receive",
            "--listen",
            "127.0.0.1:0",
            *arguments,
        ],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield process, int(process.stderr.readline().split(",")[0].rpartition(":")[2])
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_nothing_acknowledged_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    """Killed in the middle of many senders, three times over: each request that was answered with 200 is in a file."""
    folder = tmp_path / "log"
    acknowledged: set[str] = set()
    for turn in range(3):
        killed = threading.Event()
        with started("--log", str(folder)) as (process, port), ThreadPoolExecutor(8) as pool:

            def send(sender: int, port: int = port, turn: int = turn, killed: threading.Event = killed) -> None:
                number = 0
                while not killed.is_set():
                    name = f"{turn}-{sender}-{number}"
                    with suppress(OSError, http.client.HTTPException):
                        if post(port, "/v1/logs", request(error=name))[0] == 200:
                            acknowledged.add(name)
                    number += 1

            sending = [pool.submit(send, sender) for sender in range(8)]
            began = time.monotonic()
            while len(acknowledged) < 20 * (turn + 1) and time.monotonic() < began + 60:
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
            killed.set()
            for each in sending:
                each.result()
    written = "".join(path.read_text("utf-8") for path in folder.iterdir())
    assert len(acknowledged) >= 20
    assert {name for name in acknowledged if f'"{name}"' not in written} == set()


def test_it_says_where_it_listens_and_ends_when_asked(tmp_path: Path) -> None:
    """Exit code 130 for an interrupt, which is how it is meant to end."""
    with started("--log", str(tmp_path / "log")) as (process, port):
        assert post(port, "/v1/logs", request())[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--listen", "0.0.0.0:0"], 2, "0.0.0.0 can be reached from elsewhere"),
        (["--listen", "4318"], 2, "no address: 4318"),
        (["--listen", "127.0.0.1:99999"], 2, "no address"),
        (["--log", "file/below"], 3, "file/below"),
    ],
)
def test_what_cannot_be_is_said(
    arguments: list[str], code: int, said: str, tmp_path: Path, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """One line, a hint and an exit code, and no server."""
    (tmp_path / "file").write_text("", "utf-8")
    done = run("receive", *arguments)
    assert (done.returncode, said in done.stderr) == (code, True)


def test_bodies_unpack_to_so_much_and_no_more() -> None:
    """The last byte that is allowed is taken, the next one is not; a line is bounded as well."""
    most = b"x" * receiving.MOST_UNPACKED
    assert unpacked(gzip.compress(most), "gzip") == most
    with pytest.raises(RefusedError) as refused:
        unpacked(gzip.compress(most + b"x"), "gzip")
    assert refused.value.status == 413
    assert line_of("/v1/logs", "application/json", b'{"resourceLogs":[]}') == b""
