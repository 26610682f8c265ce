"""Gemini CLI's chats and Qwen Code's, record by record, with made-up values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.importers.shapes.documents import unfolded
from tests.importers.conftest import Read, of

HEAD = {"sessionId": "g-1", "projectHash": "h", "startTime": "2026-03-05T10:00:00.000Z", "kind": "main"}


def message(kind: str, content: object, number: int = 1, **keys: Any) -> dict[str, Any]:
    """A message of a chat."""
    at = f"2026-03-05T10:00:{number:02}.000Z"
    return {"id": f"m-{number}", "timestamp": at, "type": kind, "content": content, **keys}


QUOTA = (
    '[API Error: {"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}} (Status: RESOURCE_EXHAUSTED)]'
)


def test_an_api_error_is_read_with_its_code(read: Read) -> None:
    """Code and status stand in the text."""
    (error,) = of(read(HEAD, message("error", QUOTA))[0], "error.classified")
    assert (error.payload["facts"]["status"], error.payload["facts"]["type"]) == (429, "RESOURCE_EXHAUSTED")
    assert (error.session_id, error.payload["outcome"]) == ("g-1", "surfaced")
    assert error.payload["provider"] == "google"


@pytest.mark.parametrize(
    "record",
    [
        message("error", "Error during discovery for MCP server 'db': MCP error -32000: Connection closed"),
        message("gemini", QUOTA),
        message("user", [{"text": QUOTA}]),
        message("info", QUOTA),
    ],
)
def test_what_is_no_failed_call_is_no_error(read: Read, record: dict[str, Any]) -> None:
    """Other errors, and prose that quotes one."""
    assert of(read(HEAD, record)[0], "error.classified") == []


def test_the_last_record_of_an_id_holds(read: Read) -> None:
    """A reply that grows is one request; a stop is counted once."""
    grown = [message("gemini", text, 2, model="m") for text in ("a", "ab", "abc")]
    stopped = [message("info", "Request cancelled.", 3)] * 2
    (seen,) = read(HEAD, *grown, {"$set": {"lastUpdated": "x"}}, *stopped)[0]
    assert (seen.payload["requests"], seen.payload["aborted"]) == (1, 1)


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        ("Context compressed from 68% to 3%.", (None, None)),
        ("Chat history compressed from 900 to 80 tokens.", (900, 80)),
    ],
)
def test_compressions_are_relays(read: Read, said: str, tokens: tuple[int | None, int | None]) -> None:
    """In tokens, or in percent of the window."""
    events, _ = read(HEAD, message("info", said))
    (begun,), (done,) = of(events, "relay.triggered"), of(events, "relay.resumed")
    assert (begun.payload.get("pre_tokens"), done.payload.get("post_tokens")) == tokens
    assert begun.payload.get("token_usage_percent") == (68.0 if tokens[0] is None else None)


def test_a_chat_is_the_same_as_a_document_and_on_one_line(read: Read) -> None:
    """Older versions rewrite one object; its messages are records."""
    messages = [message("user", "x", 1), message("error", QUOTA, 2), message("gemini", "y", 3)]
    lines = read(HEAD, *messages)[0]
    document = json.dumps({**HEAD, "messages": messages}, indent=2).encode()
    assert lines == read(*unfolded(document).strip().split(b"\n"))[0]
    assert lines == read({**HEAD, "messages": messages})[0]


def qwen(kind: str, number: int = 1, **keys: Any) -> dict[str, Any]:
    """A record of a Qwen Code chat."""
    return {
        "uuid": f"u-{number}",
        "parentUuid": None,
        "sessionId": "q-1",
        "timestamp": f"2026-03-05T10:00:{number:02}.000Z",
        "type": kind,
        "cwd": "/home/ada/engine",
        "version": "0.11.0",
        **keys,
    }


def telemetry(number: int, name: str, **found: Any) -> dict[str, Any]:
    """A `system` record with an event of the program's telemetry."""
    return qwen("system", number, subtype="ui_telemetry", systemPayload={"uiEvent": {"event.name": name, **found}})


def test_errors_of_qwen_code_stand_in_its_telemetry(read: Read) -> None:
    """A failed call, its retry, the reply; an abort by the user is no error."""
    events, _ = read(
        qwen("assistant", 1, message={"role": "model", "parts": []}),
        telemetry(2, "qwen-code.api_error", error_message="busy", status_code=503, error_type="ServerError"),
        telemetry(3, "qwen-code.api_retry", attempt_number=1, retry_delay_ms=1500, error_type="ServerError"),
        telemetry(4, "qwen-code.api_response", status_code=200),
        telemetry(5, "qwen-code.api_error", error_type="APIUserAbortError"),
    )
    (error,) = of(events, "error.classified")
    assert (error.payload["facts"]["status"], error.payload["facts"]["message"]) == (503, "busy")
    assert of(events, "retry.settled")[0].payload["waited_seconds"] == 1.5
    (seen,) = of(events, "session.observed")
    assert (seen.payload["requests"], seen.payload["aborted"], seen.payload["agent_version"]) == (1, 1, "0.11.0")


@pytest.mark.parametrize(
    ("status", "last"), [(1, "relay.resumed"), (2, "relay.halted"), (3, "relay.halted"), (4, None)]
)
def test_compressions_of_qwen_code_are_relays(read: Read, status: int, last: str | None) -> None:
    """Done, failed, or not needed."""
    info = {"originalTokenCount": 9000, "newTokenCount": 700, "compressionStatus": status}
    record = qwen("system", subtype="chat_compression", systemPayload={"info": info})
    found = [event for event in read(record)[0] if event.type.startswith("relay.")]
    assert [event.type for event in found] == ([] if last is None else ["relay.triggered", last])
