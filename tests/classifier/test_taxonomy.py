"""The fixed points of the taxonomy: what must not drift, whichever rules come and go."""

from __future__ import annotations

import pytest

from analyzer.classifier import classify
from tests import each_row
from tests.growth import assert_linear

FIXED = [
    ("dns", {"code": "ENOTFOUND"}, "network_permanent", "dns"),
    ("dns-again", {"code": "EAI_AGAIN"}, "network_transient", "dns"),
    ("certificate", {"code": "CERT_HAS_EXPIRED"}, "network_permanent", "tls_certificate"),
    ("mcp-method", {"code": -32601, "message": "Method not found"}, "tool_not_found", None),
    ("mcp-tool", {"code": -32602, "message": "Tool recolour not found"}, "tool_not_found", None),
    ("mcp-argument", {"code": -32602, "message": "Invalid arguments for tool recolour"}, "validation", None),
    ("mcp-timeout", {"code": -32001, "message": "Request timed out"}, "network_transient", "timeout"),
    ("claude-tool", "<tool_use_error>Error: No such tool available: Sketch</tool_use_error>", "tool_not_found", None),
    ("unknown-tool", "unknown tool: recolour", "tool_not_found", None),
    ("overloaded", {"status": 529}, "network_transient", "overloaded"),
    ("overloaded-200", {"error": {"type": "overloaded_error"}}, "network_transient", "overloaded"),
    ("billing", {"status": 402}, "auth_error", "billing"),
    ("billing-400", {"status": 400, "message": "Your credit balance is too low"}, "auth_error", "billing"),
    ("hard-quota", {"status": 429, "error": {"code": "insufficient_quota"}}, "auth_error", "hard_quota"),
    ("soft-402", {"status": 402, "message": "Rate limit hit, try again in 3 minutes"}, "rate_limited", "usage_limit"),
    ("not-modified", {"status": 304}, "validation", None),
    ("too-large", {"status": 413}, "context_overflow", "payload_too_large"),
    (
        "too-large-tpm",
        {"status": 413, "message": "on tokens per minute (TPM): Limit 6000"},
        "rate_limited",
        "tokens_per_minute",
    ),
    ("overflow-500", {"status": 500, "message": "the prompt is too long"}, "context_overflow", "prompt_too_long"),
    ("bedrock-throttle", "Too many tokens, please wait before trying again.", "rate_limited", "tokens_per_minute"),
    ("deadline", "context deadline exceeded", "network_transient", "deadline"),
    ("max-turns", {"subtype": "error_max_turns"}, "validation", "max_turns"),
    ("abort", {"exception_class": "AbortError"}, "unknown", "aborted"),
    ("abort-over-quota", {"message": "aborted", "cause": {"type": "RESOURCE_EXHAUSTED"}}, "rate_limited", None),
    ("model", {"status": 404, "message": "model: atlas-9 not found"}, "network_permanent", "model_not_found"),
    ("not-found", {"status": 404}, "network_permanent", "not_found"),
    ("policy", {"status": 400, "code": "content_policy_violation"}, "validation", "content_policy"),
    ("image", {"status": 400, "message": "image exceeds 5 MB maximum"}, "validation", "image"),
    ("github-403", {"status": 403, "message": "API rate limit exceeded for user"}, "rate_limited", None),
    ("key", {"status": 400, "message": "Invalid API key provided"}, "auth_error", None),
    ("expired", {"status": 401, "message": "OAuth token has expired"}, "auth_error", "expired_token"),
    ("missing-key", "No API key found for provider atlas", "auth_error", "missing_key"),
    (
        "login-page",
        {"status": 403, "message": "<!DOCTYPE html><html><body>Sign in</body></html>"},
        "auth_error",
        "permission",
    ),
    (
        "gateway-page",
        {"status": 502, "message": "<html><title>502 Bad Gateway</title></html>"},
        "network_transient",
        "server_error",
    ),
    ("nothing", {}, "unknown", "no_detail"),
]


@each_row("error, reason, detail", [row[1:] for row in FIXED])
def test_fixed_point(error, reason, detail):
    """Each fixed point of the taxonomy keeps its reason and detail."""
    found = classify(error)
    assert (found.reason, found.detail) == (reason, detail)


PROSE = [
    "processed 402 records in 429 ms",
    "Fix the authentication bug in the login form",
    "Add rate-limiting middleware to the gateway",
    "Added tests for the case that the rate limit is exceeded",
    "The user asked what 'prompt is too long' means",
    "See ticket 503 for the design",
    "feat(client): retry on HTTP 429",
    "Let me look at why the connection was reset",
    "assertion failed: expected 401 to equal 200",
    "1 test failed",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_unknown(text):
    """Text that only mentions an error, as a task or a report does, is unknown."""
    assert classify(text).reason == "unknown"


@pytest.mark.parametrize(
    "text", ["rate limit exceeded", "API Error: 529 Overloaded", "prompt is too long", "401 Unauthorized", "ECONNRESET"]
)
def test_words_of_a_good_run_never_count(text):
    """What a successful run prints is never evidence, in whichever channel."""
    for error in ({"exit_code": 0, "stdout": text, "stderr": text}, {"is_error": False, "result": text}):
        found = classify(error)
        assert (found.reason, found.detail) == ("unknown", "no_detail")


def test_words_of_a_failed_run_count_by_line():
    """In a failed run's stdout error lines count and prose does not."""
    prose = "I read that the rate limit is exceeded\nwhen too many requests come in"
    assert classify({"exit_code": 1, "stdout": prose}).reason == "unknown"
    assert classify({"exit_code": 1, "stdout": "Prompt is too long"}).reason == "context_overflow"
    assert classify({"exit_code": 1, "stdout": f"{prose}\nAPI Error: 529 Overloaded"}).detail == "overloaded"
    assert classify({"exit_code": 1, "stderr": "Error: rate limit exceeded"}).reason == "rate_limited"


def test_long_text_counts_by_lines_and_names():
    """In a long text loose words do not count, whole lines and names do."""
    pad = "and then it went on to say something quite different " * 20
    assert classify(f"{pad} the quota was exceeded {pad}").reason == "unknown"
    assert classify(f"{pad}\nopenai.RateLimitError: slow down\n{pad}").reason == "rate_limited"


def test_matched_says_what_decided():
    """The classification says what its rule matched on."""
    assert classify({"status": 503}).matched == "status 503"
    assert classify({"type": "overloaded_error"}).matched == "type overloaded_error"
    assert classify("fetch failed").matched == "text 'fetch failed'"
    assert classify("nothing known").matched is None


@pytest.mark.parametrize(
    "unit", ["a", "rate limit ", "{", "[[", "<title>", "context ", "\\", "API Error: 5", "トークン", "Error: x\n"]
)
def test_hostile_text_takes_linear_time(unit):
    """A megabyte of hostile text takes no longer than its length, in every channel."""

    def in_every_channel(text):
        for error in (text, {"exit_code": 1, "stdout": text, "stderr": text}, {"body": {"error": {"message": text}}}):
            classify(error)

    assert_linear(in_every_channel, unit * (250_000 // len(unit)), unit * (1_000_000 // len(unit)))
