"""Calls through the real SDKs of OpenAI and Anthropic, to a server on the loopback: each attempt leaves its event."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import analyzer
from tests import Lazy
from tests.recovery.simulated import Log, settled

anthropic, httpx2, openai = Lazy("anthropic"), Lazy("httpx2"), Lazy("openai")

GOOD = {
    "id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [],
    "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
LIMITED = {
    "error": {
        "type": "rate_limit_error",
        "message": "Number of requests has exceeded your rate limit sk-ant-api03-" + "a" * 93,
    }
}
AT_ONCE = {"retry-after-ms": "1"}


class Endless(bytes):
    """The beginning of a body, of which nothing more comes before the next request."""


class Server(ThreadingHTTPServer):
    """Answers as it is told to, in order; the last answer stands for all that follow."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests = self.given_up = 0
        self.is_asked_again = threading.Event()
        self.answers: list[tuple[int, Any, dict[str, str]]] = [(200, GOOD, {})]
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"] or 0))
        self.server.requests += 1
        if self.server.requests > 1:
            self.server.is_asked_again.set()
        answers = self.server.answers
        status, body, headers = answers.pop(0) if len(answers) > 1 else answers[0]
        if status == 0:  # hang up
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(raw)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)
        if isinstance(body, Endless):
            self.server.given_up += not self.server.is_asked_again.wait(20)

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A provider on the loopback."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


Ask = Callable[[Any], Any]


def ask_openai(client: Any, **given: Any) -> Any:
    """A chat completion."""
    return client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "hi"}], **given)


def ask_anthropic(client: Any, **given: Any) -> Any:
    """A message."""
    messages = [{"role": "user", "content": "hi"}]
    return client.messages.create(model="claude-sonnet-5", max_tokens=9, messages=messages, **given)


def call(client: Any, ask: Callable[..., Any], **given: Any) -> Any:
    """The answer of a sync or an async client."""
    if not isinstance(client, openai.AsyncOpenAI | anthropic.AsyncAnthropic):
        return ask(client, **given)

    async def asked() -> Any:
        async with client:
            return await ask(client, **given)

    return asyncio.run(asked())


SDKS = {
    "openai": (openai, "OpenAI", ask_openai),
    "openai_async": (openai, "AsyncOpenAI", ask_openai),
    "anthropic": (anthropic, "Anthropic", ask_anthropic),
    "anthropic_async": (anthropic, "AsyncAnthropic", ask_anthropic),
}


@pytest.fixture(params=SDKS)
def sdk(request: Any) -> tuple[type[Any], Callable[..., Any]]:
    """A client's class, and how it is asked."""
    module, name, ask = SDKS[request.param]
    return getattr(module, name), ask


def watched(kind: type[Any], server: Server, log: Log, **given: Any) -> Any:
    """A client that is observed."""
    client = kind(api_key="k", base_url=server.url, **given)
    return analyzer.observe(client, "planner", log=log, session="s-1", provider="example")


def test_attempts_that_the_sdk_hides_are_a_chain(sdk: Any, server: Server, log: Log) -> None:
    """Two refusals and an answer: the program sees the answer, the log two errors, two waits and the recovery."""
    kind, ask = sdk
    refused = (429, LIMITED, {**AT_ONCE, "request-id": "req_7", "x-request-id": "req_7"})
    server.answers = [refused, (503, {}, AT_ONCE), (200, GOOD, {})]
    assert call(watched(kind, server, log), ask).id == "x"
    assert log.types() == [*(["error.classified", "retry.scheduled"] * 2), "retry.settled"]
    first, second = log.payloads("error.classified")
    assert (first["reason"], first["attempt"], first["max_attempts"]) == ("rate_limited", 1, 3)
    assert (second["reason"], second["attempt"], second["facts"]["status"]) == ("network_transient", 2, 503)
    assert first["facts"]["headers"] == {"retry-after-ms": "1", "x-request-id": "req_7", "request-id": "req_7"}
    assert first["model"] in ("gpt-5", "claude-sonnet-5") and first["provider"] == "example"
    assert "sk-ant" not in json.dumps(first) and "exceeded your rate limit" in first["facts"]["message"]
    end = settled(log)
    assert (end["outcome"], end["attempts"], end["caller"]) == ("recovered", 3, "planner")
    waits = [each["delay_seconds"] for each in log.payloads("retry.scheduled")]
    assert 0 < sum(waits) == pytest.approx(end["waited_seconds"], abs=1e-5)
    assert {event.session_id for event in log.events()} == {"s-1"}


