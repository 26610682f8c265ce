"""Made-up logs in the shape of each agent, and a line for each event that is to be read of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

AT = "2026-03-05T10:00:{:02}.000Z"
MS = 1_772_704_800_000


@dataclass(frozen=True)
class Case:
    """A log, and what is to be read of it."""

    format: str
    records: tuple[object, ...]
    told: tuple[str, ...]
    path: str = "log"


# Kimi Code: packages/agent-core-v2/docs/wire-manifest.d.ts, protocol 1.5

KIMI = "/home/me/.kimi-code/sessions/wd_shop/s1/agents/{}/wire.jsonl"


def kimi(second: int, name: str, **keys: Any) -> dict[str, Any]:
    """A record of the wire."""
    return {"type": name, "agentId": "main", **keys, "time": MS + second * 1000}


def _loop(second: int, kind: str, **keys: Any) -> dict[str, Any]:
    return kimi(second, "context.append_loop_event", event={"type": kind, **keys})


def _asked(second: int, attempt: str) -> dict[str, Any]:
    keys = {"kind": "loop", "provider": "moonshot", "model": "k9", "toolSelect": False, "messageCount": 2}
    return kimi(second, "llm.request", turnStep="0.1", attempt=attempt, **keys)


def _failing(code: str, status: int, said: str) -> dict[str, Any]:
    return {
        "code": code,
        "message": said,
        "name": "APIStatusError",
        "details": {"statusCode": status},
        "retryable": True,
    }


_HEAD = {"type": "metadata", "protocol_version": "1.5", "created_at": MS}
_PRINTED = {
    "role": "meta",
    "type": "turn.step.retrying",
    "failed_attempt": 1,
    "next_attempt": 2,
    "max_attempts": 3,
    "delay_ms": 1500,
    "error_name": "APIStatusError",
    "error_message": "rate limit reached",
    "status_code": 429,
}
_KIMI = (
    Case(
        "kimi",
        (
            _HEAD,
            _asked(1, "1/3"),
            _asked(3, "2/3"),
            _loop(4, "tool.call", toolCallId="c1", name="Bash"),
            _loop(5, "step.end", uuid="u", finishReason="tool_use"),
            _loop(6, "tool.result", toolCallId="c1", result={"output": "Exit code: 2", "isError": True}),
            _loop(7, "tool.result", toolCallId="c1", result={"output": "fine"}),
            kimi(8, "context.apply_compaction", summary="…", compactedCount=9, tokensBefore=900, tokensAfter=90),
            _asked(9, "1/3"),
            kimi(10, "turn.ended", turnId=0, reason="cancelled"),
        ),
        (
            "error none 1",
            "retry 1",
            "settled recovered 2",
            "tool Bash exit_code",
            "compaction 900 90",
            "session 3 requests, 1 calls, 1 stops",
        ),
        KIMI.format("main"),
    ),
    Case(
        "kimi",
        (
            _HEAD,
            _asked(1, "1/2"),
            _asked(2, "2/2"),
            kimi(3, "turn.ended", turnId=0, reason="failed", error=_failing("provider.overloaded", 529, "overloaded")),
            kimi(4, "turn.ended", turnId=1, reason="failed", error=_failing("provider.rate_limit", 429, "slow down")),
            kimi(5, "turn.ended", turnId=2, reason="completed"),
        ),
        (
            "error none 1",
            "retry 1",
            "error 529 2",
            "settled exhausted 2",
            "error 429",
            "session 2 requests, 0 calls, 0 stops",
        ),
        KIMI.format("agent-1"),
    ),
    Case("kimi", ({"role": "assistant", "content": "hi"}, _PRINTED), ("error 429 1", "retry 1 after 1.5")),
)

# Mistral Vibe: vibe/core/types.py, vibe/core/compaction.py


def _vibe(role: str, number: int, said: str | None = None, **keys: Any) -> dict[str, Any]:
    named = {"tool_call_id": f"c{number}"} if role == "tool" else {"message_id": f"m{number}"}
    return {"role": role, "content": said, "injected": False, **named, **keys}


_VIBE = (
    Case(
        "vibe",
        (
            _vibe("user", 1, "do it"),
            _vibe("assistant", 2, tool_calls=[{"id": "c3", "index": 0, "function": {"name": "bash"}}]),
            _vibe("tool", 3, "<tool_error>bash failed: Command failed: 'x'\nReturn code: 1</tool_error>", name="bash"),
            _vibe("tool", 4, "<user_cancellation>Tool execution interrupted by user.</user_cancellation>", name="bash"),
            _vibe("tool", 5, "the text <tool_error>x</tool_error> in a file", name="read_file"),
            _vibe("user", 6, "a <compaction_summary> in a prompt"),
            _vibe("assistant", 7, "done"),
            {**_vibe("user", 8, "You go on.\n<compaction_summary>\n…\n</compaction_summary>"), "injected": True},
        ),
        (
            "tool bash exit_code",
            "tool bash cancelled",
            "compaction",
            "session 2 requests, 1 calls, 0 stops",
        ),
        "/home/me/.vibe/logs/session/session_20260305_100000_abcd/messages.jsonl",
    ),
)

# Kiro CLI: recordings, and crates/agent of amazon-q-developer-cli


def _kiro(kind: str, number: int, *parts: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"version": "v1", "kind": kind, "data": {"message_id": f"m{number}", "content": list(parts), **keys}}


def _used(call: str) -> dict[str, Any]:
    return {"kind": "toolUse", "data": {"toolUseId": call, "name": "shell", "input": {}}}


def _result(call: str, status: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "toolResult", "data": {"toolUseId": call, "content": list(content), "status": status}}


def _turn(number: int, reason: str, **keys: Any) -> dict[str, Any]:
    loop = {"agent_id": {"name": "kiro_default"}, "rand": number}
    return {"loop_id": loop, "end_reason": reason, "end_timestamp": AT.format(number), **keys}


def _stream(kind: object, status: int | None, said: str | None) -> dict[str, Any]:
    error = {"original_request_id": None, "original_status_code": status, "original_message": said, "kind": kind}
    return {"result": {"Err": {"Stream": error}}}


_KIRO = (
    Case(
        "kiro",
        (
            _kiro("Prompt", 1, {"kind": "text", "data": "hi"}, meta={"timestamp": MS // 1000}),
            _kiro("AssistantMessage", 2, {"kind": "text", "data": ""}, _used("c1"), _used("c2"), _used("c3")),
            _kiro(
                "ToolResults",
                3,
                _result("c1", "success", {"kind": "json", "data": {"exit_status": "exit status: 1"}}),
                _result("c2", "error", {"kind": "text", "data": "no such file or directory"}),
                _result("c3", "success", {"kind": "json", "data": {"exit_status": "exit status: 0"}}),
            ),
            _kiro("AssistantMessage", 4, {"kind": "text", "data": "done"}),
        ),
        ("tool shell exit_code", "tool shell not_found", "session 2 requests, 3 calls, 0 stops"),
        "/home/me/.kiro/sessions/cli/7f.jsonl",
    ),
    Case(
        "kiro",
        (
            {
                "session_id": "7f",
                "cwd": "/home/me/shop",
                "session_state": {
                    "version": "v1",
                    "conversation_metadata": {
                        "user_turn_metadatas": [
                            _turn(1, "UserTurnEnd", result={"Ok": {"id": "m"}}),
                            _turn(2, "Error", **_stream("throttling", 429, "Too many requests")),
                            _turn(3, "Error", **_stream({"validation": {"message": "bad input"}}, 400, None)),
                            _turn(4, "Error", **_stream("contextWindowOverflow", None, None)),
                            _turn(5, "Error", result={"Err": {"InvalidJson": {"assistant_text": ""}}}),
                            _turn(6, "Cancelled", result=None),
                        ]
                    },
                },
            },
        ),
        ("error 429", "error 400", "error none", "error none", "session 0 requests, 0 calls, 1 stops"),
    ),
)

# Antigravity: recordings of June 2026; no source is open


def _step(number: int, kind: str, said: str = "", source: str = "MODEL", **keys: Any) -> dict[str, Any]:
    named = {"step_index": number, "source": source, "type": kind, "status": "DONE"}
    return {**named, "created_at": AT.format(number), "content": said, **keys}


_ANTIGRAVITY = (
    Case(
        "antigravity",
        (
            _step(0, "USER_INPUT", "hi", "USER_EXPLICIT"),
            _step(1, "ERROR_MESSAGE", "Error: 503 the model is overloaded, please try again", "SYSTEM"),
            _step(2, "PLANNER_RESPONSE", "", tool_calls=[{"name": "run_command", "args": {}}]),
            _step(3, "RUN_COMMAND", "Created At: x\nCompleted At: y\n\n\t\tThe command failed with exit code: 127\n"),
            _step(4, "CHECKPOINT", "{{ CHECKPOINT 0 }}\n…", "SYSTEM"),
            _step(5, "CHECKPOINT", "{{ CHECKPOINT 1 }}\n…", "SYSTEM"),
            _step(6, "ERROR_MESSAGE", "Error: 429 quota exhausted", "SYSTEM"),
            _step(7, "ERROR_MESSAGE", "Error: 429 quota exhausted", "SYSTEM"),
            _step(8, "USER_INPUT", "again", "USER_EXPLICIT"),
            _step(9, "VIEW_FILE", "Created At: x\nno such file", status="ERROR"),
        ),
        (
            "error none 1",
            "retry 1",
            "settled recovered 2",
            "tool run_command environment",
            "compaction",
            "error none 1",
            "retry 1",
            "error none 2",
            "settled exhausted 2",
            "tool view_file not_found",
            "session 1 requests, 1 calls, 0 stops",
        ),
        "/home/me/.gemini/antigravity-cli/brain/c1/.system_generated/logs/transcript.jsonl",
    ),
)

# Hermes: the wheel hermes-agent 0.19.0


def _hermes(number: int, role: str, **keys: Any) -> dict[str, Any]:
    empty = {"content": None, "tool_calls": None, "tool_call_id": None, "tool_name": None, "finish_reason": None}
    return {"session_id": "s1", "role": role, **empty, "timestamp": MS / 1000 + number, **keys}


def _logged(second: int, said: str, session: str = "[s1] ") -> str:
    return f"2026-03-05 10:00:{second:02},250 WARNING {session}agent.conversation_loop: {said}"


def _call_failed(second: int, attempt: int, said: str) -> str:
    made = f"(attempt {attempt}/3) error_type=APIStatusError thread=t provider=openrouter base_url=u model=m summary="
    return _logged(second, f"API call failed {made}{said}")


_CALLING = json.dumps([{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}}])
_MESSAGES = (
    _hermes(1, "user", content="hi"),
    _hermes(2, "assistant", tool_calls=_CALLING, finish_reason="tool_calls"),
    _hermes(
        3, "tool", tool_name="terminal", tool_call_id="c1", content='{"output": "", "exit_code": 2, "error": null}'
    ),
    _hermes(4, "tool", tool_name="skill_view", content='{"success": false, "error": "Skill not found"}'),
    _hermes(5, "tool", tool_name="terminal", content='{"exit_code": 0, "error": null}'),
    _hermes(6, "assistant", content="done", finish_reason="stop"),
)
_READ = ("tool terminal exit_code", "tool skill_view not_found", "session 2 requests, 1 calls, 0 stops")
_SESSION = {"id": "s1", "started_at": MS / 1000, "ended_at": MS / 1000 + 9, "model": "m", "cwd": "/home/me/shop"}
_HERMES = (
    Case("hermes", _MESSAGES, _READ),
    Case(
        "hermes",
        (
            {**_SESSION, "end_reason": "compression", "messages": list(_MESSAGES)},
            {**_SESSION, "id": "s2", "end_reason": None, "compression_failure_error": "timed out", "messages": []},
        ),
        ("compaction", *_READ[:2], "compaction failed", _READ[2]),
    ),
    Case(
        "hermes_log",
        (
            _call_failed(1, 1, "HTTP 429: slow down"),
            _logged(2, "Retrying API call in 2.5s (attempt 1/3) thread=t provider=openrouter policy=default error=x"),
            _logged(5, "API call #4: model=m provider=openrouter in=9 out=1 total=10 latency=1.0s"),
            "  a line of a traceback",
            _call_failed(6, 1, "HTTP 503: busy"),
            _logged(7, "Retrying API call in 1s (attempt 1/3) thread=t provider=openrouter policy=default error=x"),
            _call_failed(8, 2, "HTTP 503: busy"),
            _logged(9, "API call failed after 2 retries. HTTP 503: busy | provider=openrouter model=m msgs=2"),
        ),
        (
            "error 429 1",
            "retry 1 after 2.5",
            "settled recovered 2",
            "error 503 1",
            "retry 1 after 1.0",
            "error 503 2",
            "settled exhausted 2",
            "session 0 requests, 0 calls, 0 stops",
        ),
    ),
)

# OpenClaw: npm openclaw 2026.9.6, entries of pi's format 3


def _entry(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"e{number}", "parentId": None, "timestamp": AT.format(number), **keys}


def _said(number: int, role: str, **keys: Any) -> dict[str, Any]:
    return _entry(number, "message", message={"role": role, "content": [], **keys})


def _claw(number: int, said: str) -> dict[str, Any]:
    data = {"timestamp": MS, "runId": "r", "sessionId": "s", "provider": "p", "model": "m", "error": said}
    return _entry(number, "custom", customType="openclaw:prompt-error", data=data)


_NO_REPLY = [{"type": "text", "text": "⚠️ Agent failed before reply: 529 overloaded.\nSee the log."}]
_OPENCLAW = (
    Case(
        "pi",
        (
            {"type": "session", "version": 3, "id": "s", "timestamp": AT.format(0), "cwd": "/home/me/shop"},
            _said(1, "assistant", stopReason="error", errorMessage="529 overloaded", provider="p", model="m"),
            _claw(2, "529 overloaded"),
            _said(3, "assistant", stopReason="error", errorMessage="529 overloaded", provider="p", model="m"),
            _said(4, "assistant", stopReason="stop", model="gateway-injected", content=_NO_REPLY),
            _said(5, "assistant", stopReason="stop", model="delivery-mirror"),
            _said(6, "user"),
            _claw(7, "529 overloaded"),
            _said(8, "assistant", stopReason="stop", provider="p", model="m"),
        ),
        (
            "error 529 1",
            "retry 1",
            "error 529 2",
            "settled exhausted 2",
            "error 529 1",
            "retry 1",
            "settled recovered 2",
            "session 3 requests, 0 calls, 0 stops",
        ),
        "/home/me/.openclaw/agents/main/sessions/s.jsonl",
    ),
)

# Gemini CLI: /compress, whose outcome is kept without its text


def _chat(number: int, kind: str, said: str, **keys: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": AT.format(number), "type": kind, "content": said, **keys}


def _asked_with(used: int) -> dict[str, Any]:
    return {"model": "m", "tokens": {"input": used, "output": 1, "cached": 0, "total": used + 1}}


_GEMINI = (
    Case(
        "gemini_chat",
        (
            {"sessionId": "s", "projectHash": "h", "startTime": AT.format(0), "kind": "main"},
            _chat(1, "gemini", "x", **_asked_with(900)),
            _chat(2, "info", ""),
            _chat(3, "gemini", "x", **_asked_with(90)),
            _chat(4, "info", ""),
            _chat(5, "gemini", "x", **_asked_with(95)),
            _chat(6, "info", "Model set to m"),
            {**_chat(7, "info", ""), "content": [{"inlineData": {"mimeType": "image/png", "data": "x"}}]},
        ),
        ("compaction 900 90", "compaction failed", "session 3 requests, 0 calls, 0 stops"),
    ),
)

# Copilot CLI: what a failure says of the retries before it


def _copilot(number: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": AT.format(number), "parentId": None}


_GIVEN_UP = "No response; retried 5 times (total retry wait time: 90.5 seconds) Last error: 429 slow down"
_COPILOT = (
    Case(
        "copilot",
        (
            _copilot(0, "session.start", sessionId="s", context={"cwd": "/home/me/shop"}),
            _copilot(1, "session.error", errorType="rate_limit", message=_GIVEN_UP, statusCode=429),
            _copilot(2, "session.error", errorType="quota", message=_GIVEN_UP, statusCode=402),
            _copilot(3, "session.error", errorType="query", message="502 bad gateway", statusCode=502),
        ),
        (
            "error 429 6",
            "settled exhausted 6 waited 90.5",
            "error 402 6",
            "limit",
            "settled exhausted 6 waited 90.5",
            "error 502",
            "session 0 requests, 0 calls, 0 stops",
        ),
    ),
)

# Cline CLI: messages-contract-v1.md; Continue: core/index.d.ts

_CLINE = (
    Case(
        "cline_cli",
        (
            {
                "version": 1,
                "updated_at": AT.format(9),
                "agent": "lead",
                "sessionId": "s1",
                "messages": [
                    {"id": "m1", "role": "user", "content": [{"type": "text", "text": "hi"}]},
                    {
                        "id": "m2",
                        "role": "assistant",
                        "ts": MS,
                        "modelInfo": {"id": "m", "provider": "p"},
                        "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}],
                    },
                    {
                        "id": "m3",
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "c1", "content": "ENOENT", "is_error": True}
                        ],
                    },
                    {"id": "m4", "role": "assistant", "ts": MS + 9, "content": []},
                ],
            },
        ),
        ("tool bash not_found", "session 2 requests, 1 calls, 0 stops"),
    ),
    Case(
        "continue",
        (
            {
                "sessionId": "s1",
                "title": "…",
                "workspaceDirectory": "file:///home/me/shop",
                "history": [
                    {"message": {"role": "user", "content": "hi"}, "contextItems": []},
                    {
                        "message": {"role": "assistant", "content": ""},
                        "contextItems": [],
                        "toolCallStates": [
                            {
                                "toolCallId": "c1",
                                "toolCall": {"id": "c1", "function": {"name": "run_terminal_command"}},
                                "status": "errored",
                                "output": [{"name": "Error", "content": "command timed out"}],
                            },
                            {"toolCallId": "c2", "toolCall": {"function": {"name": "edit"}}, "status": "canceled"},
                            {"toolCallId": "c3", "toolCall": {"function": {"name": "read"}}, "status": "done"},
                        ],
                    },
                    {"message": {"role": "assistant", "content": "x"}, "contextItems": [], "conversationSummary": "…"},
                ],
            },
        ),
        (
            "tool run_terminal_command timeout",
            "tool edit cancelled",
            "compaction",
            "session 2 requests, 3 calls, 0 stops",
        ),
    ),
)

# ATIF 1.8; mini-swe-agent 2.4.6; SWE-agent


def _atif(**keys: Any) -> dict[str, Any]:
    steps = [
        {"step_id": 1, "source": "user", "message": "hi", "timestamp": AT.format(1)},
        {
            "step_id": 2,
            "source": "agent",
            "message": "",
            "timestamp": AT.format(2),
            "llm_call_count": 2,
            "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {}}],
        },
        {"step_id": 3, "source": "agent", "message": "", "is_copied_context": True},
        {"step_id": 4, "source": "agent", "message": "done"},
    ]
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "Devin", "version": "1"}, "steps": steps, **keys}


def _mini(status: str, *messages: dict[str, Any], limit: int = 0) -> dict[str, Any]:
    config = {"agent": {"step_limit": limit}, "agent_type": "x", "model": {"model_name": "m"}}
    stats = {"instance_cost": 0.1, "api_calls": 5}
    info = {"model_stats": stats, "config": config, "mini_version": "2.4.6", "exit_status": status, "submission": ""}
    return {"info": info, "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1"}


def _swe(status: str) -> dict[str, Any]:
    stats = {"api_calls": 3, "tokens_sent": 9, "tokens_received": 1}
    steps = [{"action": "ls", "observation": "", "response": "Exit due to retry error: 503 busy"}]
    return {"environment": "main", "trajectory": steps, "info": {"exit_status": status, "model_stats": stats}}


_FAILED_RUN = {"exit_status": "RateLimitError", "exception_str": "429 slow down", "traceback": "…"}
_TRAJECTORIES = (
    Case(
        "atif",
        (_atif(session_id="s1", subagent_trajectories=[_atif(trajectory_id="t2")]),),
        ("session 6 requests, 2 calls, 0 stops",),
    ),
    Case(
        "swe_agent",
        (
            _mini(
                "RateLimitError",
                {"role": "assistant", "content": ""},
                {"role": "tool", "content": "", "extra": {"returncode": 1, "raw_output": "…"}},
                {"role": "tool", "content": "", "extra": {"returncode": 0}},
                {"role": "exit", "content": "429 slow down", "extra": _FAILED_RUN},
            ),
        ),
        ("error none", "tool bash exit_code", "session 5 requests, 0 calls, 0 stops"),
        "/runs/a.traj.json",
    ),
    Case(
        "swe_agent",
        (_mini("LimitsExceeded", limit=5),),
        ("budget 5 of 5", "session 5 requests, 0 calls, 0 stops"),
        "/runs/b.traj.json",
    ),
    Case(
        "swe_agent",
        (_swe("submitted (exit_api)"),),
        ("error none", "session 3 requests, 0 calls, 0 stops"),
        "/runs/c.traj",
    ),
    Case("swe_agent", (_swe("submitted"),), ("session 3 requests, 0 calls, 0 stops",), "/runs/d.traj"),
)

CASES = (*_KIMI, *_VIBE, *_KIRO, *_ANTIGRAVITY, *_HERMES, *_OPENCLAW, *_GEMINI, *_COPILOT, *_CLINE, *_TRAJECTORIES)
