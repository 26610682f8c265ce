"""A small log of each format with everything that such a log can show, and what the importers read of it.

The table of docs/reference/formats.md is made of this. Values are made up.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from analyzer.events import Event
from analyzer.importers import BY_NAME, FORMATS, HEAD_BYTES, Source, block_of, detect, head_of
from analyzer.importers.places import HOMES
from analyzer.importers.programs import FORKS, Author
from analyzer.importers.shapes.files import SQLITE, rows_as_lines
from analyzer.importers.shapes.rows import slim_goose
from tests import REPOSITORY
from tests.importers.new_kinds.agents import AGENTS
from tests.importers.new_kinds.logs import CASES
from tests.importers.new_kinds.platforms import CHATS, PLATFORMS

FILES = {
    "claude_code": "claude-transcript.jsonl",
    "claude_print": "claude-print.jsonl",
    "gdd": "gdd-events.jsonl",
    "wave": "wave-run.ndjson",
}
"""Formats with a sample among the sample logs; `LOGS` has what that lacks."""

_STOPPED = "Interrupted by the user to make a correction"
_AT = "2026-03-05T10:00:0{}.000Z"
_MS = 1_772_704_800_000


def _codex(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": _AT.format(second), "type": "event_msg", "payload": {"type": kind, **payload}}


def _codex_item(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": _AT.format(second), "type": "response_item", "payload": {"type": kind, **payload}}


def _usage(second: int, used: int, spent: int) -> dict[str, Any]:
    info = {
        "total_token_usage": {"input_tokens": 450, "output_tokens": 450, "total_tokens": 900},
        "last_token_usage": {"input_tokens": spent, "output_tokens": spent, "total_tokens": used},
        "model_context_window": 200_000,
    }
    return _codex(second, "token_count", info=info, rate_limits=None)


def _otlp(**found: object) -> dict[str, Any]:
    kinds = {int: "intValue", bool: "boolValue"}
    attributes = [
        {"key": key.replace("__", "."), "value": {kinds.get(type(value), "stringValue"): value}}
        for key, value in {"session__id": "s", **found}.items()
    ]
    record = {"timeUnixNano": str(_MS * 10**6), "attributes": attributes}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "gemini-cli"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record]}]}]}


def _sdk(**found: object) -> dict[str, Any]:
    attributes = {key.replace("__", "."): value for key, value in {"session__id": "s", **found}.items()}
    return {"hrTime": [_MS // 1000, 0], "resource": {"attributes": {}}, "attributes": attributes}


def _qwen(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    return {"uuid": f"u{number}", "sessionId": "s", "timestamp": _AT.format(number), "type": kind, **keys}


def _qwen_event(number: int, name: str, **found: Any) -> dict[str, Any]:
    event = {"event.name": f"qwen-code.{name}", **found}
    return _qwen(number, "system", subtype="ui_telemetry", systemPayload={"uiEvent": event})


def _gemini(number: int, kind: str, said: str) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": _AT.format(number), "type": kind, "content": said}


def _opencode(number: int, **keys: Any) -> dict[str, Any]:
    named = {"id": f"msg_{number}", "sessionID": "ses_1", "role": "assistant"}
    tokens = {"input": 900 - number, "cache": {"read": 0, "write": 0}}
    return {**named, "time": {"created": _MS, "completed": _MS + number}, "tokens": tokens, **keys}


def _part(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    named = {"id": f"prt_{number}", "messageID": f"msg_{number}", "sessionID": "ses_1", "type": kind}
    return {**named, "time": {"created": _MS + number}, **keys}


_OPENCODE: list[object] = [
    _opencode(1, path={"cwd": "/x"}),
    _part(2, "retry", attempt=1, error={"data": {"message": "busy", "statusCode": 503}}),
    _opencode(3, error={"name": "APIError", "data": {"message": "busy", "statusCode": 503}}),
    _part(4, "compaction", auto=True),
    _opencode(5),
    _opencode(6, error={"name": "MessageAbortedError", "data": {}}),
    _part(7, "tool", tool="bash", state={"status": "error", "error": "not found", "time": {"end": _MS}}),
]


def _crush(said: str, **fields: Any) -> dict[str, Any]:
    source = {"function": "github.com/charmbracelet/crush/internal/x"}
    return {"time": _AT.format(1), "level": "WARN", "source": source, "msg": said, **fields}


def _row(table: str, **keys: Any) -> dict[str, Any]:
    return {"id": "r", "session_id": "s", "updated_at": _MS // 1000, "$row": [table, 1, "r"], **keys}


def _cline(number: int, kind: str, **said: Any) -> dict[str, Any]:
    return {"ts": _MS + number, "type": "say", "say": kind, "text": json.dumps(said)}


def _pi(number: int, stopped: str, **keys: Any) -> dict[str, Any]:
    message = {"role": "assistant", "stopReason": stopped, "usage": {"input": 70}, **keys}
    return {"type": "message", "id": f"e{number}", "timestamp": _AT.format(number), "message": message}


def _copilot(number: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": _AT.format(number), "parentId": None}


def _hands(number: int, **keys: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": "2026-03-05T10:00:00", "source": "agent", "message": "", **keys}


def _claude(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": f"v{number}", "sessionId": "s", "timestamp": _AT.format(number), **keys}


def _stream(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": _AT.format(number), **keys}


def _goose(number: int, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "created": _MS // 1000 + number, "content": list(parts)}


def _notice(said: str, kind: str = "inlineMessage") -> dict[str, Any]:
    return {"type": "systemNotification", "notificationType": kind, "msg": said}


_GOOSE: list[dict[str, Any]] = [
    _goose(1, "assistant", {"type": "text", "text": "Ran into this error: Server error: status: 503."}),
    _goose(2, "assistant", _notice("No credits are left", "creditsExhausted")),
    _goose(3, "assistant", _notice("Exceeded auto-compact threshold of 80%. Performing auto-compaction...")),
    _goose(4, "assistant", _notice("Compaction complete")),
    _goose(5, "assistant", {"type": "toolRequest", "id": "c", "toolCall": {"value": {"name": "shell"}}}),
    _goose(6, "user", {"type": "toolResponse", "id": "c", "toolResult": {"status": "error", "error": _STOPPED}}),
]


def _litellm(began: float, status: str, **keys: Any) -> dict[str, Any]:
    at = _MS // 1000 + began
    named = {"id": f"call-{began}", "trace_id": "t", "call_type": "acompletion", "custom_llm_provider": "openai"}
    return {**named, "model": "m", "status": status, "startTime": at, "endTime": at + 1, **keys}


def _kimi(number: int, event: dict[str, Any]) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": event, "time": _MS + number}


_VIBE_FAILED = "<tool_error>bash failed: Command failed: 'x'\nReturn code: 1</tool_error>"


def _kiro(kind: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"version": "v1", "kind": kind, "data": {"message_id": "m", "content": [part]}}


def _step(number: int, kind: str, said: str) -> dict[str, Any]:
    named = {"step_index": number, "source": "MODEL", "type": kind, "status": "DONE"}
    return {**named, "created_at": _AT.format(number), "content": said}


def _hermes(role: str, **keys: Any) -> dict[str, Any]:
    named = {"session_id": "s", "role": role, "content": None, "tool_calls": None, "tool_call_id": None}
    return {**named, "tool_name": None, "finish_reason": None, "timestamp": _MS / 1000, **keys}


_HERMES: list[dict[str, Any]] = [
    _hermes("assistant", tool_calls='[{"function": {"name": "terminal"}}]'),
    _hermes("tool", tool_name="terminal", content='{"exit_code": 1}'),
    {"id": "s", "started_at": _MS / 1000, "ended_at": None, "end_reason": "compression", "cwd": "/x", "messages": []},
]


def _logged(second: int, said: str) -> str:
    return f"2026-03-05 10:00:0{second},000 WARNING [s] agent.conversation_loop: {said}"


_LIMIT = "Claude AI usage limit reached|1772712000"
_NO_TOOL = {
    "type": "tool_result",
    "is_error": True,
    "content": "<tool_use_error>No such tool available: Fly</tool_use_error>",
}

PATHS = {
    "crush": "/x/.crush/logs/crush.log",
    "crush_db": "/x/.crush/crush.db",
    "aider": "/x/.aider.chat.history.md",
    "kimi": "/home/me/.kimi-code/sessions/wd_x/s/agents/main/wire.jsonl",
    "gemini_chat": "/home/me/.gemini/tmp/x/chats/session-1.jsonl",
}
"""Where logs lie whose path tells the project."""
LOGS: dict[str, list[object]] = {
    "claude_code": [
        _claude(1, "assistant", isApiErrorMessage=True, message={"content": _LIMIT}),
        _claude(2, "user", message={"content": [_NO_TOOL]}),
    ],
    "claude_print": [
        {"type": "system", "subtype": "compact_boundary", "session_id": "s", "compact_metadata": {"pre_tokens": 9}},
        {"type": "result", "subtype": "success", "is_error": True, "session_id": "s", "result": _LIMIT},
    ],
    "gdd": [
        {"type": "api.retry", "timestamp": _AT.format(1), "sessionId": "s", "payload": {"attempt": 1, "delay_ms": 5}},
        {"type": "rate_limit", "timestamp": _AT.format(2), "sessionId": "s", "payload": {"provider": "p"}},
        {
            "type": "compact.boundary",
            "timestamp": _AT.format(3),
            "sessionId": "s",
            "payload": {"tokens_before": 9, "tokens_after": 1},
        },
    ],
    "codex": [
        {"timestamp": _AT.format(0), "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
        _usage(1, 900, 450),
        {"timestamp": _AT.format(2), "type": "compacted", "payload": {"message": ""}},
        _usage(3, 90, 0),
        _codex(4, "error", message="Limit", codex_error_info="usage_limit_exceeded"),
        _codex(5, "turn_aborted", reason="interrupted"),
        _codex_item(6, "function_call", name="shell", arguments="{}", call_id="c1"),
        _codex_item(7, "function_call_output", call_id="c1", output="Exit code: 2\nOutput:"),
    ],
    "codex_exec": [
        {"type": "thread.started", "thread_id": "s"},
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"id": "0", "msg": {"type": "turn_aborted"}},
    ],
    "qwen": [
        _qwen(0, "assistant", cwd="/x", message={"role": "model"}, usageMetadata={"promptTokenCount": 70}),
        _qwen_event(1, "api_error", error_message="busy", status_code=503),
        _qwen_event(2, "api_retry", attempt_number=1, retry_delay_ms=5),
        _qwen_event(3, "api_cancel"),
        _qwen_event(5, "tool_call", function_name="edit", success=False, error="0 occurrences found"),
        _qwen(
            4,
            "system",
            subtype="chat_compression",
            systemPayload={"info": {"originalTokenCount": 9, "newTokenCount": 1, "compressionStatus": 1}},
        ),
    ],
    "pi": [
        {"type": "session", "id": "s", "timestamp": _AT.format(0), "cwd": "/x"},
        _pi(1, "error", errorMessage="529 overloaded"),
        _pi(2, "stop"),
        {"type": "compaction", "id": "c", "timestamp": _AT.format(3), "tokensBefore": 900},
        _pi(4, "stop"),
        _pi(5, "aborted"),
        {
            "type": "message",
            "id": "e6",
            "timestamp": _AT.format(6),
            "message": {"role": "toolResult", "toolName": "bash", "isError": True, "content": [{"text": "ENOENT"}]},
        },
    ],
    "copilot": [
        _copilot(0, "session.start", sessionId="s", context={"cwd": "/x"}),
        _copilot(1, "session.error", errorType="quota", message="402", statusCode=402),
        _copilot(2, "session.compaction_complete", success=True, preCompactionTokens=9, postCompactionTokens=2),
        _copilot(3, "abort", reason="user_initiated"),
        _copilot(4, "tool.execution_start", toolCallId="c", toolName="bash"),
        _copilot(5, "tool.execution_complete", toolCallId="c", success=False, error={"message": "timed out"}),
        _copilot(6, "session.shutdown", modelMetrics={"m": {"usage": {"inputTokens": 70}}}),
    ],
    "opencode": [*_OPENCODE],
    "opencode_db": [{"sqlite": {"tables": ["session", "message", "part"]}}, *_OPENCODE],
    "openhands": [
        _hands(1, kind="ConversationErrorEvent", code="x", detail="status: 500"),
        _hands(2, kind="Condensation"),
        _hands(3, kind="ActionEvent", tool_name="terminal"),
        _hands(4, kind="AgentErrorEvent", tool_name="terminal", error="no such file"),
    ],
    "otlp": [
        _otlp(event__name="gemini_cli.api_error", error="busy", status_code=503),
        _otlp(event__name="gemini_cli.network_retry_attempt", attempt=1, delay_ms=5),
        _otlp(event__name="qwen-code.api_cancel"),
        _otlp(event__name="gemini_cli.chat_compression", tokens_before=9, tokens_after=1),
        _otlp(event__name="gemini_cli.tool_call", function_name="edit", success=False, error="hunk"),
    ],
    "gemini_stream": [
        _stream(0, "init", session_id="s", model="m"),
        _stream(1, "tool_use", tool_name="read_file", tool_id="c", parameters={}),
        _stream(2, "tool_result", tool_id="c", status="error", error={"type": "file_not_found", "message": "ENOENT"}),
        _stream(3, "result", status="error", error={"type": "Error", "message": '[API Error: {"code": 503}]'}),
        _stream(4, "result", status="error", error={"type": "FatalCancellationError", "message": "Cancelled."}),
    ],
    "goose": [{"working_dir": "/x", "description": "", "message_count": 6}, *_GOOSE],
    "goose_db": [
        {"sqlite": {"tables": ["messages", "schema_version", "sessions"]}},
        {"id": "log", "working_dir": "/x", "updated": "2026-03-05 10:00:00", "$row": ["sessions", 1, "log"]},
        *(
            {**slim_goose(row["role"], row["created"], row["content"]), "session": "log", "$row": ["messages", 1, "m"]}
            for row in _GOOSE
        ),
    ],
    "litellm": [
        _litellm(1, "failure", error_information={"error_code": "503", "error_message": "busy"}),
        _litellm(3, "success"),
    ],
    "gemini_telemetry": [
        _sdk(event__name="gemini_cli.api_error", error="busy", status_code=503),
        _sdk(event__name="gemini_cli.network_retry_attempt", attempt=1, delay_ms=5),
        _sdk(event__name="gemini_cli.api_response"),
        _sdk(event__name="gemini_cli.chat_compression", tokens_before=9, tokens_after=1),
        _sdk(event__name="gemini_cli.tool_call", function_name="edit", success=False, decision="reject"),
    ],
    "gemini_chat": [
        {"sessionId": "s", "projectHash": "h", "startTime": _AT.format(0)},
        _gemini(1, "error", '[API Error: {"code": 429}]'),
        _gemini(2, "info", "Chat history compressed from 9 to 1 tokens."),
        _gemini(3, "info", "Request cancelled."),
        {
            **_gemini(4, "gemini", ""),
            "tokens": {"input": 70},
            "toolCalls": [{"id": "c", "name": "edit", "status": "cancelled", "result": []}],
        },
    ],
    "crush": [
        _crush("Provider request failed, retrying", status_code=529, retry_delay="1s"),
        _crush("Request cancellation initiated", session_id="s"),
    ],
    "crush_db": [
        {"sqlite": {"tables": ["files", "goose_db_version", "messages", "sessions"]}},
        _row("messages", role="assistant", finished=[{"reason": "error", "details": "500"}, {"reason": "canceled"}]),
        _row("sessions", summary_message_id="m"),
        _row(
            "messages",
            role="tool",
            finished=[{}],
            called=[{"name": "bash"}],
            failed=[{"name": "bash", "call": "c", "said": "ENOENT"}],
        ),
    ],
    "cline": [
        _cline(1, "error_retry", attempt=1, maxAttempts=3, delaySeconds=2),
        _cline(2, "api_req_started", cancelReason="user_cancelled"),
        _cline(3, "compaction", status="completed", tokensBefore=9, tokensAfter=1),
        _cline(4, "tool", tool="readFile"),
        _cline(5, "error"),
        _cline(6, "api_req_started", tokensIn=70),
    ],
    "kimi": [
        {"type": "metadata", "protocol_version": "1.5", "created_at": _MS},
        {"type": "config.update", "environmentDisclosure": {"cwd": "/x"}, "time": _MS},
        {"type": "llm.request", "kind": "loop", "provider": "p", "model": "m", "attempt": "2/3", "time": _MS + 1},
        _kimi(2, {"type": "tool.call", "toolCallId": "c", "name": "Bash"}),
        _kimi(3, {"type": "tool.result", "toolCallId": "c", "result": {"output": "ENOENT", "isError": True}}),
        {"type": "context.apply_compaction", "tokensBefore": 9, "tokensAfter": 1, "time": _MS + 4},
        {"type": "usage.record", "model": "k", "usage": {"inputOther": 70, "output": 7}, "time": _MS + 4},
        {"type": "turn.ended", "reason": "failed", "error": {"code": "x", "message": "busy"}, "time": _MS + 5},
        {"type": "turn.cancel", "reason": "user_cancelled", "time": _MS + 6},
    ],
    "vibe": [
        {"role": "assistant", "injected": False, "message_id": "m1", "tool_calls": [{"function": {"name": "bash"}}]},
        {"role": "tool", "injected": False, "tool_call_id": "c", "name": "bash", "content": _VIBE_FAILED},
        {"role": "user", "injected": True, "message_id": "m2", "content": "<compaction_summary>…"},
    ],
    "kiro": [
        {"version": "v1", "kind": "Prompt", "data": {"message_id": "m", "content": [], "meta": {"timestamp": _MS}}},
        _kiro("AssistantMessage", {"kind": "toolUse", "data": {"toolUseId": "c", "name": "shell"}}),
        _kiro("ToolResults", {"kind": "toolResult", "data": {"toolUseId": "c", "content": [], "status": "error"}}),
        {
            "session_id": "s",
            "cwd": "/x",
            "session_state": {
                "conversation_metadata": {
                    "user_turn_metadatas": [
                        {
                            "loop_id": 1,
                            "end_reason": "Error",
                            "end_timestamp": _AT.format(1),
                            "result": {"Err": {"Stream": {"kind": "throttling"}}},
                        },
                        {"loop_id": 2, "end_reason": "Cancelled", "end_timestamp": _AT.format(2)},
                    ]
                }
            },
        },
    ],
    "antigravity": [
        _step(1, "USER_INPUT", "hi"),
        _step(2, "ERROR_MESSAGE", "Error: 503 busy"),
        {**_step(3, "PLANNER_RESPONSE", ""), "tool_calls": [{"name": "run_command"}]},
        _step(4, "RUN_COMMAND", "The command failed with exit code: 1"),
        _step(5, "CHECKPOINT", "{{ CHECKPOINT 1 }}"),
    ],
    "hermes": [*_HERMES],
    "hermes_db": [
        {"sqlite": {"tables": ["messages", "sessions", "state_meta"]}},
        *({**row, "called": [{"name": "terminal"}], "failed": "Exit code 1"} for row in _HERMES[:2]),
        {**_HERMES[2], "messages": None, "$row": ["sessions", 1, "s"]},
    ],
    "hermes_log": [
        _logged(1, "API call failed (attempt 1/3) error_type=X provider=p base_url=u model=m summary=HTTP 503: busy"),
        _logged(2, "Retrying API call in 2.5s (attempt 1/3) provider=p"),
        _logged(4, "API call #1: model=m provider=p in=1 out=1"),
    ],
    "aider": [
        "# aider chat started at 2026-03-05 10:00:00",
        "> litellm.APIError: busy",
        "> Retrying in 0.2 seconds...",
        "> ^C again to exit",
    ],
}
LOGS = {**{case.format: [*case.records] for case in reversed((*CASES, *PLATFORMS, *CHATS))}, **LOGS}
for _case in AGENTS:
    LOGS.setdefault(_case.format, []).extend(_case.records)
    PATHS.setdefault(_case.format, _case.path)


def events_of(name: str) -> list[Event]:
    """What is read of the log of a format."""
    sample = (REPOSITORY / "sample_events" / FILES[name]).read_bytes() if name in FILES else b""
    data = sample + b"".join(_line(item) + b"\n" for item in LOGS.get(name, ()))
    kind = detect(head_of(data[:HEAD_BYTES]))
    assert kind.name == name, (name, kind.name)
    assert kind.reader is not None
    reader = kind.reader(Source(PATHS.get(name, "task/log"), datetime(2026, 3, 5)), {})
    found = [event for hit in reader.read(block_of(data)) for event in hit.events]
    return [*found, *reader.finish()]


def _line(item: object) -> bytes:
    return item.encode() if isinstance(item, str) else json.dumps(item).encode()


KINDS = ("errors", "retries", "ends of retries", "compaction", "limits", "stops", "failed tools", "tokens")
"""What may be read of a log."""
MOST_MISSING = 3
"""An agent of whose logs all but so few kinds are read has these named instead."""


PRINTED = {
    "claude_print": "Claude Code",
    "codex_exec": "Codex",
    "gemini_stream": "Gemini CLI",
    "hermes": "Hermes",
    "langfuse": "Langfuse",
    "langsmith": "LangSmith",
    "mlflow": "MLflow",
    "weave": "Weave",
    "openai_agents": "OpenAI Agents SDK",
}
"""Formats that an agent prints or exports, wherever somebody sends them."""


def agents() -> list[str]:
    """A line for each program that leaves logs: the formats that it writes, and what is read of them together."""
    lines = []
    for agent, names in written().items():
        kinds = set().union(*(_kinds(events_of(name)) for name in names))
        missing = [kind for kind in KINDS if kind not in kinds]
        read = ", ".join(kind for kind in KINDS if kind in kinds) or "requests only"
        if len(missing) <= MOST_MISSING:
            read = "all" + (f" but {', '.join(missing)}" if missing else "")
        lines.append(f"- {agent} ({', '.join(f'`{name}`' for name in names)}): {read}")
    return lines


def written() -> dict[str, list[str]]:
    """The formats that each program writes."""
    left = [kind.name for kind in FORMATS if kind.reader and not kind.native]
    known: dict[str, list[str]] = {}
    for agent, formats in (*((row.agent, row.formats) for row in HOMES), *((row.title, row.formats) for row in FORKS)):
        known[agent] = list(dict.fromkeys([*known.get(agent, ()), *(name for name in formats if name in left)]))
    for name in (name for name in left if not any(name in formats for formats in known.values())):
        known.setdefault(PRINTED.get(name, BY_NAME[name].title), []).append(name)
    for name, agent in PRINTED.items():
        if name not in known[agent]:
            known[agent].append(name)
    return {agent: names for agent, names in known.items() if names}


def _kinds(events: Iterable[Event]) -> set[str]:
    """What the events of a log tell, as in `KINDS`."""
    types = {event.type for event in events}
    kinds = {
        "errors": "error.classified" in types,
        "retries": "retry.scheduled" in types,
        "ends of retries": "retry.settled" in types,
        "compaction": "relay.triggered" in types,
        "limits": bool({"agent.exhausted", "call.short_circuited"} & types),
        "stops": any("aborted" in event.payload for event in events if event.type == "session.observed"),
        "failed tools": "tool.failed" in types,
        "tokens": "usage.recorded" in types,
    }
    return {kind for kind, is_read in kinds.items() if is_read}


def tried(folders: Iterable[str]) -> list[str]:
    """The lines of `agents`, each with how many files of these folders are its own."""
    counts: dict[tuple[str, str | None], int] = {}
    for path in (path for folder in folders for path in sorted(Path(folder).rglob("*")) if path.is_file()):
        with path.open("rb") as handle:
            head = head_of(first_line(handle.read(HEAD_BYTES), path))
        name = detect(head).name
        author = Author(name, str(path), None)
        for record in head.elements or head.objects:
            author.recognise(record)
        fork = next((row.title for row in FORKS if name in row.formats and row.agent == author.fork), None)
        counts[name, fork] = counts.get((name, fork), 0) + 1
    lines = []
    for line, (title, names) in zip(agents(), written().items(), strict=True):
        forked = {name for fork in FORKS if fork.title == title for name in fork.formats}
        own = sum(counts.get((name, title if name in forked else None), 0) for name in names)
        lines.append(f"{line}; files: {own}")
    return lines


def first_line(data: bytes, path: Path) -> bytes:
    """The beginning of a log; of a database the line that names its tables."""
    return next(rows_as_lines(str(path), {})) if data.startswith(SQLITE) else data


if __name__ == "__main__":
    print("\n".join(tried(sys.argv[1:])))
