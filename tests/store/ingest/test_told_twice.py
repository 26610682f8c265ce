"""A failure that an agent's own log and its telemetry both tell counts once, whichever is read first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from analyzer.store import Store, open_store

SECOND = 1_772_704_800
"""2026-03-05T10:00:00Z in seconds."""
Record = dict[str, Any]
Logs = dict[str, list[Record]]


def at(second: float) -> str:
    """A moment as logs write it."""
    return f"2026-03-05T10:00:{second:06.3f}Z"


def otel(service: str, second: float, name: str, **found: Any) -> Record:
    """An event of telemetry; two underscores of a name are a dot."""
    kinds = {int: "intValue", bool: "boolValue"}
    attributes = [
        {"key": key.replace("__", "."), "value": {kinds.get(type(value), "stringValue"): value}}
        for key, value in {"event__name": name, "event__timestamp": at(second), **found}.items()
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [{"attributes": attributes}]}]}]}


def codex(status: int = 503, later: float = 0.2) -> Logs:
    """A call of Codex that failed twice, as its telemetry tells it, and the turn that it ended."""
    meta = {"timestamp": at(0), "type": "session_meta", "payload": {"id": "c-1", "cwd": "/home/ada/engine"}}
    failed = {"type": "error", "message": f"exceeded retry limit, last status: {status} X", "codex_error_info": "other"}
    tool = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "t"}
    result = {"type": "function_call_output", "call_id": "t", "output": "Exit code: 2\nOutput:\n"}
    lines = [
        meta,
        {"timestamp": at(1), "type": "response_item", "payload": tool},
        {"timestamp": at(2), "type": "response_item", "payload": result},
        {"timestamp": at(9 + later), "type": "event_msg", "payload": failed},
    ]
    calls = [
        otel(
            "codex_exec",
            8 + number,
            "codex.api_request",
            conversation__id="c-1",
            attempt=number,
            http__response__status_code=503,
            error__message="http 503",
        )
        for number in (0, 1)
    ]
    told = otel("codex_exec", 2.1, "codex.tool_result", conversation__id="c-1", tool_name="shell", success="false")
    return {"rollout": lines, "telemetry": [told, *calls]}


def gemini() -> Logs:
    """A call of Gemini CLI that failed, in its chat and in its telemetry."""
    head = {"sessionId": "g-1", "projectHash": "h", "startTime": at(0)}
    shown = {"id": "m", "timestamp": at(8.4), "type": "error", "content": '[API Error: {"code": 503}]'}
    call = {"id": "t", "name": "edit", "status": "error", "timestamp": at(4), "resultDisplay": "0 occurrences"}
    reply = {"id": "r", "timestamp": at(1), "type": "gemini", "content": "", "toolCalls": [call]}
    told = [
        otel("gemini-cli", 4.1, "gemini_cli.tool_call", session__id="g-1", function_name="edit", success=False),
        otel("gemini-cli", 8, "gemini_cli.api_error", session__id="g-1", error="busy", status_code=503),
        otel("gemini-cli", 5, "gemini_cli.api_response", session__id="g-1"),
    ]
    return {"chat": [head, reply, shown], "telemetry": told}


def claude() -> Logs:
    """A call of Claude Code that failed twice, and was given up."""

    def record(second: float, kind: str, **keys: Any) -> Record:
        return {"type": kind, "uuid": f"u{second}", "sessionId": "a-1", "timestamp": at(second), **keys}

    again = {"subtype": "api_error", "retryAttempt": 1, "maxRetries": 10, "retryInMs": 500}
    lines = [
        record(1, "system", **again, error={"status": 529, "message": "Overloaded"}),
        record(3, "assistant", isApiErrorMessage=True, message={"content": "API Error: 529 Overloaded"}),
    ]
    told = otel(
        "claude-code", 3.1, "claude_code.api_error", session__id="a-1", error="Overloaded", status_code="529", attempt=2
    )
    return {"transcript": lines, "telemetry": [told]}


@pytest.fixture
def stores(tmp_path: Path, jsonl: Callable[..., Path]) -> Callable[[Logs], list[Store]]:
    """Stores that have read the logs in each order."""

    def read(logs: Logs) -> list[Store]:
        paths = [str(jsonl(f"{name}.jsonl", *records)) for name, records in logs.items()]
        made = []
        for order in permutations(paths):
            store = open_store(":memory:")
            for path in order:
                store.ingest([path])
            made.append(store)
        return made

    return read


def shown(store: Store) -> tuple[Any, ...]:
    """Errors by format, chains, failed tools, and what the session counts of them."""
    errors = store.sql("select source_format, status from errors order by all").rows()
    chains = store.sql("select attempts from retries order by all").rows()
    tools = store.sql("select source_format, tool from tool_failures").rows()
    (seen,) = store.sql("select errors, tool_failures, requests, tool_calls from sessions").rows()
    return errors, chains, tools, seen


def test_a_turn_of_codex_fails_once(stores: Callable[[Logs], list[Store]]) -> None:
    """The telemetry has each call that failed, so the end of the turn, which repeats the last one, is left out."""
    for store in stores(codex()):
        errors, chains, tools, seen = shown(store)
        assert (errors, tools) == ([("otlp", 503)] * 2, [("otlp", "shell")])
        assert (chains, seen) == ([(2,)], (2, 1, 0, 1))
        assert store.sql("select count(*) from events where type = 'error.classified'").rows() == [(3,)]
        assert store.sql("select count(*) from errors_under(null)").rows() == [(2,)]


@pytest.mark.parametrize("other", [{"status": 400}, {"later": 6}])
def test_another_failure_of_the_same_session_counts(stores: Callable[[Logs], list[Store]], other: Any) -> None:
    """One of another status, or of another moment."""
    for store in stores(codex(**other)):
        assert len(shown(store)[0]) == 3


def test_a_failure_of_another_session_counts(stores: Callable[[Logs], list[Store]]) -> None:
    """However near it is."""
    logs = codex()
    logs["rollout"][0]["payload"]["id"] = "c-2"
    for store in stores(logs):
        assert store.sql("select count(*) from errors").rows() == [(3,)]


def test_a_call_of_gemini_fails_once(stores: Callable[[Logs], list[Store]]) -> None:
    """Its chat and its telemetry count the same requests and calls of tools, too."""
    for store in stores(gemini()):
        errors, _, tools, seen = shown(store)
        assert (errors, tools) == ([("otlp", 503)], [("otlp", "edit")])
        assert seen == (1, 1, 1, 1)
        assert store.sql("select tool, calls from tool_calls").rows() == [("edit", 1)]


def test_a_transcript_of_claude_says_more_than_its_telemetry(stores: Callable[[Logs], list[Store]]) -> None:
    """It has every retry: the telemetry's error and its chain are left out."""
    for store in stores(claude()):
        errors, chains, _, seen = shown(store)
        assert ([name for name, _ in errors], len(chains), seen[0]) == (["claude_code"] * 2, 1, 2)


def test_what_is_told_once_stays(stores: Callable[[Logs], list[Store]]) -> None:
    """Each log by itself gives all of its failures."""
    for name, found in (("rollout", 1), ("telemetry", 2)):
        (store,) = stores({name: codex()[name]})
        assert store.sql("select count(*) from errors").rows() == [(found,)]
