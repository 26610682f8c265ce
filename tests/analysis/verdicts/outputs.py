"""Builders of what agents print, in their own shapes, with made-up values; a case is one run and its right verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
_AT = "2026-03-05T10:00:{:02}.000Z"


@dataclass(frozen=True)
class Case:
    """One run."""

    name: str
    verdict: str
    text: str
    exit_code: int | None = 0
    agent: str | None = None
    reason: str | None = None
    """The reason that the answer has to name; None where nothing failed, or the test does not look."""


def lines(*rows: Row | str) -> str:
    """Records, one a line; texts between them as they are."""
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


# Claude Code: `claude -p --output-format stream-json`


def say(said: str, sub: str | None = None, model: str = "claude-opus-4-5") -> Row:
    """A reply of the model."""
    return _reply({"type": "text", "text": said}, sub, model)


def use(call: str, tool: str = "Edit", sub: str | None = None) -> Row:
    """A call of a tool."""
    return _reply({"type": "tool_use", "id": call, "name": tool, "input": {}}, sub, "claude-opus-4-5")


def got(call: str, said: str, *, error: bool = False, sub: str | None = None) -> Row:
    """The result of a call."""
    part = {"type": "tool_result", "tool_use_id": call, "content": said, "is_error": error}
    return {"type": "user", "message": {"content": [part]}, "parent_tool_use_id": sub, "session_id": "s"}


def again(attempt: int, status: int | None, error: str) -> Row:
    """A retry that Claude Code tells."""
    told = {"attempt": attempt, "max_retries": 10, "retry_delay_ms": 2000, "error_status": status, "error": error}
    return {"type": "system", "subtype": "api_retry", **told, "session_id": "s"}


def synthetic(said: str, sub: str | None = None, **keys: Any) -> Row:
    """An error in the place of a reply."""
    return {**_reply({"type": "text", "text": said}, sub, "<synthetic>"), **keys}


def _reply(part: Row, sub: str | None, model: str) -> Row:
    message = {"id": "msg_1", "model": model, "role": "assistant", "content": [part]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": sub, "session_id": "s"}


def end(said: str = "", *, error: bool = False, subtype: str = "success", **keys: Any) -> Row:
    """The last record of a run."""
    usage = {"input_tokens": 900, "output_tokens": 80}
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": error,
        "num_turns": 3,
        "result": said,
        "session_id": "s",
        "total_cost_usd": 0.02,
        "usage": usage,
        "permission_denials": [],
        **keys,
    }


def answer(text: str) -> tuple[Row, Row]:
    """The last reply, which the end of the run repeats."""
    return say(text), end(text)


def work() -> tuple[Row, Row]:
    """A call of a tool and its result."""
    return use("a"), got("a", "ok")


def claude(*rows: Row | str) -> str:
    """A run of `claude -p`."""
    head = {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Edit"], "model": "claude-opus-4-5"}
    return lines({**head, "apiKeySource": "none"}, *rows)


# Codex: `codex exec --json`


def codex(*rows: Row | str) -> str:
    """A run of `codex exec --json`."""
    return lines({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}, *rows)


def item(kind: str, **keys: Any) -> Row:
    """An item that has ended."""
    return {"type": "item.completed", "item": {"id": "item_1", "type": kind, **keys}}


def said(text: str) -> Row:
    """A reply in Codex' stream."""
    return item("agent_message", text=text)


def ran(command: str, code: int = 0, output: str = "") -> Row:
    """A command that Codex ran."""
    return item("command_execution", command=command, aggregated_output=output, exit_code=code, status="completed")


DONE: Row = {"type": "turn.completed", "usage": {"input_tokens": 500, "cached_input_tokens": 0, "output_tokens": 40}}


def fault(message: str) -> Row:
    """An error in Codex' stream."""
    return {"type": "error", "message": message}


def turn_failed(message: str) -> Row:
    """The end of a turn that failed."""
    return {"type": "turn.failed", "error": {"message": message}}


# Gemini CLI: `gemini --output-format stream-json`


def gemini(*rows: Row | str) -> str:
    """A run of `gemini -o stream-json`."""
    return lines({"type": "init", "timestamp": _AT.format(0), "session_id": "s", "model": "gemini-3-pro"}, *rows)


def g(kind: str, **keys: Any) -> Row:
    """A record of it."""
    return {"type": kind, "timestamp": _AT.format(1), **keys}


def g_said(content: str) -> Row:
    """A reply of Gemini."""
    return g("message", role="assistant", content=content, delta=True)


def g_end(status: str = "success", kind: str = "", message: str = "") -> Row:
    """The end of it."""
    stats = {"total_tokens": 90, "input_tokens": 70, "output_tokens": 20, "duration_ms": 9, "tool_calls": 0}
    error = {"error": {"type": kind, "message": message}} if kind else {}
    return g("result", status=status, stats=stats, **error)