def test_a_chain_that_the_sdk_gives_up_is_exhausted(sdk: Any, server: Server, log: Log) -> None:
    """The last refusal belongs to the chain, which ends; the program gets the SDK's own exception."""
    kind, ask = sdk
    server.answers = [(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, AT_ONCE)]
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as raised:
        call(watched(kind, server, log, max_retries=1), ask)
    assert raised.value.status_code == 529
    assert [each["attempt"] for each in log.payloads("error.classified")] == [1, 2]
    assert [each["action"] for each in log.payloads("error.classified")] == ["retry", "surface"]
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("exhausted", 2)


def test_an_error_that_is_not_tried_again_surfaces(sdk: Any, server: Server, log: Log) -> None:
    """One attempt, one event with its outcome, and no chain; so for a streamed call, whose error has its body."""
    kind, ask = sdk
    server.answers = [(401, {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}, {})]
    with pytest.raises((openai.AuthenticationError, anthropic.AuthenticationError), match="invalid x-api-key"):
        call(watched(kind, server, log), ask, stream=True)
    (only,) = log.payloads("error.classified")
    assert (only["reason"], only["outcome"], only.get("operation")) == ("auth_error", "surfaced", None)
    assert only["facts"]["message"] == "invalid x-api-key"
    assert log.types() == ["error.classified"]


@pytest.mark.parametrize("begun", [b"", b'{"error": {"message": "overloaded, come again'])
def test_a_body_that_does_not_end_keeps_no_call_waiting(begun: bytes, sdk: Any, server: Server, log: Log) -> None:
    """The next attempt of a streamed call is sent while the error's body is still open; what came of it is logged."""
    kind, ask = sdk
    server.answers = [(503, Endless(begun), {**AT_ONCE, "content-length": "99"}), (200, b"", {})]

    def streamed(client: Any) -> Any:
        return ask(client, stream=True)

    call(watched(kind, server, log, max_retries=1), streamed)
    assert (server.requests, server.given_up) == (2, 0)
    (error,) = log.payloads("error.classified")
    assert (error["facts"]["status"], "come again" in str(error["facts"].get("message"))) == (503, bool(begun))
    assert settled(log)["outcome"] == "recovered"


@pytest.mark.parametrize("status", [400, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529])
@pytest.mark.parametrize("sdk", ["openai", "anthropic"], indirect=True)
def test_what_is_expected_of_a_refusal_is_what_the_sdk_does(
    sdk: tuple[type[Any], Callable[..., Any]], status: int, server: Server, log: Log
) -> None:
    """A refusal belongs to a chain if and only if the SDK tries again."""
    kind, ask = sdk
    server.answers = [(status, {"error": {"message": "no"}}, AT_ONCE), (200, GOOD, {})]
    with suppress(openai.APIStatusError, anthropic.APIStatusError):
        call(watched(kind, server, log, max_retries=1), ask)
    (error,) = log.payloads("error.classified")
    tried_again = server.requests == 2
    assert ("operation" in error, "outcome" in error) == (tried_again, not tried_again)
    assert ("retry.settled" in log.types()) == ("operation" in error)


def test_connections_that_fail_are_seen(sdk: Any, server: Server, log: Log) -> None:
    """A server that hangs up never answers, so no hook on answers sees it; the attempt is in the log all the same."""
    kind, ask = sdk
    server.answers = [(0, None, {}), (200, GOOD, {})]
    assert call(watched(kind, server, log, max_retries=1), ask).id == "x"
    (error,) = log.payloads("error.classified")
    assert (error["reason"], error["attempt"], error["party"]) == ("network_transient", 1, "network")
    assert settled(log)["outcome"] == "recovered"


def test_timeouts_and_refused_connections_are_seen(server: Server, log: Log) -> None:
    """A server that does not answer in time, and a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = watched(openai.OpenAI, server, log, timeout=0.05, max_retries=0)
        slow.base_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(openai.APITimeoutError):
            ask_openai(slow)
    with pytest.raises(openai.APIConnectionError):
        ask_openai(slow)
    timeout, refused = log.payloads("error.classified")
    assert (timeout["detail"], timeout["outcome"]) == ("timeout", "surfaced")
    assert (refused["facts"]["exception_class"], refused["outcome"]) == ("ConnectError", "surfaced")


def test_an_error_whose_body_breaks_off_is_what_its_status_says(server: Server, log: Log) -> None:
    """A streamed call's refusal that ends in the middle is tried again for its status, as without being watched."""
    server.answers = [(503, b"{", {**AT_ONCE, "content-length": "99", "connection": "close"}), (200, b"", {})]
    with ask_openai(watched(openai.OpenAI, server, log), stream=True):
        pass
    (error,) = log.payloads("error.classified")
    assert error["facts"]["status"] == 503
    assert settled(log)["outcome"] == "recovered"


