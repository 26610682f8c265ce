"""Made-up exports of tracing platforms, and spans of SDKs, with a line for each event that is to be read of them.

Their shapes are those that the docstring of `analyzer/importers/telemetry/platforms.py` names the sources of.
"""

from __future__ import annotations

import json
from typing import Any

from tests.importers.new_kinds.logs import AT, MS, Case


def _observation(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    named = {"id": f"o{number}", "traceId": "t", "sessionId": "s", "traceName": "shop", "type": kind}
    return {**named, "startTime": AT.format(number), "endTime": AT.format(number + 1), "level": "DEFAULT", **keys}


_LANGFUSE_TOLD = ("error none", "tool search not_found", "session 2 requests, 1 calls, 0 stops")
_LANGFUSE = (
    _observation(3, "TOOL", name="search", level="ERROR", statusMessage="no such file or directory"),
    _observation(2, "GENERATION", model="m", usageDetails={"input": 70, "output": 7, "input_cached_tokens": 30}),
    _observation(1, "GENERATION", model="m", level="ERROR", statusMessage="RateLimitError: 429 slow down"),
    _observation(0, "SPAN", level="ERROR", statusMessage="RateLimitError: 429 slow down"),
)
_BLOB = {
    "id": "o1",
    "trace_id": "t",
    "session_id": "",
    "type": "GENERATION",
    "start_time": "2026-03-05 10:00:01.000000",
    "end_time": "2026-03-05 10:00:02.000000",
    "level": "ERROR",
    "status_message": "busy",
    "provided_model_name": "m",
}


def _run(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    named = {"id": f"r{number}", "trace_id": "t", "run_type": kind, "name": kind, "session_id": "p", "error": None}
    metadata = {"thread_id": "s", "ls_model_name": "m", "ls_provider": "openai"}
    times = {"start_time": f"2026-03-05T10:00:0{number}", "end_time": f"2026-03-05T10:00:0{number + 1}"}
    return {**named, "session_name": "shop", "extra": {"metadata": metadata}, **times, **keys}


_THROWN = "RateLimitError('Error code: 429')Traceback (most recent call last):\n  File 'x', line 1"
_RUNS = (
    _run(1, "llm", error=_THROWN),
    _run(2, "llm", prompt_tokens=100, completion_tokens=7, prompt_token_details={"cache_read": 30}),
    _run(3, "tool", name="search", error="FileNotFoundError('no such file')"),
    _run(0, "chain", error=_THROWN),
)
_RUNS_TOLD = ("error none", "tool search not_found", "session 2 requests, 1 calls, 0 stops")


def _mlflow(
    number: int, kind: str, status: str = "STATUS_CODE_OK", said: str = "", used: object = None
) -> dict[str, Any]:
    attributes = {"mlflow.spanType": json.dumps(kind), "mlflow.chat.tokenUsage": json.dumps(used)}
    times = {
        f"{name}_time_unix_nano": (MS + (number + more) * 1000) * 10**6 for name, more in (("start", 0), ("end", 1))
    }
    named = {"trace_id": "dA==", "span_id": f"{number}", "parent_span_id": None, "name": kind.lower()}
    return {**named, **times, "status": {"code": status, "message": said}, "attributes": attributes}


_MLFLOW = {
    "info": {"trace_id": "tr-1", "trace_metadata": {"mlflow.trace.session": "s"}, "tags": {"mlflow.traceName": "shop"}},
    "data": {
        "spans": [
            _mlflow(0, "AGENT", "STATUS_CODE_ERROR", "RateLimitError: 429"),
            _mlflow(1, "CHAT_MODEL", "STATUS_CODE_ERROR", "RateLimitError: 429"),
            _mlflow(2, "CHAT_MODEL", used={"input_tokens": 70, "output_tokens": 7}),
            _mlflow(3, "TOOL", "STATUS_CODE_ERROR", "FileNotFoundError: no such file"),
        ]
    },
}
_MLFLOW_2 = {
    "info": {"request_id": "tr-2", "status": "ERROR", "tags": {"mlflow.traceName": "shop"}},
    "data": {
        "spans": [
            {
                "context": {"trace_id": "0x1", "span_id": "0x2"},
                "name": "chat",
                "start_time": MS * 10**6,
                "end_time": (MS + 1000) * 10**6,
                "status_code": "ERROR",
                "status_message": "RateLimitError: 429",
                "attributes": {"mlflow.spanType": '"LLM"'},
            }
        ]
    },
}


def _weave(number: int, kind: str | None, **keys: Any) -> dict[str, Any]:
    named = {"id": f"c{number}", "project_id": "me/shop", "trace_id": "t", "thread_id": "s", "exception": None}
    attributes = {"weave": {"kind": kind}} if kind else {}
    times = {"started_at": AT.format(number), "ended_at": AT.format(number + 1)}
    return {**named, "op_name": "weave:///me/shop/op/search:d1", "attributes": attributes, **times, **keys}


_WEAVE = (
    _weave(0, None, exception="busy", summary={"usage": {"m": {"requests": 2, "prompt_tokens": 140}}}),
    _weave(1, "llm", exception=json.dumps({"type": "RateLimitError", "message": "Error code: 429"})),
    _weave(2, "llm", summary={"usage": {"m": {"requests": 1, "prompt_tokens": 70, "completion_tokens": 7}}}),
    _weave(3, "tool", exception="FileNotFoundError: no such file"),
)


def _agents(number: int, said: str | None = None, **data: Any) -> dict[str, Any]:
    error = {"message": "Error getting response", "data": {"error": said}} if said else None
    times = {"started_at": AT.format(number), "ended_at": AT.format(number + 1)}
    return {"object": "trace.span", "id": f"s{number}", "trace_id": "t", **times, "span_data": data, "error": error}


_AGENTS = (
    {"object": "trace", "id": "t", "workflow_name": "shop", "group_id": "s", "metadata": None},
    _agents(1, "Error code: 429 slow down", type="generation", model="m", usage=None),
    _agents(2, type="generation", model="m", usage={"input_tokens": 70, "output_tokens": 7}),
    _agents(3, "no such file", type="function", name="search"),
    _agents(0, "no such file", type="agent", name="shop"),
)

PLATFORMS = (
    Case("langfuse", _LANGFUSE, _LANGFUSE_TOLD),
    Case("langfuse", ({"data": [*_LANGFUSE], "meta": {}},), _LANGFUSE_TOLD),
    Case("langfuse", (_BLOB,), ("error none", "session 1 requests, 0 calls, 0 stops")),
    Case("langsmith", _RUNS, _RUNS_TOLD),
    Case("langsmith", ({**_RUNS[3], "child_runs": [*_RUNS[:3]]},), _RUNS_TOLD),
    Case("mlflow", (_MLFLOW,), ("error none", "tool tool not_found", "session 2 requests, 1 calls, 0 stops")),
    Case("mlflow", (_MLFLOW_2,), ("error none", "session 1 requests, 0 calls, 0 stops")),
    Case("weave", _WEAVE, ("error none", "tool search not_found", "session 2 requests, 1 calls, 0 stops")),
    Case("openai_agents", _AGENTS, ("error none", "tool search not_found", "session 2 requests, 1 calls, 0 stops")),
    Case(
        "openai_agents",
        ({"data": [*_AGENTS]},),
        ("error none", "tool search not_found", "session 2 requests, 1 calls, 0 stops"),
    ),
)

# Spans: the AI SDK (the package ai 6.0.326), ADK (google-adk 2.13.0) and the conventions for GenAI


def _span(number: int, parent: int | None, *, failed: str | None = None, **found: Any) -> dict[str, Any]:
    return {
        "resource": {"attributes": {"service.name": "shop"}},
        "traceId": "t",
        "spanId": f"s{number}",
        "parentSpanId": None if parent is None else f"s{parent}",
        "startTime": [MS // 1000 + number, 0],
        "endTime": [MS // 1000 + number, 500_000_000],
        "status": {"code": 2, "message": failed} if failed else {"code": 0},
        "attributes": {key.replace("__", "."): value for key, value in found.items()},
        "events": [],
    }


_TRY: dict[str, Any] = {
    "ai__operationId": "ai.generateText.doGenerate",
    "gen_ai__system": "openai.chat",
    "ai__telemetry__metadata__sessionId": "s",
}
_WHOLE: dict[str, Any] = {"ai__operationId": "ai.generateText", "ai__telemetry__metadata__sessionId": "s"}
_USED: dict[str, Any] = {"ai__usage__inputTokens": 70, "ai__usage__outputTokens": 7}
_COMPACTED: dict[str, Any] = {
    "gen_ai__operation__name": "chat",
    "gen_ai__conversation__id": "c",
    "gen_ai__conversation__compacted": True,
}
_EVENTS: dict[str, Any] = {"gen_ai__operation__name": "compact_events", "gen_ai__conversation__id": "c"}

SPANS = (
    Case(
        "gemini_telemetry",
        (
            _span(1, 9, failed="503 busy", **_TRY),
            _span(2, 9, **_TRY, **_USED),
            _span(
                3,
                9,
                failed="no such file",
                **{**_WHOLE, "ai__operationId": "ai.toolCall", "ai__toolCall__name": "search"},
            ),
            _span(9, None, **_WHOLE, **_USED),
            _span(11, 19, failed="503 busy", **_TRY),
            _span(12, 19, failed="503 busy", **_TRY),
            _span(19, None, failed="Failed after 2 attempts", **_WHOLE),
            _span(21, 29, failed="stopped", error__type="AbortError", **_TRY),
        ),
        (
            "error none 1",
            "retry 1",
            "settled recovered 2",
            "tool search not_found",
            "error none 1",
            "retry 1",
            "error none 2",
            "settled exhausted 2",
            "session 5 requests, 1 calls, 1 stops",
        ),
    ),
    Case(
        "gemini_telemetry",
        (
            _span(1, None, **_EVENTS),
            _span(2, None, failed="busy", **_EVENTS),
            _span(3, None, gen_ai__usage__input_tokens=90, **_COMPACTED),
            _span(
                4,
                None,
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name="(merged tools)",
                gen_ai__conversation__id="c",
            ),
        ),
        ("compaction", "compaction failed", "compaction 90", "session 1 requests, 0 calls, 0 stops"),
    ),
)

# VS Code's chats: microsoft/vscode, chat/common/model/chatSessionOperationLog.ts; Cursor: kenn-io/agentsview


def _turn(number: int, said: str | None = None, code: str | None = None, **keys: Any) -> dict[str, Any]:
    error = {"errorDetails": {"message": said, "code": code, **keys.pop("details", {})}} if said else {}
    named = {
        "requestId": f"r{number}",
        "timestamp": MS + number * 1000,
        "modelId": "copilot/m",
        "message": {"text": "x"},
    }
    return {**named, "result": {"timings": {"totalElapsed": 500}, **error}, "modelState": {"value": 1}, **keys}


def _tool(number: int, **keys: Any) -> dict[str, Any]:
    named = {"kind": "toolInvocationSerialized", "toolCallId": f"c{number}", "toolId": "run", "isComplete": True}
    return {**named, "isConfirmed": {"type": 1}, **keys}


_FAILING_TOOLS = [
    {"value": "Here it is."},
    _tool(1, resultDetails={"input": "{}", "output": [{"type": "embed", "value": "no such file"}], "isError": True}),
    _tool(2, toolSpecificData={"kind": "terminal", "terminalCommandState": {"exitCode": 2}}),
    _tool(3, isConfirmed={"type": 0}),
    _tool(4),
]
_LIMIT = {"isQuotaExceeded": True}
_CHAT = {
    "version": 3,
    "sessionId": "s",
    "responderUsername": "GitHub Copilot",
    "creationDate": MS,
    "requests": [
        _turn(1, "Sorry, your request failed.\n\nReason: Server error: 503", "failed"),
        _turn(2, response=_FAILING_TOOLS),
        _turn(3, "Quota Exceeded", "quotaExceeded", details=_LIMIT),
        _turn(4, "Canceled", "canceled", modelState={"value": 2}),
    ],
}
_CHAT_TOLD = (
    "error none",
    "tool run not_found",
    "tool run exit_code",
    "tool run refused",
    "error none",
    "limit",
    "session 4 requests, 4 calls, 1 stops",
)
_EMPTY = {"version": 3, "sessionId": "s", "responderUsername": "GitHub Copilot", "creationDate": MS, "requests": []}
_BEGUN = {key: value for key, value in _turn(5).items() if key not in ("result", "modelState")}


def _set(*path: object, v: object) -> dict[str, Any]:
    return {"kind": 1, "k": ["requests", *path], "v": v}


_ASKED: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__conversation__id": "s"}
_CALLED: dict[str, Any] = {
    "gen_ai__operation__name": "execute_tool",
    "gen_ai__conversation__id": "s",
    "gen_ai__tool__name": "read_file",
}

CHATS = (
    Case(
        "copilot_spans",
        (
            {"sqlite": {"tables": ["span_attributes", "span_events", "spans"]}},
            _span(1, None, failed="Server error: 503", error__type="failed", **_ASKED),
            _span(2, None, gen_ai__usage__input_tokens=70, **_ASKED),
            _span(3, None, failed="no such file", **_CALLED),
            _span(4, None, failed="canceled", copilot_chat__canceled=True, **_ASKED),
        ),
        ("error none", "tool read_file not_found", "session 3 requests, 1 calls, 1 stops"),
    ),
    Case("copilot_chat", (_CHAT,), _CHAT_TOLD),
    Case("copilot_chat", ({"kind": 0, "v": _CHAT},), _CHAT_TOLD),
    Case(
        "copilot_chat",
        (
            {"kind": 0, "v": _EMPTY},
            {"kind": 1, "k": ["customTitle"], "v": "x"},
            {"kind": 2, "k": ["requests"], "v": [_BEGUN]},
            {"kind": 2, "k": ["requests", 0, "response"], "v": [_tool(1, isComplete=False)]},
            _set(0, "response", 0, v=_tool(1, toolSpecificData={"terminalCommandState": {"exitCode": 1}})),
            _set(
                0,
                "result",
                v={"errorDetails": {"message": "Sorry, there was a network error.", "code": "networkError"}},
            ),
            _set(0, "modelState", v={"value": 2}),
            _set(0, "modelState", v={"value": 2, "completedAt": MS}),
            {"kind": 2, "k": ["requests"], "i": 0, "v": [_turn(6)]},
            {"kind": 3, "k": ["requests", 0, "vote"]},
        ),
        ("error none", "tool run exit_code", "session 2 requests, 1 calls, 1 stops"),
    ),
    Case(
        "cursor",
        (
            {"role": "user", "message": {"content": [{"type": "text", "text": "do it"}]}},
            {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {}}]}},
            {"type": "turn_ended", "status": "error", "error": "503 the model is overloaded"},
            {"role": "user", "message": {"content": "again"}},
            {"type": "turn_ended", "status": "error", "error": "503 the model is overloaded"},
            {"type": "turn_ended", "status": "aborted", "error": "User aborted/interrupted manually."},
            {"type": "turn_ended", "status": "success"},
        ),
        ("error none", "error none", "session 1 requests, 1 calls, 1 stops"),
        "/home/me/.cursor/projects/home-me-shop/agent-transcripts/s/s.jsonl",
    ),
)
