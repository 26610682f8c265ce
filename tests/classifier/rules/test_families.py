"""Families of words for each cause: errors as many providers and agents write them.

`families.jsonl` holds two sets that one hand wrote before the rules. By what the first one (`open`) showed the rules
were mended; the second one (`held`) was looked at by its figures alone. Before, 50.0% and 48.4% were acceptable, 8.7%
and 7.1% wrong.
"""

from __future__ import annotations

import json

import pytest

from analyzer.classifier import REASONS, classify
from tests import each_row
from tests.classifier.rules.labelled import judged, labelled

SETS = labelled("families.jsonl", "open", "held")


def test_the_two_sets_are_as_large_and_have_all_reasons():
    """No text stands in both, and every reason is asked for in each."""
    assert len(SETS["open"]) == len(SETS["held"]) > 100
    assert len({json.dumps(row["input"], sort_keys=True) for rows in SETS.values() for row in rows}) == sum(
        map(len, SETS.values())
    )
    for rows in SETS.values():
        assert {row["reason"] for row in rows} == set(REASONS)


@pytest.mark.parametrize("name", SETS)
def test_families_are_known(name):
    """Of each set nine in ten are judged acceptably, one in forty wrongly, and 95% retried as they should."""
    found = judged(SETS[name])
    assert found.right >= 0.91 * found.texts
    assert found.wrong <= 0.025 * found.texts
    assert found.retried >= 0.95 * found.texts


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("You've hit your usage limit. Purchase more credits or try again at 4:10 PM.", "rate_limited"),
        ("Kimi: weekly limit reached, upgrade for more, resets in 3 days", "rate_limited"),
        ("MCP server heron: program not found; Connection closed", "tool_not_found"),
        ("We are temporarily limiting requests (not your usage limit)", "network_transient"),
        ("API Error: Repeated 529 Overloaded errors", "network_transient"),
        ("SyntaxError: unexpected EOF while parsing", "unknown"),
        ("bash: line 3: unexpected EOF while looking for matching `\"'", "unknown"),
        ("cp: error writing 'b': Disk quota exceeded", "unknown"),
        ("File content (47840 tokens) exceeds maximum allowed tokens (25000).", "unknown"),
        ({"exit_code": 1, "stdout": "the log said: Claude AI usage limit reached|1999999999"}, "unknown"),
    ],
)
def test_the_cause_comes_before_the_symptom_and_other_trades_decide_nothing(error, reason):
    """Waits that end are waits, an inner cause beats its wrapper, and words of shells and tools are no provider's."""
    found = classify(error)
    assert found.reason == reason
    if reason == "unknown":
        assert (found.current_tokens, found.max_tokens, found.reset_at) == (None, None, None)


