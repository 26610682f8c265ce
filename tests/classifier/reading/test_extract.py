"""Bodies of errors in every wrapping: the names inside are found, the texts are kept, the rest stays out."""

from __future__ import annotations

import json

import pytest

from analyzer.classifier import Facts, classify, extract
from tests import named

INNER = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
GOOGLE = {
    "error": {
        "code": 429,
        "message": "Quota exceeded",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
        ],
    }
}


@pytest.mark.parametrize(
    "error",
    named(
        {
            "object": INNER,
            "json-text": json.dumps(INNER),
            "json-bytes": json.dumps(INNER).encode(),
            "json-in-message": {"message": f"API Error: 529 {json.dumps(INNER)}"},
            "json-in-json": {"body": json.dumps({"error": {"message": json.dumps(INNER)}})},
            "python-repr": {"message": f"Error code: 529 - {INNER!r}"},
            "three-deep": {"status": 529, "error": {"error": INNER}},
            "response-data": {"response": {"status": 529, "data": INNER}},
            "metadata-raw": {"error": {"metadata": {"raw": json.dumps(INNER)}}},
            "list": [INNER],
        }
    ),
)
def test_wrappings(error):
    """The innermost type and message come out of every wrapping."""
    found = classify(error)
    assert (found.reason, found.detail, found.facts.type) == ("network_transient", "overloaded", "overloaded_error")
    assert "Overloaded" in (found.facts.message or "")


def test_google_details():
    """Google's ErrorInfo gives the code, its RetryInfo the delay."""
    found = classify({"body": GOOGLE})
    assert (found.reason, found.facts.code, found.facts.type) == (
        "rate_limited",
        "RATE_LIMIT_EXCEEDED",
        "RESOURCE_EXHAUSTED",
    )
    assert found.retry_after_seconds == 34.0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"status": "429"}, 429),
        ({"statusCode": 503}, 503),
        ({"response": {"status": 502}}, 502),
        ({"$metadata": {"httpStatusCode": 429}}, 429),
        ({"error": {"code": 404}}, 404),
        ({"api_error_status": 401}, 401),
        ({"status": True}, None),
        ({"status": 4.5}, None),
        ({"status": 10**400}, None),
    ],
)
def test_status(error, status):
    """A status is found as number or text wherever clients put it, and never made out of something else."""
    assert extract(error).status == status


def test_cloudflare_page():
    """An HTML page becomes its title."""
    facts = extract(
        {
            "status": 520,
            "message": "<!DOCTYPE html>\n<html><title>atlas.test | 520: Web server is down</title><style>x</style>",
        }
    )
    assert facts.message == "atlas.test | 520: Web server is down"


def test_headers_keep_only_what_tells_when():
    """Of the headers only retry, reset and request-id ones are kept, lower-case, from mappings and pairs."""
    pairs = [
        ("Retry-After", "3"),
        ("X-RateLimit-Reset-Tokens", "6m0s"),
        ("Request-ID", "r1"),
        ("Authorization", "Bearer abc"),
        ("Set-Cookie", "a=b"),
    ]
    expected = {"retry-after": "3", "x-ratelimit-reset-tokens": "6m0s", "request-id": "r1"}
    assert extract({"headers": dict(pairs)}).headers == expected
    assert extract({"response": {"headers": [list(pair) for pair in pairs]}}).headers == expected


def test_mcp_result():
    """A tool result flagged as error gives its text; a JSON-RPC error its number as code."""
    assert extract(
        {"jsonrpc": "2.0", "result": {"isError": True, "content": [{"type": "text", "text": "Unknown tool: x"}]}}
    ) == Facts(is_error=True, message="Unknown tool: x")
    assert extract({"jsonrpc": "2.0", "id": 4, "error": {"code": -32602, "message": "bad"}}) == Facts(
        code="-32602", message="bad"
    )


def test_api_error_record():
    """A client's record of a failed call gives status, type, text and request id."""
    record = {
        "status": 529,
        "headers": {"request-id": "req_1", "x-should-retry": "true"},
        "requestID": "req_1",
        "error": {**INNER, "request_id": "req_1"},
    }
    facts = extract(record)
    assert (facts.status, facts.type, facts.message) == (529, "overloaded_error", "Overloaded")
    assert facts.headers == {"request-id": "req_1", "x-should-retry": "true"}


def test_connection_record():
    """A connection failure inside a record becomes the cause that decides."""
    found = classify(
        {
            "error": {
                "message": "Connection error.",
                "connection": {"code": "CERT_HAS_EXPIRED", "message": "certificate has expired"},
            }
        }
    )
    assert (found.reason, found.detail) == ("network_permanent", "tls_certificate")


@pytest.mark.parametrize(
    "error",
    [
        {"message": 3},
        {"body": 3.5},
        {"headers": "x"},
        {"cause": []},
        {"stdout": {"a": 1}},
        {"exit_code": "1"},
        {"errors": [None, 3, {}]},
        {"status": []},
    ],
    ids=lambda error: next(iter(error)),
)
def test_wrong_types(error):
    """Values of the wrong type never raise."""
    assert classify(error).reason in ("unknown", "validation")


def test_deep_and_wide_bodies_end():
    """Bodies nested without end and bodies of many members are read up to a bound."""
    deep: dict = {}
    level = deep
    for _ in range(5_000):
        level["error"] = {}
        level = level["error"]
    assert classify(deep).reason == "unknown"
    assert classify({"errors": [{"message": f"m{i}"} for i in range(50_000)]}).reason == "unknown"
    assert classify("[" * 100_000).reason == "unknown"
    assert classify('{"error":' * 20_000).reason == "unknown"


def test_terminal_colours_go():
    """Escape sequences and control characters do not stand in facts."""
    assert extract({"stderr": "\x1b[31mrate limit\x1b[0m\x00 exceeded\r\n"}).stderr == "rate limit exceeded"


def test_nothing_is_nothing():
    """No evidence is unknown without detail."""
    for error in ({}, None, "", [], {"provider": "atlas"}):
        found = classify(error)
        assert (found.reason, found.detail, found.rule) == ("unknown", "no_detail", "none")
