"""Logs of agents with chains of retries, one that recovers and one that does not, as far as their logs tell both.

The shapes are those of docs/reference/formats.md, where the source of each stands. Values are made up.
"""

from __future__ import annotations

import json
from typing import Any

from tests.importers.new_kinds.logs import AT, MS, Case


def _qwen(second: int, name: str, **found: Any) -> dict[str, Any]:
    named = {"uuid": f"u{second}", "sessionId": "s", "timestamp": AT.format(second), "type": "system"}
    return {
        **named,
        "subtype": "ui_telemetry",
        "systemPayload": {"uiEvent": {"event.name": f"qwen-code.{name}", **found}},
    }


def _sdk(second: int, name: str, **found: Any) -> dict[str, Any]:
    attributes = {"session.id": "s", "event.name": f"gemini_cli.{name}", **found}
    return {"hrTime": [MS // 1000 + second, 0], "resource": {"attributes": {}}, "attributes": attributes}


def _otlp(second: int, name: str, **found: Any) -> dict[str, Any]:
    kinds = {int: "intValue"}
    attributes = [
        {"key": key, "value": {kinds.get(type(value), "stringValue"): value}}
        for key, value in {"session.id": "s", "event.name": f"gemini_cli.{name}", **found}.items()
    ]
    record = {"timeUnixNano": str((MS + second * 1000) * 10**6), "attributes": attributes}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "gemini-cli"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record]}]}]}


def _part(second: int, kind: str, **keys: Any) -> dict[str, Any]:
    named = {"id": f"prt_{second}", "messageID": f"msg_{second}", "sessionID": "ses_1", "type": kind}
    return {**named, "time": {"created": MS + second * 1000}, **keys}


def _reply(second: int, **keys: Any) -> dict[str, Any]:
    named = {"id": f"msg_{second}", "sessionID": "ses_1", "role": "assistant"}
    return {**named, "time": {"created": MS + second * 1000, "completed": MS + second * 1000 + 5}, **keys}


_BUSY = {"name": "APIError", "data": {"message": "busy", "statusCode": 503}}
_OPENCODE: tuple[dict[str, Any], ...] = (
    _part(1, "retry", attempt=1, error=_BUSY),
    _reply(2, tokens={"input": 70, "output": 7}),
    _part(3, "text", text="Done."),
    _part(4, "retry", attempt=1, error=_BUSY),
    _reply(5, error=_BUSY),
)
_OPENCODE_TOLD = (
    "error 503 1",
    "retry 1",
    "settled recovered 2",
    "error 503 1",
    "retry 1",
    "error 503 2",
    "settled exhausted 2",
    "session 2 requests, 0 calls, 0 stops",
)


def _printed(number: int, said: str) -> dict[str, Any]:
    return {"type": "error", "message": f"{said} (request {number})"}


def _crush(second: int, said: str, **fields: Any) -> dict[str, Any]:
    source = {"function": "github.com/charmbracelet/crush/internal/x"}
    return {"time": AT.format(second), "level": "WARN", "source": source, "msg": said, **fields}


def _cline(second: int, kind: str, **said: Any) -> dict[str, Any]:
    return {"ts": MS + second * 1000, "type": "say", "say": kind, "text": json.dumps(said)}


def _litellm(number: int, began: int, status: str, **keys: Any) -> dict[str, Any]:
    at = MS // 1000 + began
    named = {"id": f"call-{number}", "trace_id": "t", "call_type": "acompletion", "custom_llm_provider": "openai"}
    return {**named, "model": "m", "status": status, "startTime": at, "endTime": at + 1, **keys}


_TELEMETRY_TOLD = (
    "error 503 1",
    "retry 1 after 0.5",
    "settled recovered 2",
    "error 503 1",
    "retry 1 after 0.5",
    "error 503 2",
    "settled exhausted 2",
)


def _telemetry(record: Any) -> tuple[dict[str, Any], ...]:
    """A chain that recovers and one that does not, as Gemini CLI and its forks tell them."""
    return (
        record(1, "api_error", error="busy", status_code=503),
        record(2, "network_retry_attempt", attempt=1, delay_ms=500),
        record(3, "api_response"),
        record(4, "api_error", error="busy", status_code=503),
        record(5, "network_retry_attempt", attempt=1, delay_ms=500),
        record(6, "api_error", error="busy", status_code=503),
        record(7, "chat.content_retry_failure"),
    )


