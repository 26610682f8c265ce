"""Bodies that nobody has read: what is here counts for the verdict, and the host can read all of it afterwards."""

from __future__ import annotations

import gzip
import io
import json
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.classifier import classify
from analyzer.classifier.reading import responses
from tests import named

BODY = json.dumps({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}).encode()
go_on = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """Answers each request with a 400; how its body comes is said by the path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the body: whole, in chunks, compressed, with much behind it, or not before it is asked to."""
        how = self.path[1:]
        body = {"gzip": gzip.compress(BODY), "big": BODY + b" " * 100_000}.get(how, BODY)
        self.send_response(400)
        if how == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:20], BODY[20:], b""))
        else:
            self.send_header("Content-Length", str(len(body)))
        if how == "gzip":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if how == "late":
            go_on.wait(30)
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the address of a server that refuses all requests."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def refused(url: str) -> urllib.error.HTTPError:
    """Return the error that urllib raises for an address."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url, timeout=30)
    return caught.value


@pytest.mark.parametrize("how", ["whole", "chunked", "gzip", "big"])
def test_an_error_of_urllib_is_judged_by_its_unread_body(url: str, how: str) -> None:
    """The body decides, twice alike, and stays there for the host to the last byte."""
    with refused(url + how) as error:
        for _ in range(2):
            found = classify(error)
            assert (found.reason, found.current_tokens) == ("context_overflow", 210_000)
        body = error.read()
    assert (gzip.decompress(body) if how == "gzip" else body).rstrip() == BODY


def test_a_body_on_its_way_is_waited_for_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come in time is judged without it, the second time at once; the host still gets it whole."""
    monkeypatch.setattr(responses, "WAITED_SECONDS", 0.01)
    go_on.clear()
    with refused(url + "late") as error:
        assert classify(error).reason == "validation"
        monkeypatch.setattr(responses, "WAITED_SECONDS", 3_600)
        assert classify(error).reason == "validation"
        go_on.set()
        assert error.read() == BODY


@pytest.mark.parametrize("read", [0, 5])
def test_a_body_in_memory_is_looked_at_from_where_it_is_read(read: int) -> None:
    """urllib's error around a file: its position stays where the host left it."""
    error = urllib.error.HTTPError("http://x.test/", 400, "Bad Request", Message(), io.BytesIO(b"\n" * read + BODY))
    error.read(read)
    assert classify(error).reason == "context_overflow"
    assert error.read() == BODY


def test_an_error_of_urllib_without_a_body_is_judged_by_its_status() -> None:
    """Neither a missing file nor a closed one is an error of its own."""
    closed = io.BytesIO(BODY)
    closed.close()
    for file in (None, closed):
        assert classify(urllib.error.HTTPError("http://x.test/", 400, "Bad", Message(), file)).reason == "validation"


@pytest.mark.parametrize("how", ["whole", "gzip"])
@pytest.mark.parametrize("stream", [True, False])
def test_an_error_of_requests_is_judged_by_its_body(url: str, how: str, stream: bool) -> None:
    """Also one of a stream that nobody has read, and which can be read afterwards."""
    requests = pytest.importorskip("requests")
    with requests.get(url + how, stream=stream, timeout=30) as response:
        with pytest.raises(requests.HTTPError) as caught:
            response.raise_for_status()
        assert classify(caught.value).reason == "context_overflow"
        assert response.content == BODY


def test_an_error_of_httpx_is_judged_by_the_body_that_was_read(url: str) -> None:
    """A stream that nobody has read is left alone: its library has no way to look at it."""
    httpx = pytest.importorskip("httpx2")
    with httpx.Client(trust_env=False) as client:
        with pytest.raises(httpx.HTTPStatusError) as caught:
            client.get(url).raise_for_status()
        assert classify(caught.value).reason == "context_overflow"
        with client.stream("GET", url) as response:
            with pytest.raises(httpx.HTTPStatusError) as caught:
                response.raise_for_status()
            assert classify(caught.value).reason == "validation"
            assert response.read() == BODY


class Refused(Exception):
    """An error with a response."""

    def __init__(self, response: object) -> None:
        super().__init__("Bad Request")
        self.response = response


@pytest.mark.parametrize(
    "response",
    named(
        {
            "aiohttp, read": SimpleNamespace(status=400, _body=BODY),
            "aiohttp, unread": SimpleNamespace(status=400, content=SimpleNamespace(_buffer=deque([BODY]))),
            "boto, parsed": {"Error": {"Message": json.loads(BODY)["error"]["message"]}},
            "boto, a stream": SimpleNamespace(status_code=400, _raw_stream=io.BytesIO(BODY)),
            "urllib3": SimpleNamespace(status_code=400, raw=SimpleNamespace(_fp=io.BytesIO(BODY))),
        }
    ),
)
def test_errors_of_other_libraries_are_judged_by_their_bodies(response: object) -> None:
    """Where aiohttp, boto and urllib3 keep a body it is looked at, however often."""
    assert [classify(Refused(response)).reason for _ in range(2)] == ["context_overflow"] * 2


def test_a_property_that_would_fetch_a_body_is_not_touched() -> None:
    """A response may have `content`, `text` and `read` that go to the network."""

    class Lazy:
        status_code = 400
        _content = False

        @property
        def content(self) -> bytes:
            """Fetch the body."""
            raise AssertionError("a body must not be fetched")

        text = content

        def read(self) -> bytes:
            """Fetch the body."""
            raise AssertionError("a body must not be fetched")

    assert classify(Refused(Lazy())).reason == "validation"


def test_a_secret_in_an_unread_body_is_redacted() -> None:
    """The body of a response is cleaned like any other text."""
    body = json.dumps({"error": {"message": "prompt is too long", "api_key": "hunter2-hunter2-hunter2"}}).encode()
    error = urllib.error.HTTPError("http://x.test/", 400, "Bad Request", Message(), io.BytesIO(body))
    assert "hunter2" not in str(classify(error).facts)


def test_what_is_looked_at_has_a_bound() -> None:
    """Of a body of any length the first 64 KiB count; a small one that unfolds into much, too."""
    for body in (b"x" * 200_000 + BODY, gzip.compress(b"x" * 200_000 + BODY)):
        found = responses.body_of(SimpleNamespace(raw=io.BytesIO(body)))
        assert found is not None
        assert len(found) == responses.MAX_BODY_BYTES
