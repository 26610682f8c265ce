"""Classes of weakness: a status whose body names another cause, words that are no error of a provider, other languages.

`strangers.jsonl` holds texts that were written before the rules they met were looked at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.classifier import classify
from analyzer.classifier.rules.explain import explain
from tests import each_row

STRANGERS = [
    json.loads(line) for line in Path(__file__).with_name("strangers.jsonl").read_text(encoding="utf-8").splitlines()
]
MISSED = {
    'unsupported protocol scheme ""',
    '{"error":{"message":"Internal server error, please try again","type":"server_error"}}',
    "Method Not Allowed",
    "upstream server returned 502, could not verify token",
}
"""Texts that no rule judges right yet: none of them is wrong with confidence."""


def _judged(row: dict[str, Any]) -> Any:
    return classify({key: value for key, value in row.items() if key != "reason"})


def test_strangers_are_judged_right() -> None:
    """All but the missed ones, which are listed by name, so that a rule that mends one of them shows it."""
    assert {row["message"] for row in STRANGERS if _judged(row).reason != row["reason"]} == MISSED


def test_no_stranger_is_wrong_with_confidence() -> None:
    """What is missed is unknown or says that it is weak."""
    missed = [_judged(row) for row in STRANGERS if row["message"] in MISSED]
    assert len(missed) == len(MISSED)
    assert {found.confidence for found in missed} <= {"weak", None}


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (403, "Forbidden: upstream connect error, heron pool", "network_transient"),
        (401, "The service behind the gateway is unavailable", "network_transient"),
        (403, "The model heron-2 does not exist", "network_permanent"),
        (404, "upstream heron is temporarily unavailable", "network_transient"),
        (429, "The monthly spend cap of the heronry has been hit", "auth_error"),
        (429, "Your balance is negative, please recharge", "auth_error"),
    ],
)
def test_a_status_does_not_decide_against_its_body(status: int, text: str, reason: str) -> None:
    """A 403 that speaks of the upstream or the model, and a 429 that speaks of spend, are judged by their words."""
    assert classify({"status": status, "message": text}).reason == reason


@pytest.mark.parametrize("status", [401, 403, 404, 429])
def test_the_same_status_decides_where_its_body_says_nothing_else(status: int) -> None:
    """The guards object to other causes alone."""
    assert classify({"status": status, "message": "the heron said no"}).evidence == "status"


def test_where_evidence_disagrees_candidates_stand_beside_unknown() -> None:
    """A 400 that says it is the server's fault is neither; the explanation names the rule that the body held back."""
    found = explain({"status": 400, "message": "Internal server error"})
    assert found.classification.reason == "unknown"
    assert {"invalid_status", "server_text"} <= {match.rule for match in found.matches if match.held_back}


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token '<', \"<heron>\" is not valid JSON",
        "unexpected end of JSON input: value missing",
        "EACCES: permission denied, open '/srv/heron/token missing'",
        "heron.py:12: token expired, invalid value",
        "ENOTDIR: not a directory, the server is down",
        "JSONDecodeError: the request exceeded the maximum length",
    ],
)
def test_weak_words_make_no_verdict_of_a_parse_error_a_path_or_an_errno(text: str) -> None:
    """Such texts speak of files and programs: whatever a weak rule finds in them is chance."""
    assert not classify(text).rule.startswith("weak_")


@pytest.mark.parametrize(
    "text",
    [
        "exitCode: 1,\n signal: undefined,\n failed: true,\n timedOut: false,\n isCanceled: false }",
        '{"nest": 3, "rate_limited": false}',
        "heron ended (overloaded=False, quota_exceeded=None)",
        "Error: undefined",
    ],
)
def test_a_field_that_says_no_is_no_evidence(text: str) -> None:
    """What an object names to deny it did not happen."""
    assert classify(text).reason == "unknown"


def test_a_field_that_says_yes_stays_evidence() -> None:
    """And so does what else the object says."""
    assert classify("exitCode: 1, timedOut: true, killed: false").reason == "network_transient"
    assert classify('{"message": "Rate limit exceeded", "retryable": false}').reason == "rate_limited"


@each_row(
    "text, reason",
    [
        ("nest 503: Access denied for the role heron, not authorized to perform nest:Read", "auth_error"),
        ("Internal error: the nest process exited with code 3", "unknown"),
        ("nest-server error: command verification failed: heron exited with status 1", "unknown"),
        ("database connection failed: error: relation nests does not exist", "unknown"),
        ("timeout: failed to run command 'heron': No such file or directory", "tool_not_found"),
        ("Provider error: heron CLI not found at /srv/heron", "tool_not_found"),
        ("'mcp__heron__fold' is not currently available", "tool_not_found"),
        ("Unknown agent error: the heron is tired", "unknown"),
        ("the list of nests returned 401 for heron", "auth_error"),
        ("Total tokens of text exceed max message tokens", "context_overflow"),
        ("Error: No heron message found", "unknown"),
        ("Pool error: All accounts are currently limited", "rate_limited"),
        ("失败: 找不到 heron 命令，请先安装", "tool_not_found"),
        ("Error executing MCP tool: No connection found for server: heron", "tool_not_found"),
        ("invalid warmth: only 1 is allowed for this nest", "validation"),
        ("(psycopg.errors.InvalidNest) invalid input syntax for type nest", "unknown"),
    ],
)
def test_the_narrower_statement_decides(text: str, reason: str) -> None:
    """A process that ended, a missing program, a refused right and a missing table say more than what they stand in."""
    assert classify(text).reason == reason
