"""Result events of stream-json: subtype, is_error, terminal_reason and errors, refined by what the text says."""

from __future__ import annotations

import json

import pytest

from analyzer.classifier import classify
from tests import each_row


def result(**fields):
    """A result event with the given fields."""
    return {"type": "result", "duration_ms": 1200, "session_id": "s-1", **fields}


CASES = [
    ("max-turns", result(subtype="error_max_turns", is_error=True), "validation", "max_turns"),
    ("max-turns-flagless", result(subtype="error_max_turns"), "validation", "max_turns"),
    ("budget", result(subtype="error_max_budget_usd", is_error=True), "validation", "max_budget"),
    (
        "structured",
        result(subtype="error_max_structured_output_retries", is_error=True),
        "validation",
        "malformed_output",
    ),
    ("during-execution", result(subtype="error_during_execution", is_error=True, errors=[]), "unknown", None),
    (
        "during-execution-overflow",
        result(subtype="error_during_execution", is_error=True, errors=["prompt is too long"]),
        "context_overflow",
        "prompt_too_long",
    ),
    (
        "during-execution-reset",
        result(subtype="error_during_execution", is_error=True, errors=["read ECONNRESET"]),
        "network_transient",
        "connection",
    ),
    (
        "overflow-in-result",
        result(subtype="success", is_error=True, result="Prompt is too long"),
        "context_overflow",
        "prompt_too_long",
    ),
    (
        "api-error",
        result(
            subtype="success",
            is_error=True,
            result='API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        ),
        "network_transient",
        "overloaded",
    ),
    ("api-status", result(subtype="success", is_error=True, api_error_status=429, result="busy"), "rate_limited", None),
    (
        "api-status-403",
        result(subtype="success", is_error=True, api_error_status=403, result="no"),
        "auth_error",
        "permission",
    ),
    (
        "terminal-prompt",
        result(subtype="success", is_error=True, terminal_reason="prompt_too_long"),
        "context_overflow",
        "prompt_too_long",
    ),
    (
        "terminal-abort",
        result(subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming"),
        "unknown",
        "aborted",
    ),
    (
        "success",
        result(subtype="success", is_error=False, result="I fixed the rate limit exceeded error, 429 and all"),
        "unknown",
        "no_detail",
    ),
]


@each_row("event, reason, detail", [case[1:] for case in CASES])
def test_result_event(event, reason, detail):
    """A result event is judged by its subtype and reason to end first, then by its error texts, never by its prose."""
    found = classify(event)
    assert (found.reason, found.detail) == (reason, detail)


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (
            {"exception_class": "context.DeadlineExceeded", "message": "context deadline exceeded"},
            "network_transient",
            "deadline",
        ),
        ({"exit_code": 124}, "network_transient", "deadline"),
        ({"exit_code": 1, "stderr": "something else"}, "unknown", None),
    ],
    ids=["deadline", "exit-124", "general"],
)
def test_step_failures(error, reason, detail):
    """A step's deadline is told from a full context and from a general error."""
    found = classify(error)
    assert (found.reason, found.detail) == (reason, detail)


def test_result_line_of_a_failed_command():
    """The result event at the end of a failed command's output is read; a good run's is not."""
    line = json.dumps(result(subtype="success", is_error=True, api_error_status=529, result="busy"))
    stdout = '{"type":"system","subtype":"init"}\n' + line + "\n"
    found = classify({"exit_code": 1, "stdout": stdout})
    assert (found.reason, found.detail, found.facts.status) == ("network_transient", "overloaded", 529)
    assert classify({"exit_code": 0, "stdout": stdout}).detail == "no_detail"


def test_result_line_without_error_is_prose():
    """A result event that says it went well does not make a failed command a good one."""
    line = json.dumps(result(subtype="success", is_error=False, result="rate limit exceeded"))
    found = classify({"exit_code": 1, "stdout": line, "stderr": "Error: read ECONNRESET"})
    assert (found.reason, found.detail) == ("network_transient", "connection")
