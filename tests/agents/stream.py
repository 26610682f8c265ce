"""Records as `claude -p --output-format stream-json` prints them."""

from __future__ import annotations

import json
import sys
from typing import Any

WINDOW = 200_000


def say(record: dict[str, Any]) -> None:
    """One record on stdout, at once."""
    sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def init(session: str) -> None:
    """The first record."""
    say({"type": "system", "subtype": "init", "session_id": session, "model": "m-1", "claude_code_version": "2.1.300"})


def reply(session: str, number: int, tokens: int, *blocks: dict[str, Any]) -> None:
    """A reply, after which the context holds so many tokens."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 60, "output_tokens": 50}
    message = {"id": f"msg_{session}_{number}", "model": "m-1", "content": list(blocks), "usage": usage}
    say({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": session})


def tool(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


def answer(session: str, number: int, said: str = "fine") -> None:
    """The answer of that tool."""
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": said}
    message = {"role": "user", "content": [block]}
    say({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": session})


def result(session: str, text: str, **more: Any) -> None:
    """The last record."""
    usage = {"input_tokens": 1_200, "output_tokens": 340}
    models = {"m-1": {"inputTokens": 1_200, "outputTokens": 340, "contextWindow": WINDOW}}
    record = {"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": session}
    say({**record, "usage": usage, "modelUsage": models, **more})
