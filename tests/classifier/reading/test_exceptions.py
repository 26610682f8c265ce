"""Foreign exceptions: read by what they carry, however hostile, and judged by their causes."""

from __future__ import annotations

import socket
import ssl
import subprocess
from itertools import pairwise

import pytest

from analyzer.classifier import classify, extract
from tests import each_row, named


def made(name, module="somewhere", bases=(Exception,), **attributes):
    """An exception of a class with this name and these attributes."""
    cls = type(name, bases, {"__module__": module})
    error = cls(attributes.pop("text", ""))
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


class Response:
    """An HTTP response whose body was read, or not."""

    def __init__(self, status, headers=None, content=None):
        self.status_code, self.headers, self._content = status, headers or {}, content

    @property
    def text(self):
        """Reading a body that was not fetched would block."""
        raise AssertionError("a body must not be fetched")


class Data:
    """The error object inside an MCP exception."""

    code, message, data = -32602, "Tool sketch_render not found", None


CASES = [
    (
        "openai",
        made(
            "RateLimitError",
            "openai",
            text="Error code: 429 - {'error': {'message': 'slow', 'code': 'insufficient_quota'}}",
            status_code=429,
            body={"message": "slow", "code": "insufficient_quota"},
        ),
        "auth_error",
        "hard_quota",
    ),
    (
        "anthropic",
        made(
            "APIStatusError",
            "anthropic",
            text="x",
            status_code=529,
            body={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        "network_transient",
        "overloaded",
    ),
    (
        "httpx",
        made(
            "HTTPStatusError",
            "httpx",
            text="Client error '429 Too Many Requests' for url",
            response=Response(429, {"retry-after": "7"}),
        ),
        "rate_limited",
        None,
    ),
    (
        "requests",
        made(
            "HTTPError",
            "requests.exceptions",
            (OSError,),
            text="502 Server Error",
            response=Response(502, content=b"<html><title>502 Bad Gateway</title></html>"),
        ),
        "network_transient",
        "server_error",
    ),
    (
        "aiohttp",
        made(
            "ClientResponseError",
            "aiohttp",
            text="401, message='Unauthorized'",
            status=401,
            message="Unauthorized",
            headers={},
        ),
        "auth_error",
        None,
    ),
    (
        "botocore",
        made(
            "ClientError",
            "botocore.exceptions",
            text="An error occurred (ThrottlingException)",
            response={
                "Error": {"Code": "ThrottlingException", "Message": "slow"},
                "ResponseMetadata": {"HTTPStatusCode": 400},
            },
        ),
        "rate_limited",
        None,
    ),
    (
        "google-genai",
        made(
            "ClientError",
            "google.genai.errors",
            text="429 RESOURCE_EXHAUSTED.",
            code=429,
            status="RESOURCE_EXHAUSTED",
            details={"error": {"code": 429}},
        ),
        "rate_limited",
        None,
    ),
    (
        "litellm",
        made(
            "ContextWindowExceededError",
            "litellm",
            text="too long",
            status_code=400,
            llm_provider="atlas",
            model="atlas-9",
        ),
        "context_overflow",
        "prompt_too_long",
    ),
    ("mcp", made("McpError", "mcp", text="Tool sketch_render not found", error=Data()), "tool_not_found", None),
    ("read-timeout", made("ReadTimeout", "httpx", text=""), "network_transient", "timeout"),
    ("own-subclass", made("MyOwn", "mine", (ConnectionResetError,)), "network_transient", "connection"),
    ("errno", ConnectionRefusedError(111, "Connection refused"), "network_transient", "connection"),
    ("dns", socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "network_permanent", "dns"),
    (
        "dns-again",
        socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
        "network_transient",
        "dns",
    ),
    (
        "certificate",
        ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"),
        "network_permanent",
        "tls_certificate",
    ),
    ("timeout", TimeoutError(), "network_transient", "timeout"),
    ("interrupt", KeyboardInterrupt(), "unknown", "aborted"),
    (
        "process",
        subprocess.CalledProcessError(1, "agent", b"Claude AI usage limit reached|1790000000\n", b""),
        "rate_limited",
        "usage_limit",
    ),
    ("process-timeout", subprocess.TimeoutExpired("agent", 3), "network_transient", "deadline"),
    ("exit", SystemExit(127), "tool_not_found", "command_not_found"),
    ("plain", ValueError("nothing known"), "unknown", None),
]


@each_row("error, reason, detail", [case[1:] for case in CASES])
def test_library(error, reason, detail):
    """An exception of a well-known library is judged without that library being imported."""
    found = classify(error)
    assert (found.reason, found.detail) == (reason, detail)


def chained(*errors):
    """The first error, raised from the second, raised from the third."""
    for outer, inner in pairwise(errors):
        outer.__cause__ = inner
    return errors[0]


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (
            chained(
                made("APIConnectionError", text="Connection error."),
                made("ConnectError", text="x"),
                ssl.SSLCertVerificationError(1, "CERTIFICATE_VERIFY_FAILED"),
            ),
            "network_permanent",
            "tls_certificate",
        ),
        (
            chained(
                made("AbortError", text="This operation was aborted"), made("ApiError", text="429 RESOURCE_EXHAUSTED")
            ),
            "rate_limited",
            None,
        ),
        (
            chained(RuntimeError("step failed"), made("Inner", text="x", status=503)),
            "network_transient",
            "server_error",
        ),
        (
            chained(made("RateLimitError", text="slow", status_code=429), ConnectionResetError("reset")),
            "rate_limited",
            None,
        ),
        (ExceptionGroup("two", [made("X", text="x", status_code=401), ValueError()]), "auth_error", None),
    ],
    ids=["connection-over-certificate", "abort-over-quota", "nothing-over-503", "status-over-connection", "group"],
)
def test_cause(error, reason, detail):
    """A cause speaks where its wrapper only names a symptom, and not where the wrapper knows better."""
    found = classify(error)
    assert (found.reason, found.detail) == (reason, detail)