def test_a_cancelled_call_is_aborted(server: Server, log: Log) -> None:
    """A task that is cancelled between two attempts settles its chain as aborted, and stays cancelled."""
    server.answers = [(503, {}, {"retry-after": "30"})]
    client = watched(openai.AsyncOpenAI, server, log)

    async def cancelled() -> None:
        task = asyncio.create_task(ask_openai(client))
        while not log.types():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()

    asyncio.run(cancelled())
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("aborted", 1)


def test_calls_side_by_side_do_not_mix(server: Server, log: Log) -> None:
    """Twenty tasks through one client, all refused once: twenty chains of two attempts each."""
    server.answers = [*[(429, LIMITED, AT_ONCE)] * 20, (200, GOOD, {})]
    client = watched(openai.AsyncOpenAI, server, log, max_retries=20)

    async def all_of_them() -> None:
        async with client:
            await asyncio.gather(*(ask_openai(client) for _ in range(20)))

    asyncio.run(all_of_them())
    ends = log.payloads("retry.settled")
    assert {end["outcome"] for end in ends} == {"recovered"}
    assert sum(end["attempts"] - 1 for end in ends) == 20 == len(log.payloads("error.classified"))
    assert len({end["operation"] for end in ends}) == len(ends)


def test_copies_of_a_client_are_watched_once(server: Server, log: Log) -> None:
    """`with_options` shares the connection, and what it changes is known; observing twice changes nothing."""
    client = watched(openai.OpenAI, server, log)
    assert analyzer.observe(client, "somebody else", log=log) is client
    server.answers = [(503, {}, AT_ONCE)]
    with pytest.raises(openai.InternalServerError):
        ask_openai(client.with_options(max_retries=0))
    (only,) = log.payloads("error.classified")
    assert (only["caller"], only["outcome"]) == ("planner", "surfaced")


def test_a_client_that_shares_the_connection_is_not_watched(server: Server, log: Log) -> None:
    """Two clients over one httpx client: only the calls of the one that was given are in the log."""
    with httpx2.Client() as http:
        watched(openai.OpenAI, server, log, http_client=http)
        server.answers = [(401, {}, {})]
        with pytest.raises(anthropic.AuthenticationError):
            ask_anthropic(anthropic.Anthropic(api_key="k", base_url=server.url, http_client=http))
    assert log.types() == []


def test_the_session_may_change_from_call_to_call(server: Server, log: Log) -> None:
    """What gives the session is asked at each call; where it raises, the call goes on unseen."""
    sessions: list[str] = ["a", "b"]
    client = openai.OpenAI(api_key="k", base_url=server.url, max_retries=0)
    analyzer.observe(client, "planner", log=log, session=lambda: sessions.pop(0))
    server.answers = [(400, {}, {})]
    for _ in range(3):
        with pytest.raises(openai.BadRequestError):
            ask_openai(client)
    assert [event.session_id for event in log.events()] == ["a", "b"]


def test_the_provider_is_known_by_its_servers(log: Log) -> None:
    """The maker's own server is the provider; whoever else speaks its language has to be named."""
    seen: list[dict[str, Any]] = []
    transport = httpx2.MockTransport(lambda request: httpx2.Response(400, json={"error": {"message": "no"}}))
    for url in (None, "https://gateway.example/v1"):
        with httpx2.Client(transport=transport) as http:
            client = openai.OpenAI(api_key="k", base_url=url, http_client=http)
            with pytest.raises(openai.BadRequestError):
                ask_openai(analyzer.observe(client, "planner", log=log))
        seen = log.payloads("error.classified")
    assert [each.get("provider") for each in seen] == ["openai", None]


def test_nothing_that_breaks_here_reaches_the_program(
    server: Server, log: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A classifier that breaks costs its event alone, and what is no client is given back, with a line on stderr."""

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    client = watched(openai.OpenAI, server, log)
    monkeypatch.setattr("analyzer.recovery.retry.observing.classify", broken)
    server.answers = [(503, {}, AT_ONCE), (200, GOOD, {})]
    assert ask_openai(client).id == "x"
    assert "error.classified" not in log.types()
    thing = object()
    assert analyzer.observe(thing, "planner", log=log) is thing
    assert capsys.readouterr().err.startswith("analyzer: object cannot be watched: ")


def test_observing_loads_no_client_library(tmp_path: Path) -> None:
    """Importing `analyzer.observe` imports neither an SDK nor an HTTP client, and nothing heavy."""
    code = "import analyzer, sys; analyzer.observe; print(*sorted(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {
        "openai",
        "anthropic",
        "httpx",
        "httpx2",
        "asyncio",
        "http.client",
        "duckdb",
        "polars",
        "click",
    }
