"""Nothing that was said is stored: no prompt, no reply, no content of a file, nothing that a tool was called with.

Each format gets a log with a mark wherever it keeps such texts, and the store and its journal are searched for it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analyzer.importers import FORMATS
from analyzer.importers.shapes.threads import SHAPES
from analyzer.store import journal_of, open_store
from tests import shown_formats
from tests.importers.new_kinds.agents import AGENTS

MARK = "zebra quill 77"
_AT = "2026-03-05T10:01:00.000Z"
_MS = 1_772_704_860_000
Record = dict[str, Any]


def _otel(wrapped: Callable[..., Record]) -> list[Record]:
    return [
        wrapped(event__name="claude_code.user_prompt", prompt=MARK),
        wrapped(event__name="gemini_cli.api_request", request_text=MARK),
        wrapped(event__name="gemini_cli.tool_call", function_name="read", success=False, function_args=MARK, error="x"),
        wrapped(event__name="codex.tool_result", tool_name="shell", success="false", arguments=MARK, output=MARK),
        wrapped(event__name="gemini_cli.api_error", error="busy", request_text=MARK),
    ]


def _claude(number: int, kind: str, content: object, **keys: Any) -> Record:
    named = {"type": kind, "uuid": f"p{number}", "sessionId": "s", "timestamp": _AT}
    return {**named, "message": {"role": kind, "content": content}, **keys}


_RESULT = {"type": "tool_result", "tool_use_id": "t", "content": f"Exit code 1\n{MARK}", "is_error": True}
_SPAN = {
    "traceId": "a",
    "spanId": "b",
    "status": {"code": 2, "message": "busy"},
    "attributes": [
        {"key": name, "value": {"stringValue": value}}
        for name, value in (("gen_ai.operation.name", "chat"), ("gen_ai.prompt", MARK), ("gen_ai.completion", MARK))
    ],
    "events": [{"name": "gen_ai.content.prompt", "attributes": [{"key": "p", "value": {"stringValue": MARK}}]}],
}
_GOOSE: list[Record] = [
    {"role": "user", "created": _MS // 1000, "content": [{"type": "text", "text": MARK}]},
    {"role": "assistant", "created": _MS // 1000, "content": [{"type": "text", "text": f"Well: {MARK}"}]},
    {
        "role": "assistant",
        "created": _MS // 1000,
        "content": [
            {"type": "thinking", "thinking": MARK},
            {"type": "toolRequest", "id": "g", "toolCall": {"value": {"name": "shell", "arguments": {"c": MARK}}}},
        ],
    },
    {
        "role": "user",
        "created": _MS // 1000,
        "content": [
            {"type": "toolResponse", "id": "g", "toolResult": {"status": "error", "error": f"ENOENT\n{MARK}"}},
            {"type": "toolResponse", "id": "h", "toolResult": {"value": {"content": [{"text": MARK}]}}},
        ],
    },
]
_OPENCODE: list[Record] = [
    {"id": "prt_p", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": MARK},
    {
        "id": "prt_q",
        "messageID": "msg_1",
        "sessionID": "ses_1",
        "type": "tool",
        "tool": "bash",
        "state": {"status": "completed", "input": {"command": MARK}, "output": MARK, "time": {"end": _MS}},
    },
    {
        "id": "prt_r",
        "messageID": "msg_1",
        "sessionID": "ses_1",
        "type": "tool",
        "tool": "bash",
        "state": {"status": "error", "input": {"command": MARK}, "error": f"ENOENT\n{MARK}", "time": {"end": _MS}},
    },
    {"id": "msg_p", "sessionID": "ses_1", "role": "user", "time": {"created": _MS}, "summary": {"title": MARK}},
    {"id": "msg_q", "sessionID": "ses_1", "role": "assistant", "time": {"created": _MS}, "system": [MARK]},
]
_CRUSH: list[Record] = [
    {"type": "text", "data": {"text": MARK}},
    {"type": "reasoning", "data": {"thinking": MARK}},
    {"type": "tool_call", "data": {"id": "c", "name": "bash", "input": MARK}},
    {"type": "tool_result", "data": {"tool_call_id": "c", "name": "bash", "content": MARK}},
    {"type": "tool_result", "data": {"tool_call_id": "c", "content": f"ENOENT\n{MARK}", "is_error": True}},
    {"type": "finish", "data": {"reason": "end_turn", "time": _MS // 1000}},
]
_KIMI_FAILED = {"output": f"ENOENT\n{MARK}", "isError": True}
_HERMES: list[Record] = [
    {"session_id": "p", "timestamp": _MS / 1000, "tool_calls": None, "tool_name": None, "tool_call_id": None, **keys}
    for keys in (
        {"role": "user", "content": MARK},
        {
            "role": "assistant",
            "content": MARK,
            "reasoning": MARK,
            "tool_calls": json.dumps([{"id": "q", "function": {"name": "terminal", "arguments": MARK}}]),
        },
        {
            "role": "tool",
            "tool_name": "terminal",
            "tool_call_id": "q",
            "content": json.dumps({"output": MARK, "exit_code": 2, "error": f"ENOENT\n{MARK}"}),
        },
        {"role": "tool", "tool_name": "read", "content": MARK},
    )
]

PROSE: dict[str, list[object]] = {
    "claude_code": [
        _claude(1, "user", MARK),
        _claude(2, "assistant", [{"type": "text", "text": MARK}, {"type": "thinking", "thinking": MARK}]),
        _claude(3, "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": MARK}}]),
        _claude(4, "user", [_RESULT], toolUseResult={"stdout": MARK, "file": {"content": MARK}}),
        _claude(5, "system", MARK, subtype="informational"),
        {"type": "summary", "leafUuid": "x", "summary": MARK},
    ],
    "claude_print": [
        {"type": "user", "session_id": "s", "message": {"content": MARK}},
        {"type": "assistant", "session_id": "s", "message": {"content": [{"type": "text", "text": MARK}]}},
        {"type": "user", "session_id": "s", "message": {"content": [_RESULT]}},
        {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "result": MARK},
    ],
    "gdd": [{"type": "message", "timestamp": _AT, "sessionId": "s", "payload": {"text": MARK, "prompt": MARK}}],
    "wave": [
        {"timestamp": _AT, "step_id": "plan", "state": "running", "message": MARK, "pipeline_id": "p"},
        {"timestamp": _AT, "step_id": "plan", "state": "retrying", "pipeline_id": "p"},
    ],
    "codex": [
        {"timestamp": _AT, "type": "session_meta", "payload": {"id": "s", "instructions": MARK}},
        {"timestamp": _AT, "type": "event_msg", "payload": {"type": "user_message", "message": MARK}},
        {"timestamp": _AT, "type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": MARK}},
        {"timestamp": _AT, "type": "compacted", "payload": {"message": MARK, "replacement_history": [MARK]}},
        *(
            {"timestamp": _AT, "type": "response_item", "payload": item}
            for item in (
                {"type": "message", "role": "assistant", "content": [{"text": MARK}]},
                {"type": "function_call", "name": "shell", "arguments": MARK, "call_id": "q"},
                {"type": "function_call_output", "call_id": "q", "output": f"Exit code: 1\nOutput:\n{MARK}"},
            )
        ),
    ],
    "codex_exec": [
        {"type": "item.completed", "item": {"type": "agent_message", "text": MARK}},
        {"type": "item.completed", "item": {"type": "command_execution", "command": MARK, "aggregated_output": MARK}},
        {"id": "0", "msg": {"type": "agent_message", "message": MARK}},
    ],
    "qwen": [
        {
            "uuid": f"q{role}",
            "sessionId": "s",
            "timestamp": _AT,
            "type": role,
            "cwd": "/x",
            "message": {"role": "model", "parts": [{"text": MARK}, {"functionCall": {"args": {"c": MARK}}}]},
        }
        for role in ("user", "assistant", "tool_result")
    ],
    "pi": [
        {
            "type": "message",
            "id": f"x{role}",
            "timestamp": _AT,
            "message": {"role": role, "toolName": "bash", "isError": True, "content": [{"text": said}]},
        }
        for role, said in (
            ("user", MARK),
            ("assistant", MARK),
            ("toolResult", f"{MARK}\n\nCommand exited with code 1"),
        )
    ],
    "copilot": [
        {"type": kind, "data": data, "id": f"x{kind}", "timestamp": _AT, "parentId": None}
        for kind, data in (
            ("user.message", {"content": MARK}),
            ("assistant.message", {"content": MARK}),
            ("tool.execution_start", {"toolCallId": "q", "toolName": "bash", "arguments": {"command": MARK}}),
            ("tool.execution_complete", {"toolCallId": "q", "success": True, "result": {"content": MARK}}),
        )
    ],
    "opencode": [*_OPENCODE],
    "openhands": [
        {"id": 91, "timestamp": _AT, "source": "user", "message": MARK, "action": "message", "args": {"content": MARK}},
        {
            "id": 92,
            "timestamp": _AT,
            "source": "agent",
            "message": "",
            "observation": "run",
            "content": MARK,
            "extras": {"command": MARK, "metadata": {"exit_code": 1}},
        },
        {
            "id": 93,
            "timestamp": _AT,
            "source": "agent",
            "kind": "ObservationEvent",
            "tool_name": "terminal",
            "observation": {"exit_code": 1, "content": [{"text": MARK}]},
        },
    ],
    "gemini_stream": [
        {"type": "message", "timestamp": _AT, "role": "user", "content": MARK},
        {"type": "message", "timestamp": _AT, "role": "assistant", "content": MARK, "delta": True},
        {"type": "tool_use", "timestamp": _AT, "tool_name": "x", "tool_id": "p", "parameters": {"content": MARK}},
        {"type": "tool_result", "timestamp": _AT, "tool_id": "p", "status": "error", "output": MARK},
    ],
    "otlp": [
        *_otel(shown_formats._otlp),
        {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [_SPAN]}]}]},
    ],
    "gemini_telemetry": [*_otel(shown_formats._sdk)],
    "gemini_chat": [
        {"id": "p", "timestamp": _AT, "type": "user", "content": [{"text": MARK}]},
        {
            "id": "q",
            "timestamp": _AT,
            "type": "gemini",
            "content": MARK,
            "thoughts": [{"description": MARK}],
            "toolCalls": [
                {"id": "x", "name": "read", "args": {"a": MARK}, "status": "success", "resultDisplay": MARK},
                {"id": "y", "name": "read", "args": {"a": MARK}, "status": "error", "resultDisplay": f"x\n{MARK}"},
            ],
        },
        {"id": "r", "timestamp": _AT, "type": "info", "content": MARK},
    ],
    "crush": [
        {
            "time": _AT,
            "level": "INFO",
            "source": {"function": "a/crush/b"},
            "msg": f"Prompt: {MARK}",
            "prompt": MARK,
        },
    ],
    "cline": [
        {"ts": _MS + number, "type": "say", "say": kind, "text": said}
        for number, (kind, said) in enumerate(
            (
                ("text", MARK),
                ("user_feedback", MARK),
                ("api_req_started", json.dumps({"request": MARK, "tokensIn": 5})),
                ("tool", json.dumps({"tool": "editedExistingFile", "path": "a", "content": MARK})),
                ("error", f"x\n{MARK}"),
            )
        )
    ],
    "goose": [*_GOOSE],
    "litellm": [
        {
            **shown_formats._litellm(number, status, messages=[{"content": MARK}], response={"content": MARK}),
            "error_information": {"error_code": "500", "error_message": "x", "traceback": MARK},
            "metadata": {"requester_metadata": {"text": MARK}},
            "model_parameters": {"tools": MARK},
        }
        for number, status in ((21, "failure"), (22, "success"))
    ],
    "kimi": [
        {"type": kind, "agentId": "main", "time": _MS, **keys}
        for kind, keys in (
            ("context.append_message", {"message": {"role": "user", "content": [{"type": "text", "text": MARK}]}}),
            ("context.append_loop_event", {"event": {"type": "text.delta", "text": MARK}}),
            (
                "context.append_loop_event",
                {"event": {"type": "tool.call", "toolCallId": "q", "name": "Bash", "args": {"command": MARK}}},
            ),
            (
                "context.append_loop_event",
                {"event": {"type": "tool.result", "toolCallId": "q", "result": _KIMI_FAILED}},
            ),
            ("context.apply_compaction", {"summary": MARK, "tokensBefore": 9, "tokensAfter": 1}),
        )
    ],
    "vibe": [
        {"role": "user", "injected": False, "message_id": "p1", "content": MARK},
        {
            "role": "assistant",
            "injected": False,
            "message_id": "p2",
            "content": MARK,
            "reasoning_content": MARK,
            "tool_calls": [{"id": "q", "index": 0, "function": {"name": "bash", "arguments": MARK}}],
        },
        {"role": "tool", "injected": False, "tool_call_id": "q", "name": "bash", "content": MARK},
        {
            "role": "tool",
            "injected": False,
            "tool_call_id": "r",
            "name": "bash",
            "content": f"<tool_error>ENOENT\n{MARK}</tool_error>",
        },
        {
            "role": "user",
            "injected": True,
            "message_id": "p3",
            "content": f"<compaction_summary>\n{MARK}\n</compaction_summary>",
        },
    ],
    "kiro": [
        {"version": "v1", "kind": kind, "data": {"message_id": f"p{number}", "content": parts}}
        for number, (kind, parts) in enumerate(
            (
                ("Prompt", [{"kind": "text", "data": MARK}]),
                (
                    "AssistantMessage",
                    [
                        {"kind": "text", "data": MARK},
                        {"kind": "toolUse", "data": {"toolUseId": "q", "name": "shell", "input": {"command": MARK}}},
                    ],
                ),
                (
                    "ToolResults",
                    [
                        {
                            "kind": "toolResult",
                            "data": {
                                "toolUseId": "q",
                                "content": [{"kind": "text", "data": f"ENOENT\n{MARK}"}],
                                "status": "error",
                            },
                        }
                    ],
                ),
            )
        )
    ],
    "antigravity": [
        {"step_index": number, "source": source, "type": kind, "status": "DONE", "created_at": _AT, **keys}
        for number, (source, kind, keys) in enumerate(
            (
                ("USER_EXPLICIT", "USER_INPUT", {"content": MARK}),
                (
                    "MODEL",
                    "PLANNER_RESPONSE",
                    {"content": MARK, "thinking": MARK, "tool_calls": [{"name": "run_command", "args": {"c": MARK}}]},
                ),
                ("MODEL", "RUN_COMMAND", {"content": f"The command failed with exit code: 2\nOutput:\n{MARK}"}),
                ("SYSTEM", "CHECKPOINT", {"content": "{{ CHECKPOINT 0 }}\n" + MARK}),
            ),
            start=60,
        )
    ],
    "hermes": [*_HERMES],
    "hermes_log": [f"2026-03-05 10:02:00,250 INFO [s] agent.conversation_loop: user said {MARK}", MARK],
    "atif": [
        {
            "schema_version": "ATIF-v1.8",
            "session_id": "p",
            "agent": {"name": "Devin", "version": "1", "tool_definitions": [MARK]},
            "notes": MARK,
            "steps": [
                {"step_id": 1, "source": "user", "message": MARK, "timestamp": _AT},
                {
                    "step_id": 2,
                    "source": "agent",
                    "message": MARK,
                    "reasoning_content": MARK,
                    "timestamp": _AT,
                    "tool_calls": [{"tool_call_id": "c", "function_name": "bash", "arguments": {"command": MARK}}],
                    "observation": {"results": [{"source_call_id": "c", "content": MARK}]},
                },
            ],
        }
    ],
    "swe_agent": [
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {"exit_status": "Submitted", "submission": MARK, "model_stats": {"api_calls": 2}, "config": {}},
            "messages": [
                {"role": "system", "content": MARK},
                {"role": "assistant", "content": MARK},
                {"role": "tool", "content": MARK, "extra": {"returncode": 1, "raw_output": f"ENOENT\n{MARK}"}},
            ],
        }
    ],
    "cline_cli": [
        {
            "version": 1,
            "updated_at": _AT,
            "agent": "lead",
            "sessionId": "p",
            "systemPrompt": MARK,
            "messages": [
                {"id": "p1", "role": "user", "content": [{"type": "text", "text": MARK}]},
                {
                    "id": "p2",
                    "role": "assistant",
                    "ts": _MS,
                    "content": [
                        {"type": "text", "text": MARK},
                        {"type": "tool_use", "id": "q", "name": "bash", "input": {"command": MARK}},
                    ],
                },
                {
                    "id": "p3",
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "q",
                            "content": f"ENOENT\n{MARK}",
                            "is_error": True,
                        }
                    ],
                },
            ],
        }
    ],
    "continue": [
        {
            "sessionId": "p",
            "title": MARK,
            "workspaceDirectory": "file:///x",
            "history": [
                {"message": {"role": "user", "content": MARK}, "contextItems": [{"content": MARK}]},
                {
                    "message": {"role": "assistant", "content": MARK},
                    "contextItems": [],
                    "promptLogs": [{"prompt": MARK, "completion": MARK}],
                    "conversationSummary": MARK,
                    "toolCallStates": [
                        {
                            "toolCallId": "q",
                            "toolCall": {"function": {"name": "run", "arguments": MARK}},
                            "status": "errored",
                            "output": [{"name": "Error", "content": f"ENOENT\n{MARK}"}],
                        }
                    ],
                },
            ],
        }
    ],
    "langfuse": [
        {
            "id": kind,
            "traceId": "t",
            "startTime": _AT,
            "endTime": _AT,
            "type": kind,
            "name": "search",
            "level": "ERROR",
            "statusMessage": f"no such file\n{MARK}" if kind == "TOOL" else "busy",
            "input": MARK,
            "output": {"content": MARK},
            "metadata": {"note": MARK},
        }
        for kind in ("GENERATION", "TOOL")
    ],
    "langsmith": [
        {
            "id": kind,
            "trace_id": "t",
            "run_type": kind,
            "name": "search",
            "start_time": _AT,
            "end_time": _AT,
            "error": f"ValueError('busy')Traceback (most recent call last):\n{MARK}",
            "inputs": {"messages": [MARK]},
            "outputs": {"text": MARK},
            "extra": {"metadata": {"note": MARK}},
            "serialized": {"kwargs": MARK},
        }
        for kind in ("llm", "tool")
    ],
    "mlflow": [
        {
            "info": {"trace_id": "tr", "request_preview": MARK, "trace_metadata": {"mlflow.traceInputs": MARK}},
            "data": {
                "spans": [
                    {
                        "trace_id": "t",
                        "span_id": kind,
                        "name": "search",
                        "end_time_unix_nano": _MS * 10**6,
                        "status": {"code": "STATUS_CODE_ERROR", "message": "busy"},
                        "attributes": {"mlflow.spanType": json.dumps(kind), "mlflow.spanInputs": json.dumps(MARK)},
                        "events": [{"name": "exception", "attributes": {"exception.stacktrace": MARK}}],
                    }
                    for kind in ("CHAT_MODEL", "TOOL")
                ]
            },
        }
    ],
    "weave": [
        {
            "id": kind,
            "project_id": "e/p",
            "op_name": "weave:///e/p/op/x:1",
            "trace_id": "t",
            "started_at": _AT,
            "attributes": {"weave": {"kind": kind}, "note": MARK},
            "inputs": {"messages": [MARK]},
            "output": {"choices": [MARK]},
            "exception": json.dumps({"type": "Error", "message": "busy", "traceback": [{"line": MARK}]}),
        }
        for kind in ("llm", "tool")
    ],
    "openai_agents": [
        {"object": "trace", "id": "t", "workflow_name": "w", "group_id": None, "metadata": {"note": MARK}},
        {
            "object": "trace.span",
            "id": "s",
            "trace_id": "t",
            "started_at": _AT,
            "ended_at": _AT,
            "span_data": {"type": "function", "name": "run", "input": MARK, "output": MARK},
            "error": {"message": "Error running tool", "data": {"error": f"no such file\n{MARK}", "args": MARK}},
        },
    ],
    "copilot_chat": [
        {
            "version": 3,
            "sessionId": "s",
            "responderUsername": "x",
            "customTitle": MARK,
            "requests": [
                {
                    "requestId": "r",
                    "timestamp": _MS,
                    "message": {"text": MARK},
                    "variableData": MARK,
                    "response": [
                        {"value": MARK},
                        {
                            "kind": "toolInvocationSerialized",
                            "toolCallId": "c",
                            "toolId": "run",
                            "invocationMessage": MARK,
                            "toolSpecificData": {"kind": "terminal", "commandLine": MARK},
                            "resultDetails": {
                                "input": MARK,
                                "output": [{"value": f"no such file\n{MARK}"}],
                                "isError": True,
                            },
                        },
                    ],
                    "result": {"metadata": {"renderedUserMessage": MARK, "toolCallRounds": [MARK]}},
                }
            ],
        }
    ],
    "cursor": [
        {"role": "user", "message": {"content": [{"type": "text", "text": MARK}]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": MARK}]}},
        {"type": "turn_ended", "status": "error", "error": "busy"},
    ],
    "aider": [f"#### {MARK}", MARK, f"> {MARK}", "> Applied edit to x"],
}

_SAID = frozenset(
    {"text", "content", "title", "summary", "summaryText", "summary_preview", "input", "input_json", "output", "result"}
    | {"arguments", "task", "request_message", "thinking", "prompt", "details", "command"}
)
"""Keys under which agents keep what was said, done or answered."""


def _marked(value: Any, key: str = "") -> Any:
    """A record with the mark behind the first line of all that was said."""
    if isinstance(value, dict):
        return {
            name: _marked(inner, name) or (MARK if name in _SAID and inner in ({}, "", None) else inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_marked(inner, key) for inner in value]
    return f"{value}\n{MARK}" if isinstance(value, str) and key in _SAID else value


PROSE |= {
    case.format: [_marked(record) for record in case.records]
    for case in reversed(AGENTS)
    if case.format in ("grok", "droid", "letta", "junie", "auggie", "amp", "trae_agent")
}

_Q_HISTORY = [
    {
        "user": {"content": {"Prompt": {"prompt": MARK}}},
        "assistant": {
            "ToolUse": {
                "content": MARK,
                "tool_uses": [{"id": "c", "name": "execute_bash", "args": {"command": MARK}}],
            }
        },
        "request_metadata": {"message_id": "r1", "stream_end_timestamp_ms": _MS, "model_id": "m"},
    },
    {
        "user": {
            "content": {
                "ToolUseResults": {
                    "tool_use_results": [
                        {"tool_use_id": "c", "status": "Error", "content": [{"Text": f"ENOENT\n{MARK}"}]},
                    ]
                }
            }
        },
        "assistant": {"Response": {"content": MARK}},
        "request_metadata": {"message_id": "r2", "stream_end_timestamp_ms": _MS + 9},
    },
]
_Q_STATE = json.dumps(
    {"conversation_id": "s", "history": _Q_HISTORY, "transcript": [MARK], "latest_summary": [MARK, {}]}
)
_ZED = {
    "title": MARK,
    "messages": [
        {"User": {"id": "u", "content": [{"Text": MARK}]}},
        {
            "Agent": {
                "content": [{"Text": MARK}, {"ToolUse": {"id": "c", "name": "terminal", "input": {"command": MARK}}}],
                "tool_results": {
                    "c": {"tool_name": "terminal", "is_error": True, "content": [{"Text": f"ENOENT\n{MARK}"}]}
                },
            }
        },
    ],
    "detailed_summary": MARK,
}

_ROWS: dict[str, tuple[str, list[tuple[str, list[object]]]]] = {
    "amazon_q": (
        "create table auth_kv (key, value); create table conversations (key, value);",
        [("auth_kv", ["token", MARK]), ("conversations", ["/x", _Q_STATE])],
    ),
    "kiro_db": (
        (
            "create table auth_kv (key, value); create table conversations (key, value);"
            "create table conversations_v2 (key, conversation_id, value, created_at, updated_at);"
        ),
        [("auth_kv", ["token", MARK]), ("conversations_v2", ["/x", "s", _Q_STATE, _MS, _MS])],
    ),
    "zed": (
        "create table threads (id, summary, updated_at, data_type, data, parent_id, folder_paths, created_at);",
        [("threads", ["z", MARK, _AT, "json", json.dumps(_ZED), None, "/x", _AT])],
    ),
    "warp": (
        (
            "create table agent_conversations (id, conversation_id, conversation_data);"
            "create table ai_queries (id integer primary key, exchange_id, conversation_id, start_ts, input,"
            " working_directory, output_status, model_id);"
        ),
        [
            ("agent_conversations", [1, "s", MARK]),
            ("ai_queries", [1, "x", "s", "2026-03-05 10:01:00.000001", MARK, "/x", '"Failed"', "m"]),
        ],
    ),
    "grok_cli": (
        (
            "create table sessions (id, title, model, cwd_at_start, updated_at);"
            "create table tool_calls (id integer primary key, session_id, tool_name, args_json, started_at);"
            "create table tool_results (id integer primary key, tool_call_row_id, output_json, success, created_at);"
            "create table usage_events (id integer primary key, session_id, model, input_tokens, output_tokens,"
            " created_at);"
            "create table compactions (id integer primary key, session_id, tokens_before, summary, created_at);"
        ),
        [
            ("sessions", ["s", MARK, "m", "/x", _AT]),
            ("tool_calls", [1, "s", "bash", json.dumps({"command": MARK}), _AT]),
            ("tool_results", [1, 1, json.dumps({"error": f"ENOENT\n{MARK}", "value": MARK}), 0, _AT]),
            ("compactions", [1, "s", 900, MARK, _AT]),
        ],
    ),
    "opencode_db": (
        (
            "create table session (id, directory, version, title, time_updated);"
            "create table message (id, session_id, time_updated, data);"
            "create table part (id, message_id, session_id, time_created, time_updated, data);"
        ),
        [
            ("session", ["ses_1", "/x", "1", MARK, _MS]),
            *(("message", [one["id"], "ses_1", _MS, json.dumps(one)]) for one in _OPENCODE if "role" in one),
            *(("part", [one["id"], "msg_1", "ses_1", _MS, _MS, json.dumps(one)]) for one in _OPENCODE if "type" in one),
        ],
    ),
    "copilot_spans": (
        (
            "create table spans (span_id, trace_id, parent_span_id, name, start_time_ms, end_time_ms, status_code,"
            " status_message, operation_name, chat_session_id, tool_name);"
            "create table span_attributes (span_id, key, value);"
            "create table span_events (id, span_id, name, attributes);"
        ),
        [
            ("spans", ["a", "t", None, MARK, _MS, _MS, 2, "busy", "chat", "s", None]),
            ("spans", ["b", "t", "a", MARK, _MS, _MS, 2, f"no such file\n{MARK}", "execute_tool", "s", "run"]),
            ("span_attributes", ["a", "gen_ai.input.messages", MARK]),
            ("span_attributes", ["b", "gen_ai.tool.call.arguments", MARK]),
            ("span_events", [1, "a", "user_message", json.dumps({"content": MARK})]),
            (
                "span_events",
                [2, "a", "exception", json.dumps({"exception.message": "x", "exception.stacktrace": MARK})],
            ),
        ],
    ),
    "crush_db": (
        (
            "create table sessions (id, title, updated_at); create table files (id, content);"
            "create table goose_db_version (id); create table messages (id, session_id, role, parts, updated_at);"
        ),
        [
            ("sessions", ["s", MARK, _MS // 1000]),
            ("files", ["f", MARK]),
            ("messages", ["m", "s", "assistant", json.dumps(_CRUSH), _MS // 1000]),
        ],
    ),
    "hermes_db": (
        (
            "create table schema_version (version); create table state_meta (key, value);"
            "create table sessions (id, title, system_prompt, model, started_at, ended_at, end_reason, cwd);"
            "create table messages (id integer primary key, session_id, role, content, reasoning, tool_call_id,"
            " tool_calls, tool_name, timestamp);"
        ),
        [
            ("state_meta", ["k", MARK]),
            ("sessions", ["p", MARK, MARK, "m", _MS // 1000, _MS // 1000, "compression", "/x"]),
            *(
                (
                    "messages",
                    [
                        number,
                        *(one.get(key) for key in ("session_id", "role", "content", "reasoning", "tool_call_id")),
                        *(one.get(key) for key in ("tool_calls", "tool_name", "timestamp")),
                    ],
                )
                for number, one in enumerate(_HERMES, 1)
            ),
        ],
    ),
    "goose_db": (
        (
            "create table schema_version (version); create table sessions (id, description, working_dir, updated_at);"
            "create table messages (id, session_id, role, content_json, created_timestamp, metadata_json);"
        ),
        [
            ("sessions", ["s", MARK, "/x", "2026-03-05 10:00:00"]),
            *(
                ("messages", [number, "s", one["role"], json.dumps(one["content"]), one["created"], MARK])
                for number, one in enumerate(_GOOSE)
            ),
        ],
    ),
}


def _log_of(name: str, folder: Path) -> str:
    """A log of the format with everything that it can show, and the mark wherever it keeps what was said."""
    path = folder / f"{name}.log"
    if name in _ROWS:
        schema, rows = _ROWS[name]
        with sqlite3.connect(path) as database:
            database.executescript(schema)
            for table, values in rows:
                database.execute(f"insert into {table} values ({', '.join('?' * len(values))})", values)
        return str(path)
    records = [*shown_formats.LOGS.get(name, ()), *PROSE[name]]
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records), "utf-8")
    return str(path)


def whole(store: Path) -> str:
    """Everything that a store and its journal hold, as text."""
    said = []
    with duckdb.connect(str(store), read_only=True) as connection:
        tables = connection.execute(
            "select schema_name, table_name from duckdb_tables() where not temporary"
        ).fetchall()
        assert len(tables) > 4
        for schema, table in tables:
            said += connection.execute(f"from {schema}.{table}").fetchall()
    parts = [part.read_text("utf-8") for part in Path(journal_of(store)).rglob("*") if part.is_file()]
    assert any(parts)
    return repr(said) + "".join(parts)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, tuple[str, int]]]:
    """Everything that a store of all these logs holds, and of each log its format and the lines that gave events."""
    folder = tmp_path_factory.mktemp("prose")
    names = [kind.name for kind in FORMATS if kind.reader is not None and not kind.native]
    with open_store(folder / "a.duckdb", writable=True) as store:
        result = store.ingest([_log_of(name, folder) for name in names])
    read = {Path(one.checkpoint.path).stem: (one.checkpoint.format, one.tally.event_lines) for one in result.sources}
    return whole(folder / "a.duckdb"), read


def test_each_format_has_a_log_with_the_mark(stored: tuple[str, dict[str, tuple[str, int]]]) -> None:
    """It is read as that format, and gives events: what is not read cannot leak."""
    _, read = stored
    assert {name: kind for name, (kind, _) in read.items()} == {name: name for name in read}
    assert {kind.name for kind in FORMATS if kind.reader is not None and not kind.native} == set(read)
    # A trajectory of ATIF marks no step as failed: of its session only sums are stored, which are of no line.
    assert [name for name, (_, lines) in read.items() if not lines] == ["atif"]
    assert len(_ROWS) == len(SHAPES)


def test_nothing_that_was_said_is_stored(stored: tuple[str, dict[str, tuple[str, int]]]) -> None:
    """Neither in a table nor in the journal; what a failed tool said first is there."""
    said, _ = stored
    assert "ENOENT" in said
    at = said.find(MARK)
    assert said[max(0, at - 500) : at + 100] * (at >= 0) == ""