def test_timeout_over_its_own_cancellation():
    """A timeout whose cause is the cancellation that it made is a timeout."""
    found = classify(chained(TimeoutError(), made("CancelledError", "asyncio.exceptions")))
    assert (found.reason, found.detail) == ("network_transient", "timeout")


def test_implicit_context_counts_unless_suppressed():
    """The error during whose handling another was raised is its cause, unless it was raised from None."""

    def failing(suppressed):
        try:
            raise made("Inner", text="x", status=429)
        except Exception:
            if suppressed:
                raise RuntimeError("outer") from None
            raise RuntimeError("outer")  # noqa: B904

    for suppressed, reason in ((False, "rate_limited"), (True, "unknown")):
        with pytest.raises(RuntimeError) as caught:
            failing(suppressed)
        assert classify(caught.value).reason == reason


def test_cycles_end():
    """Causes that lead back to their own error end."""
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    facts = extract(first)
    assert facts.cause is not None
    assert facts.cause.cause is None


def test_long_chains_are_capped():
    """A chain of causes is kept to five."""
    facts, depth = extract(chained(*[RuntimeError(str(i)) for i in range(40)])), 0
    while facts.cause is not None:
        facts, depth = facts.cause, depth + 1
    assert depth == 5


class Hostile(Exception):
    """An exception all of whose attributes raise."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __str__(self):
        raise ValueError("no text")


class Liar(Exception):
    """An exception whose attributes are of absurd types."""

    status_code, code, body, headers, response = "NaN", b"\xff", object(), 7, lambda: 429
    message, type, request = ["x"], {"a": 1}, None


class Endless(Exception):
    """An exception that answers every attribute with itself."""

    def __getattr__(self, name):
        return self


class EvilMapping(dict):
    """A mapping that raises when it is looked into."""

    def items(self):
        """No."""
        raise RuntimeError("no")


class EvilClass:
    """An object that lies about its class."""

    @property
    def __class__(self):
        raise RuntimeError("no class")


@pytest.mark.parametrize(
    "make",
    named(
        {
            "raises": Hostile,
            "lies": Liar,
            "endless": Endless,
            "mapping": lambda: EvilMapping(a=1),
            "nested-mapping": lambda: {"body": EvilMapping(a=1)},
            "class": EvilClass,
            "object": object,
            "type": lambda: type,
            "function": lambda: len,
        }
    ),
)
def test_hostile_objects(make):
    """Objects that raise, lie or loop when they are read are classified all the same."""
    assert classify(make()).reason == "unknown"


def test_body_is_never_fetched():
    """A response whose body is not in memory stays unread."""
    assert classify(made("HTTPError", response=Response(503))).reason == "network_transient"


def test_provider_and_model_are_read():
    """The provider is read from the exception or from its package."""
    assert extract(made("X", llm_provider="atlas", model="atlas-9")).model == "atlas-9"
    assert extract(made("X", "anthropic._exceptions")).provider == "anthropic"