CLASSES = {
    "the-callers-own-limits": (
        "validation",
        [
            "The next request would exceed the request_limit of 7",
            "Recursion limit of 40 reached, no answer yet",
            "The heron agent reached maximum iteration: 60",
            "The run stopped because of max steps",
            "Reached maximum budget for the run: 3.10",
        ],
        ["You have reached the maximum number of requests", "We reached the end of the steps"],
    ),
    "a-reset-before-a-sale": (
        "rate_limited",
        [
            "Free quota used, resets at 10:00",
            "Free tier quota exceeded. Upgrade to Pro or try again tomorrow",
            {"status": 402, "message": "Free quota used, resets at 10:00"},
            "Your credits are exhausted, they refill on Monday",
        ],
        ["Free quota used", {"status": 402, "message": "Buy more credits at 10:00"}, "Quota exceeded, limit: 0"],
    ),
    "tokens-behind-a-429": (
        "rate_limited",
        [
            {"status": 429, "message": "Token limit exceeded"},
            {"status": 429, "message": "Used up all tokens of the key"},
        ],
        [
            {"status": 400, "message": "Token limit exceeded"},
            {"status": 429, "message": "The prompt has 9,100 tokens, the model takes 8,000 tokens"},
        ],
    ),
    "a-command-that-is-not-there": (
        "tool_not_found",
        [
            "The command failed with exit code 127",
            "Hook exited with status 127",
            "/bin/sh: heron: not found",
            "step 2 failed: sh: 1: heron: not found",
            "npx: not found",
            "Cannot locate the heron binary",
            "Executable doesn't exist at /opt/heron/bin",
        ],
        ["The command failed with exit code 1", "127 herons were found", "exit code 1270"],
    ),
    "a-tool-that-nobody-offers": (
        "tool_not_found",
        [
            "'fold' is no tool of ours. Available tools: crease, cut",
            "Tool 'fold' was called but is not available",
            {"status": 500, "message": "Tool fold was requested but not found"},
        ],
        ["tools is not supported by this model", "The tool has many uses"],
    ),
    "answers-that-are-none": (
        "network_transient",
        [
            "The response was empty",
            "Invalid API response",
            "Unable to get json response",
            "no response body",
            "The tunnel closed before a response was there",
            "Reconnecting... 2/5",
        ],
        ["Invalid response_format: heron", "The prompt is empty"],
    ),
    "empty-and-missing-parts": (
        "validation",
        [
            "Message text is empty",
            "The prompt must not be blank",
            "A value must be provided",
            "The blocks hold no non-whitespace text",
            "Invalid 'nests': too many",
            "No tool output found for the call",
            "The provider was not specified",
        ],
        ["The answer of the model is empty", "The street is empty", "An API key must be provided"],
    ),
    "access-that-an-account-has-not": (
        "auth_error",
        [
            "Nest mode is only available to paid users",
            "Your plan does not support this model",
            "Invalid authentication",
            "Set the `HERON_API_KEY` environment variable",
            "You do not have any credits yet",
            "Login failed",
            "The MCP server requires authentication",
            "To use nests, upgrade to Plus",
            "No access to this model",
        ],
        ["The door is only available in blue", "Set the table", "IO error: Permission denied (os error 13)"],
    ),
    "a-status-after-a-dash": (
        "network_transient",
        ["unexpected status code - 502", "request failed: 503", "Server error '500 Internal' for the url"],
        ["unexpected status code - 404", "page - 502"],
    ),
    "a-service-of-this-machine-that-nobody-started": (
        "tool_not_found",
        [
            "Cannot connect to the Docker daemon at unix:///nest.sock. Is the docker daemon running?",
            "failed to reach the docker API at unix:///nest.sock: no such file or directory",
            "dial unix /run/heron.sock: connect: no such file or directory",
            "Could not find the nest command: heron",
        ],
        ["connect ECONNREFUSED 127.0.0.1:11434", "dial tcp 10.0.0.7:443: connect: connection refused"],
    ),
    "a-cap-with-the-hour-of-its-reset": (
        "rate_limited",
        ["Nest spending cap reached · resets 6pm", "Nest cap reached resets 6:30 pm"],
        ["Monthly spending limit reached. Resets on 1 March", "Nest spending cap reached"],
    ),
    "a-status-behind-what-failed": (
        "rate_limited",
        ["Error looking for herons: 429", "Failed nest lookup: 429", "heron lite page: Ratelimit"],
        ["The herons counted: 429", "Error 1 in nest: 42"],
    ),
    "a-class-of-a-client-in-words": (
        "network_transient",
        [
            "The heron run broke. Error type: APIConnectionError",
            "gave up on <Nest state=finished raised ConnectionError>",
            "error decoding response body, request id: heron-7",
            "no close frame received or sent",
            "The nest's socket was disconnected",
        ],
        ["Error type: HeronError", "The frame is closed"],
    ),
    "what-is-too-long-is-no-overflow": (
        "validation",
        [
            "The maximum tokens requested exceed the model limit of 4096",
            "Cut off because the output limit was reached, raise max_tokens",
        ],
        ["The prompt exceeds the maximum of 4096 tokens"],
    ),
}
"""Reason, texts that have it, texts that look alike and have it not."""


@each_row("name", CLASSES)
def test_each_class_is_known_and_not_what_looks_like_it(name):
    """A class of words is judged by what it says, in the words of nobody in particular."""
    reason, those, others = CLASSES[name]
    assert [text for text in those if classify(text).reason != reason] == []
    assert [text for text in others if classify(text).reason == reason] == []


@each_row(
    "text",
    [
        "heron-core exited unexpectedly with code 134",
        "The nest was stopped by signal SIGKILL",
        "The heron crashed. (Exit code: 18446744072635812000)",
        "The browser crashed unexpectedly",
        "sandbox: apply: Operation not permitted",
        "yaml: line 4: nests are not allowed here",
        "Failed to parse nest.json: trailing comma",
        "This file is too large to read: 12 MB",
        "undefined is not an object",
        "src/nest.c:12:3: invalid type argument of heron",
        "error[E0599]: missing field `nest` in the request",
        "error TS2345: the argument is not supported here",
        'ERROR: column "nest" must be unique',
        "error at or near heron: invalid value",
        "new row must be unique, it violates the unique constraint",
        "grep: invalid value for heron",
        "fatal: unrecognized argument: --nest",
        "usage: heron NEST, invalid value 'x' for '--nest'",
        "npm error Invalid package name",
        "imports nest from heron: import cycle not allowed",
        "Found 2 matches of the text; it must be unique, read it again",
        "CUDA error: invalid argument",
        "heron.scanner.ScannerError: values are not allowed here",
    ],
)
def test_a_local_program_is_no_provider(text):
    """A process, a file, a compiler, a database, a command line or a sandbox of this machine fails in words that are
    also a provider's.
    """
    assert classify(text).reason == "unknown"


def test_a_status_does_not_hide_what_its_body_says_of_memory():
    """A 500 of a local server whose machine is too small is not mended by another try."""
    text = "model requires more system memory (9 GiB) than is available"
    assert not classify({"status": 500, "message": text}).retryable
