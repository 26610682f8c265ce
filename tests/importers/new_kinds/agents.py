"""Logs of agents whose sources were looked at one by one, in their producers' shapes; each reader names its source.

Values are made up.
"""

from __future__ import annotations

from typing import Any

from tests.importers.new_kinds.logs import AT, MS, Case


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


# Grok Build


def _update(second: int, named: str, **keys: Any) -> dict[str, Any]:
    own = named in ("retry_state", "turn_completed") or named.startswith("auto_compact")
    method = "_x.ai/session/update" if own else "session/update"
    params = {"sessionId": "s1", "update": {"sessionUpdate": named, **keys}}
    return {"timestamp": MS // 1000 + second, "method": method, "params": params}


def _trying(second: int, attempt: int, said: str) -> dict[str, Any]:
    return _update(second, "retry_state", type="retrying", attempt=attempt, max_retries=5, reason=said)


def _turn(second: int, reason: str, **usage: Any) -> dict[str, Any]:
    return _update(second, "turn_completed", prompt_id=f"p{second}", stop_reason=reason, usage=usage or None)


_GROK = (
    Case(
        "grok",
        (
            _update(0, "user_message_chunk", content=_text("hi")),
            _trying(1, 1, "503 the service is overloaded"),
            _trying(2, 2, "503 the service is overloaded"),
            _update(3, "tool_call", toolCallId="c1", title="Run `make`", kind="execute", status="pending"),
            _update(
                4,
                "tool_call_update",
                toolCallId="c1",
                status="failed",
                content=[{"type": "content", "content": _text("Exit code: 2")}],
            ),
            _update(5, "tool_call_update", toolCallId="c2", status="completed"),
            _update(6, "auto_compact_started", tokens_used=900, context_window=1000, percentage=90, reason="threshold"),
            _update(7, "auto_compact_completed", tokens_before=900, tokens_after=90, summary_preview=None),
            _update(8, "auto_compact_failed", error="the summary is empty"),
            _turn(9, "end_turn", inputTokens=90, outputTokens=9, cachedReadTokens=20, modelCalls=3),
        ),
        (
            "error none 1",
            "retry 1",
            "error none 2",
            "retry 2",
            "settled recovered 3",
            "tool execute exit_code",
            "compaction 900 90",
            "compaction failed",
            "session 3 requests, 1 calls, 0 stops",
        ),
        "/home/me/.grok/sessions/%2Fhome%2Fme%2Fshop/s1/updates.jsonl",
    ),
    Case(
        "grok",
        (
            _trying(1, 1, "connection reset"),
            _turn(2, "end_turn", inputTokens=9, outputTokens=1),
            _trying(3, 1, "connection reset"),
            _update(4, "retry_state", type="exhausted", attempts=2, reason="connection reset"),
            _turn(5, "error"),
            _update(6, "retry_state", type="exhausted", attempts=0, reason="Slow down", is_rate_limited=True),
            _turn(7, "rate_limit"),
            _update(8, "retry_state", type="failed", error_type="auth", message="bad credentials"),
            _trying(9, 1, "connection reset"),
            _turn(10, "cancelled"),
        ),
        (
            "error none 1",
            "retry 1",
            "settled recovered 2",
            "error none 1",
            "retry 1",
            "error none 2",
            "settled exhausted 2",
            "error 429",
            "error none",
            "error none 1",
            "retry 1",
            "settled aborted 1",
            "session 4 requests, 0 calls, 1 stops",
        ),
        "/home/me/.grok/sessions/%2Fhome%2Fme%2Fshop/s2/updates.jsonl",
    ),
)

# Droid


def _outcome(turn: str, reason: str) -> dict[str, Any]:
    return {"type": "agent_turn_outcome", "turnId": turn, "reason": reason, "resultKind": "text"}


def _droid(second: int, role: str, *content: dict[str, Any]) -> dict[str, Any]:
    message = {"role": role, "content": list(content)}
    return {"type": "message", "id": f"m{second}", "timestamp": AT.format(second), "message": message}


_DROID = (
    Case(
        "droid",
        (
            {"type": "session_start", "id": "s1", "title": "…", "owner": "me", "version": 2, "cwd": "/home/me/shop"},
            _droid(1, "user", _text("hi")),
            _droid(2, "assistant", {"type": "tool_use", "id": "c1", "name": "Execute", "input": {}}),
            _droid(
                3, "user", {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "Exit code: 1"}
            ),
            _droid(4, "assistant", {"type": "tool_use", "id": "c2", "name": "Edit", "input": {}}),
            _droid(5, "user", {"type": "tool_result", "toolUseId": "c2", "isError": False, "content": "done"}),
            {
                "type": "compaction_state",
                "id": "k1",
                "timestamp": AT.format(6),
                "summaryText": "…",
                "summaryTokens": 90,
                "summaryKind": "llm_summary",
                "removedCount": 4,
            },
            _outcome("t1", "completed"),
            _droid(7, "user", _text("go on")),
            _outcome("t2", "model_rate_limited"),
            _outcome("t3", "model_rate_limited"),
            _droid(8, "user", _text("go on")),
            _outcome("t4", "model_usage_exhausted"),
            _droid(9, "user", _text("go on")),
            _outcome("t5", "cancelled"),
            _droid(10, "user", _text("go on")),
            _outcome("t6", "error"),
        ),
        (
            "tool Execute exit_code",
            "compaction",
            "error none",
            "error none",
            "limit",
            "error none",
            "session 2 requests, 2 calls, 1 stops",
        ),
        "/home/me/.factory/sessions/-home-me-shop/s1.jsonl",
    ),
)

# Letta Code


def _letta(second: int, role: str, stopped: str | None = None, **keys: Any) -> dict[str, Any]:
    named = {"id": f"l{second}", "role": role, "content": [], "timestamp": MS + second * 1000}
    made = {"api": "openai", "provider": "p", "model": "m", "stopReason": stopped, "usage": {"input": 70, "output": 7}}
    return {**named, **(made if stopped else {}), **keys}


_LETTA = (
    Case(
        "letta",
        (
            _letta(
                1,
                "user",
                metadata={"compaction": {"stats": {"context_tokens_before": 900, "context_tokens_after": 90}}},
            ),
            _letta(2, "assistant", "toolUse"),
            _letta(3, "toolResult", toolName="bash", toolCallId="c", isError=True, content=[_text("ENOENT")]),
            _letta(4, "assistant", "error", errorMessage="529 overloaded", usage={}),
            _letta(5, "user"),
            _letta(6, "assistant", "aborted", usage={}),
        ),
        (
            "compaction 900 90",
            "tool bash not_found",
            "error 529 1",
            "session 2 requests, 1 calls, 1 stops",
        ),
        "/home/me/.letta/lc-local-backend/conversations/c1/messages.jsonl",
    ),
)

# Junie


def _junie(second: int, kind: str, state: str = "IN_PROGRESS", **keys: Any) -> dict[str, Any]:
    event = {"state": state, "agentEvent": {"kind": kind, "agent": {"kind": "MainAgent", "id": "main"}, **keys}}
    return {"kind": "SessionA2uxEvent", "event": event, "taskId": "t", "timestampMs": MS + second * 1000}


_JUNIE_SPENT = {"model": "m", "cost": 0.1, "inputTokens": 70, "cacheInputTokens": 5, "outputTokens": 7, "time": 0}
_JUNIE_ASKED = _junie(3, "LlmResponseMetadataEvent", modelUsage=[_JUNIE_SPENT])
_JUNIE = (
    Case(
        "junie",
        (
            {"kind": "UserPromptEvent", "prompt": "hi", "timestampMs": MS + 1000},
            _junie(2, "CurrentDirectoryUpdatedEvent", currentDirectory="/home/me/shop"),
            _JUNIE_ASKED,
            _JUNIE_ASKED,
            _junie(4, "TerminalBlockUpdatedEvent", stepId="s1", status="IN_PROGRESS", command="make"),
            _junie(5, "TerminalBlockUpdatedEvent", stepId="s1", status="COMPLETED", command="make", exitCode=2),
            _junie(6, "ToolBlockUpdatedEvent", stepId="s2", status="FAILED", text="x", details="no such file"),
            _junie(7, "ToolBlockUpdatedEvent", stepId="s2", status="FAILED", text="x", details="no such file"),
            _junie(8, "ToolBlockUpdatedEvent", stepId="s3", status="COMPLETED", text="x"),
            _junie(9, "MarkdownBlockUpdatedEvent", stepId="s4", text="x"),
            _junie(10, "AgentFailureEvent", "FAILED", message="429 slow down", errorCode="ExitEarly"),
            _junie(11, "ResultBlockUpdatedEvent", "CANCELED", stepId="s5", cancelled=True, errorCode="ExitEarly"),
            _junie(12, "ResultBlockUpdatedEvent", "CANCELED", stepId="s5", cancelled=True, errorCode="ExitEarly"),
        ),
        (
            "tool terminal exit_code",
            "tool tool not_found",
            "error none",
            "session 1 requests, 3 calls, 1 stops",
        ),
        "/home/me/.junie/sessions/session-260305-100000-a/events.jsonl",
    ),
)

# Auggie


def _exchange(second: int, request: list[Any], response: list[Any], **keys: Any) -> dict[str, Any]:
    exchange = {"request_id": f"r{second}", "request_message": "", "request_nodes": request, "response_nodes": response}
    return {"exchange": exchange, "completed": True, "sequenceId": second, "finishedAt": AT.format(second), **keys}


_AUGGIE_USED = {
    "id": 1,
    "type": 5,
    "tool_use": {"tool_use_id": "c1", "tool_name": "launch-process", "input_json": "{}"},
}
_AUGGIE_SPENT = {"id": 2, "type": 10, "token_usage": {"input_tokens": 70, "output_tokens": 7}}
_AUGGIE_FAILED = {"tool_use_id": "c1", "content": "no such file or directory", "is_error": True}
_AUGGIE = (
    Case(
        "auggie",
        (
            {
                "sessionId": "s1",
                "created": AT.format(0),
                "modified": AT.format(9),
                "chatHistory": [
                    _exchange(1, [{"id": 0, "type": 0, "text_node": {"content": "hi"}}], [_AUGGIE_USED, _AUGGIE_SPENT]),
                    _exchange(2, [{"id": 0, "type": 1, "tool_result_node": _AUGGIE_FAILED}], [_AUGGIE_SPENT]),
                    _exchange(3, [], [], isHistorySummary=True),
                    _exchange(4, [], [], completed=False),
                ],
                "agentState": {"modelId": "m"},
            },
        ),
        ("tool launch-process not_found", "compaction", "session 2 requests, 1 calls, 0 stops"),
        "/home/me/.augment/sessions/s1.json",
    ),
)

# Amp


def _amp(number: int, role: str, *content: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"role": role, "messageId": number, "content": list(content), **keys}


def _amp_result(call: str, status: str, **keys: Any) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseID": call, "run": {"status": status, **keys}}


_AMP_USAGE = {"model": "m", "inputTokens": 70, "outputTokens": 7, "cacheReadInputTokens": 5, "timestamp": AT.format(2)}
_AMP = (
    Case(
        "amp",
        (
            {
                "v": 9,
                "id": "T-1",
                "created": MS,
                "messages": [
                    _amp(0, "user", _text("hi"), meta={"sentAt": MS}),
                    _amp(
                        1,
                        "assistant",
                        *({"type": "tool_use", "id": f"c{call}", "name": "Bash", "input": {}} for call in range(4)),
                        state={"type": "complete", "stopReason": "tool_use"},
                        usage=_AMP_USAGE,
                    ),
                    _amp(
                        2,
                        "user",
                        _amp_result("c0", "error", error={"message": "command not found: x"}),
                        _amp_result("c1", "cancelled", reason="user:cancelled"),
                        _amp_result("c2", "rejected-by-user", reason="no"),
                        _amp_result("c3", "done", result={"output": "", "exitCode": 0}),
                    ),
                    _amp(3, "assistant", state={"type": "error", "error": {"message": "429 slow down"}}),
                    _amp(4, "info", {"type": "summary", "summary": {"type": "message", "summary": "…"}}),
                    _amp(5, "assistant", state={"type": "cancelled"}),
                ],
                "env": {"initial": {"trees": [{"displayName": "shop", "uri": "file:///home/me/shop"}]}},
            },
        ),
        (
            "tool Bash environment",
            "tool Bash cancelled",
            "tool Bash refused",
            "error none",
            "compaction",
            "session 3 requests, 4 calls, 1 stops",
        ),
        "/home/me/.local/share/amp/threads/T-1.json",
    ),
)

# trae-agent


def _trae(final: str, *steps: dict[str, Any], provider: str = "anthropic") -> dict[str, Any]:
    usage = {"input_tokens": 70, "output_tokens": 7, "cache_read_input_tokens": 5, "reasoning_tokens": None}
    asked = {
        "timestamp": "2026-03-05T10:00:01.000001",
        "provider": provider,
        "model": "m",
        "response": {"usage": usage},
    }
    return {
        "task": "…",
        "start_time": "2026-03-05T10:00:00.000001",
        "provider": provider,
        "model": "m",
        "max_steps": len(steps),
        "llm_interactions": [asked, {**asked, "timestamp": "2026-03-05T10:00:02.000001"}],
        "agent_steps": list(steps),
        "success": False,
        "final_result": final,
    }


def _step(number: int, error: str | None, *results: dict[str, Any]) -> dict[str, Any]:
    calls = [{"call_id": result["call_id"], "name": "bash", "arguments": {}} for result in results]
    named = {"step_number": number, "timestamp": f"2026-03-05T10:00:0{number}.000001", "state": "completed"}
    return {**named, "tool_calls": calls or None, "tool_results": list(results) or None, "error": error}


_TRAE = (
    Case(
        "trae_agent",
        (
            _trae(
                "Task execution exceeded maximum steps without completion.",
                _step(1, None, {"call_id": "c1", "success": False, "result": None, "error": "timed out"}),
                _step(2, "Failed to get response: 503 overloaded", {"call_id": "c2", "success": True, "result": "x"}),
            ),
        ),
        ("tool bash timeout", "error none", "budget 2 of 2", "session 2 requests, 2 calls, 0 stops"),
        "/work/trajectories/trajectory_20260305_100000.json",
    ),
    Case(
        "trae_agent",
        (_trae("done", _step(1, None), provider="openai"),),
        ("session 2 requests, 0 calls, 0 stops",),
        "/work/trajectories/trajectory_20260305_110000.json",
    ),
)

# Amazon Q, Zed, Warp and grok-cli: the records that rows of their databases become


def _database(*tables: str) -> dict[str, Any]:
    return {"sqlite": {"tables": sorted(tables)}}


def _row(table: str, number: int, **keys: Any) -> dict[str, Any]:
    return {**keys, "$row": [table, number, str(number)]}


_Q_TURN = {
    "place": MS + 1,
    "at": MS + 1,
    "model": "m",
    "called": [{"name": "execute_bash", "call": "c1"}],
    "failed": [],
}
_Q_NEXT = {
    "place": MS + 2,
    "at": MS + 2,
    "model": "m",
    "called": [],
    "failed": [{"call": "c1", "said": "Exit code 2"}],
    "stopped": False,
}
_Q_STOPPED = {"place": MS + 3, "at": MS + 3, "called": [], "failed": [], "stopped": True}
_Q_FIRST = {"session": "s1", "folder": "/home/me/shop", "model": "m", "turns": [_Q_TURN], "compacted": []}
_ZED_SPENT = {"request": "u1", "input_tokens": 70, "output_tokens": 7, "cache_read_input_tokens": 5}
_ZED_TURN = {"place": 1, "called": [{"name": "terminal", "call": "c1"}], "failed": []}
_ZED_GROWN = {**_ZED_TURN, "failed": [{"call": "c1", "name": "terminal", "said": "command not found: x"}]}
_ZED_FIRST = {"session": "t1", "folder": "/home/me/shop", "model": "m", "provider": "p", "updated": AT.format(1)}


def _query(number: int, status: str) -> dict[str, Any]:
    named = {"id": number, "exchange_id": f"x{number}", "conversation_id": "s1", "model_id": "m"}
    at = {"start_ts": f"2026-03-05 10:00:0{number}.000001", "working_directory": "/home/me/shop"}
    return _row("ai_queries", number, **named, **at, output_status=status)


_THREADS = (
    Case(
        "amazon_q",
        (
            _database("auth_kv", "conversations"),
            _row("conversations", 1, **_Q_FIRST),
            _row("conversations", 2, **{**_Q_FIRST, "turns": [_Q_TURN, _Q_NEXT]}),
            _row("conversations", 3, **{**_Q_FIRST, "turns": [_Q_NEXT, _Q_STOPPED], "compacted": ["k1"]}),
        ),
        ("tool execute_bash exit_code", "compaction", "session 3 requests, 1 calls, 1 stops"),
        "/home/me/.local/share/amazon-q/data.sqlite3",
    ),
    Case(
        "kiro_db",
        (
            _database("auth_kv", "conversations", "conversations_v2"),
            _row("conversations_v2", MS, **{**_Q_FIRST, "turns": [_Q_TURN, _Q_NEXT]}),
        ),
        ("tool execute_bash exit_code", "session 2 requests, 1 calls, 0 stops"),
        "/home/me/.local/share/kiro-cli/data.sqlite3",
    ),
    Case(
        "zed",
        (
            _database("threads.data_type"),
            _row("threads", 1, **_ZED_FIRST, turns=[_ZED_TURN], spent=[]),
            _row("threads", 2, **{**_ZED_FIRST, "updated": AT.format(2)}, turns=[_ZED_GROWN], spent=[_ZED_SPENT]),
        ),
        ("tool terminal environment", "session 1 requests, 1 calls, 0 stops"),
        "/home/me/.local/share/zed/threads/threads.db",
    ),
    Case(
        "warp",
        (
            _database("agent_conversations", "ai_queries"),
            _query(1, '"Completed"'),
            _query(2, '"Failed"'),
            _query(3, '"Cancelled"'),
        ),
        ("error none", "session 3 requests, 0 calls, 1 stops"),
        "/home/me/.local/state/warp-terminal/warp.sqlite",
    ),
    Case(
        "grok_cli",
        (
            _database("compactions", "tool_calls", "tool_results", "usage_events"),
            _row("sessions", 1, id="s1", model="m", cwd_at_start="/home/me/shop", updated_at=AT.format(9)),
            _row("tool_calls", 1, id=1, session_id="s1", tool_name="bash", started_at=AT.format(1)),
            _row("tool_results", 1, result=1, session="s1", tool="bash", at=AT.format(2), failed="timed out"),
            _row("tool_results", 2, result=2, session="s1", tool="bash", at=AT.format(3), failed=None),
            _row(
                "usage_events",
                1,
                id=1,
                session_id="s1",
                model="m",
                input_tokens=70,
                output_tokens=7,
                created_at=AT.format(4),
            ),
            _row("compactions", 1, id=1, session_id="s1", tokens_before=900, created_at=AT.format(5)),
        ),
        ("tool bash timeout", "compaction 900", "session 1 requests, 1 calls, 0 stops"),
        "/home/me/.grok/grok.db",
    ),
)

AGENTS = (*_GROK, *_DROID, *_LETTA, *_JUNIE, *_AUGGIE, *_AMP, *_TRAE, *_THREADS)