# opencode: `opencode run --format json`


def oc(kind: str, **part: Any) -> Row:
    """A record of it."""
    keys = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": kind.replace("_", "-"), **part}
    return {"type": kind, "timestamp": 1_772_704_800_000, "sessionID": "ses_1", "part": keys}


def oc_said(text: str) -> Row:
    """A reply in it."""
    return oc("text", text=text)


def oc_tool(tool: str = "bash", status: str = "completed", output: str = "") -> Row:
    """A call of a tool in it, with what came of it."""
    state = {"status": status, "error" if status == "error" else "output": output}
    return oc("tool_use", type="tool", tool=tool, callID="c", state=state)


def oc_error(name: str, **data: Any) -> Row:
    """An error in it."""
    error = {"name": name, "data": data}
    return {"type": "error", "timestamp": 1_772_704_800_000, "sessionID": "ses_1", "error": error}


OC_START, OC_STOP = oc("step_start"), oc("step_finish", reason="stop", tokens={"input": 9, "output": 3})


# Logs of sessions, of agents that print no records of their own


def rollout(*payloads: Row) -> str:
    """A Codex rollout: event messages, and items where they have a role or are calls."""
    head = {"timestamp": _AT.format(0), "type": "session_meta", "payload": {"id": "s", "cwd": "/x/shop"}}
    items = ("message", "function_call", "function_call_output")
    rows = [
        {
            "timestamp": _AT.format(place),
            "type": "response_item" if row["type"] in items else "event_msg",
            "payload": row,
        }
        for place, row in enumerate(payloads, 1)
    ]
    return lines(head, *rows)


def transcript(*rows: Row) -> str:
    """A Claude Code transcript."""
    keep = {"sessionId": "s", "cwd": "/x/shop"}
    return lines(
        *({**row, **keep, "uuid": f"u{n}", "timestamp": _AT.format(n)} for n, row in enumerate(rows)),
    )


def copilot(*rows: tuple[str, Row]) -> str:
    """A Copilot CLI session."""
    return lines(
        *(
            {"type": kind, "data": data, "id": f"e{n}", "timestamp": _AT.format(n), "parentId": None}
            for n, (kind, data) in enumerate((("session.start", {"sessionId": "s"}), *rows))
        )
    )


def pi(*messages: Row) -> str:
    """A session of pi."""
    rows = (
        {"type": "message", "id": f"e{n}", "timestamp": _AT.format(n), "message": m} for n, m in enumerate(messages)
    )
    return lines({"type": "session", "id": "s", "timestamp": _AT.format(0), "cwd": "/x/shop"}, *rows)


def pi_said(text: str, stop: str = "stop", **keys: Any) -> Row:
    """A reply in it."""
    return {
        "role": "assistant",
        "stopReason": stop,
        "content": [{"type": "text", "text": text}] if text else [],
        **keys,
    }


def hands(*rows: Row) -> str:
    """Events of OpenHands."""
    return lines(*({"id": n, "timestamp": "2026-03-05T10:00:00", **row} for n, row in enumerate(rows)))


def cline(*rows: tuple[str, Any]) -> str:
    """A task of Cline."""
    return json.dumps(
        [
            {"ts": n, "type": "say", "say": kind, "text": t if isinstance(t, str) else json.dumps(t)}
            for n, (kind, t) in enumerate(rows, 1_772_704_800_000)
        ]
    )


def goose(*messages: tuple[str, Row]) -> str:
    """A session of goose, as a file."""
    head = {"working_dir": "/x/shop", "description": "", "message_count": len(messages)}
    rows = ({"role": role, "created": 1_772_704_800 + n, "content": [part]} for n, (role, part) in enumerate(messages))
    return lines(head, *rows)


def text(said: str) -> Row:
    """A part of a message that is text."""
    return {"type": "text", "text": said}


def qwen(*rows: Row) -> str:
    """A chat of Qwen Code."""
    return lines(
        *({"uuid": f"u{n}", "sessionId": "s", "timestamp": _AT.format(n), **row} for n, row in enumerate(rows))
    )


def qwen_said(said: str) -> Row:
    """A reply in it."""
    return {"type": "assistant", "message": {"role": "model", "parts": [{"text": said}]}}


def qwen_event(name: str, **found: Any) -> Row:
    """An event in it."""
    event = {"event.name": f"qwen-code.{name}", **found}
    return {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": event}}


def aider(*said: str) -> str:
    """A chat history of aider."""
    return "\n".join(("# aider chat started at 2026-03-05 10:00:00", "", "> Aider v0.86.1", "", *said)) + "\n"