CHAINS = (
    Case("qwen", _telemetry(_qwen), (*_TELEMETRY_TOLD, "session 0 requests, 0 calls, 0 stops")),
    Case("gemini_telemetry", _telemetry(_sdk), (*_TELEMETRY_TOLD, "session 1 requests, 0 calls, 0 stops")),
    Case("otlp", _telemetry(_otlp), (*_TELEMETRY_TOLD, "session 1 requests, 0 calls, 0 stops")),
    Case("opencode", _OPENCODE, _OPENCODE_TOLD),
    Case("opencode_db", ({"sqlite": {"tables": ["message", "part", "session"]}}, *_OPENCODE), _OPENCODE_TOLD),
    Case(
        "codex_exec",
        (
            {"type": "thread.started", "thread_id": "s"},
            _printed(1, "Reconnecting... 1/5"),
            {"type": "turn.completed", "usage": {}},
            _printed(2, "Reconnecting... 1/5"),
            {"type": "turn.failed", "error": {"message": "stream disconnected before completion"}},
        ),
        (
            "error none 1",
            "retry 1",
            "settled recovered 2",
            "error none 1",
            "retry 1",
            "error none 2",
            "settled exhausted 2",
            "session 1 requests, 0 calls, 0 stops",
        ),
    ),
    Case(
        "claude_print",
        (
            {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u0"},
            {
                "type": "system",
                "subtype": "api_retry",
                "session_id": "s",
                "uuid": "u1",
                "attempt": 1,
                "max_retries": 3,
                "retry_delay_ms": 500,
                "error_status": 529,
            },
            {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "session_id": "s",
                "uuid": "u2",
                "result": "Done.",
            },
        ),
        ("error 529 1", "retry 1 after 0.5", "settled recovered 2"),
    ),
    Case(
        "crush",
        (
            _crush(1, "Provider request failed, retrying", status_code=529, retry_delay="1s"),
            _crush(2, "Provider request failed, retrying", status_code=529, retry_delay="2s"),
            _crush(3, "failed to process events: maximum retry attempts reached for rate limit: 8 retries"),
        ),
        (
            "error 529 1",
            "retry 1 after 1.0",
            "error 529 2",
            "retry 2 after 2.0",
            "error none 3",
            "settled exhausted 3 waited 3.0",
        ),
        "/home/me/shop/.crush/logs/crush.log",
    ),
    Case(
        "cline",
        (
            _cline(1, "error_retry", attempt=1, maxAttempts=3, delaySeconds=2, errorMessage="503 busy"),
            _cline(2, "api_req_started", tokensIn=70, tokensOut=7),
            _cline(3, "error_retry", attempt=1, maxAttempts=3, delaySeconds=2, errorMessage="503 busy"),
            _cline(4, "error_retry", attempt=1, maxAttempts=3, failed=True, errorMessage="503 busy"),
        ),
        (
            "error 503 1",
            "retry 1 after 2",
            "settled recovered 2",
            "error 503 1",
            "retry 1 after 2",
            "error 503 2",
            "settled exhausted 2",
            "session 1 requests, 0 calls, 0 stops",
        ),
        "/home/me/tasks/t1/ui_messages.json",
    ),
    Case(
        "litellm",
        (
            _litellm(1, 1, "failure", error_information={"error_code": "503", "error_message": "busy"}),
            _litellm(2, 3, "success"),
        ),
        ("error 503 1", "retry 1 after 1", "settled recovered 2", "session 2 requests, 0 calls, 0 stops"),
    ),
    Case(
        "aider",
        (
            "# aider chat started at 2026-03-05 10:00:00",
            "> litellm.InternalServerError: busy",
            "> Retrying in 0.2 seconds...",
            "Here is the change.",
            "> litellm.InternalServerError: busy",
            "> Retrying in 0.2 seconds...",
            "> litellm.InternalServerError: busy",
            "I stop here.",
        ),
        (
            "error none 1",
            "retry 1 after 0.2",
            "settled recovered 2",
            "error none 1",
            "retry 1 after 0.2",
            "error none 2",
            "settled exhausted 2",
            "session 0 requests, 0 calls, 0 stops",
        ),
        "/home/me/shop/.aider.chat.history.md",
    ),
)
