"""Read what a run did from the records that agents print or keep: replies, calls of tools, their results, the end.

Readers tell what went wrong; this tells the rest, for every format in the same way: it looks at a record, then at the
message, item or part inside it. Prose is never searched: a word counts only as the value of a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from analyzer.agent_stream import content_text, error_facts, mapping, run_tokens, says_error, text
from analyzer.events.codec import parsed
from analyzer.frozen import frozen
from analyzer.importers.shapes.rows import listed

Kind = Literal["began", "step", "opened", "reply", "call", "result", "error", "ended", "aborted"]

ENDS = frozenset({"claude_print", "codex_exec", "gemini_stream"})
"""Formats whose last record tells the end of the run: without it, the output broke off."""
SAYS_WORK = ENDS | {
    *("claude_code", "codex", "gemini_chat", "qwen", "opencode", "copilot", "openhands", "pi", "cline", "goose"),
    *("aider", "kimi", "vibe", "kiro", "antigravity", "hermes"),
}
"""Formats that hold what an agent said and called: if they hold nothing, the agent did nothing."""

SYNTHETIC = "<synthetic>"
"""The model that Claude Code names for its own messages, which are mostly errors."""
_MODELS = frozenset({"assistant", "model", "gemini", "agent", "text", "AssistantMessage", "PLANNER_RESPONSE"})
_CALLS = frozenset(
    {
        *(
            "tool_use",
            "tool_call",
            "toolCall",
            "toolUse",
            "toolRequest",
            "function_call",
            "custom_tool_call",
            "local_shell_call",
        ),
        *("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call", "todo_list"),
        *(
            "exec_command_begin",
            "patch_apply_begin",
            "mcp_tool_call_begin",
            "tool.execution_start",
            "tool",
            "tool.call",
        ),
    }
)
_REPLIES = frozenset({"agent_message", "output_text", "assistant.message"})
"""Parts that only an agent writes; a `text` belongs to the author of its message."""
_RESULTS = frozenset({"tool_result", "toolResponse", "function_call_output"})
_WITHOUT_MESSAGE = _CALLS | _REPLIES | _RESULTS | {"text"}
"""Parts that may stand without a message around them."""
_CLINE_CALLS = frozenset({"tool", "command", "browser_action", "use_mcp_server", "mcp_server_request_started"})
_HANDS_CALLS = frozenset(
    {"run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive", "call_tool_mcp"}
)
_INNER = ("message", "payload", "item", "msg", "part", "data", "event")
_BEGAN = frozenset({"thread.started", "turn.started", "task_started", "turn_started"})
_HEADS = frozenset({"session_meta", "session", "session.start", "session.resume", "session_start"})
_ENDED = frozenset({"turn.completed", "task_complete", "turn_complete"})
_ABORTED = frozenset({"turn_aborted", "abort", "interrupted"})
_USERS = frozenset({"user", "human", "user.message", "USER_INPUT", "Prompt"})
_NO_PROMPTS = ("isMeta", "isSynthetic", "isReplay", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Keys of texts that Claude Code, not the user, writes as the user."""
_INTERRUPTED = "[Request interrupted by user"
_GOES_ON = frozenset({"tool_use", "toolUse", "tool_calls", "tool-calls", "unknown"})
"""Reasons to stop after which the run goes on; opencode asks again after `unknown`."""
_BROKEN_RECORD = re.compile(rb"\A[^\w{]*\{[ \t]*(?:\"|\Z)|\{[ \t]*\\*[\"']type\\*[\"']")
_SPREAD_RECORD = re.compile(r"^[^\w{\n]*(?=\{\s*\n\s*\")", re.MULTILINE)
_SAYS_FAILED = re.compile(r"error|fail|fatal|abort|cancel", re.IGNORECASE)
_decoder = json.JSONDecoder()


@frozen
class Act:
    """One act of a run, as a record tells it."""

    kind: Kind
    """`began` begins a run and `step` a part of one, and both need an end; `opened` asks for more, as a prompt does."""
    words: str | None = None
    """The words of a reply, an error or a result; None if the record holds none."""
    tool: str | None = None
    call: str | None = None
    """The id that a call and its result share."""
    failed: bool = False
    side: str | None = None
    """The sub-agent that acted; None for the main agent."""
    session: str | None = None
    """The session that began or ended."""
    denied: tuple[str | None, ...] = ()
    """Ids of the denied calls, as the end of the run lists them."""
    tokens: Mapping[str, int] | None = None
    """`input_tokens` and `output_tokens` of the whole run; None if its end does not count them."""
    cost_usd: float | None = None
    facts: Mapping[str, Any] | None = None
    """For an error that no reader makes an event of: what the classifier is shown."""


def acts_in(record: Mapping[str, Any]) -> Iterator[Act]:
    """Yield the acts that a record tells; mostly none or one."""
    kind = text(record.get("type")) or text(record.get("kind")) or ""
    if kind == "result" and ("subtype" in record or "status" in record):
        yield _end(record)
        return
    if "say" in record or "ask" in record:
        yield from _cline(record)
        return
    if isinstance(record.get("messages"), list):
        for message in map(mapping, record["messages"]):
            yield from acts_in(message)
        return
    inner = next((part for key in _INNER if (part := mapping(record.get(key)))), record)
    named = {kind, text(inner.get("type")) or "", text(record.get("subtype")) or ""}
    if named & _BEGAN or kind == "init" or (kind == "system" and "init" in named):
        yield Act("began", session=text(record.get("session_id")))
        return
    if kind in _HEADS or "projectHash" in record:
        yield Act("opened")
        return
    if named & _ENDED:
        yield Act("ended", _last_words(inner, "last_agent_message"), tokens=_tokens(record))
        return
    if named & _ABORTED:
        yield Act("aborted")
        return
    if "step.end" in named:  # Kimi writes the reply itself to another record
        yield Act("reply")
        return
    if kind in ("step_start", "step_finish"):  # a run of opencode has many steps
        reason = text(inner.get("reason"))
        goes_on = reason is None or reason in _GOES_ON
        yield Act("step") if goes_on else Act("ended", failed=reason == "error")
        return
    if kind in ("item.started", "item.updated") or kind == "error":
        return
    yield from _message(record, inner, kind)


def is_broken_record(line: bytes) -> bool:
    """Tell whether a line that is no JSON object is a broken record, holds a record after other text, or is no text."""
    if _BROKEN_RECORD.search(line) is not None or b"\0" in line:
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def multiline_record_start(words: str) -> int | None:
    """Return where an object over several lines begins that is broken or may tell an end of a run; None without one."""
    at = 0
    while begins := _SPREAD_RECORD.search(words, at):
        try:
            record, at = _decoder.raw_decode(words, begins.end())
        except (ValueError, RecursionError):
            return begins.end()
        if any(acts_in(record)) or mentions_failure(record):
            return begins.end()
    return None


def mentions_failure(record: Mapping[str, Any]) -> bool:
    """Tell whether a record without acts names a failure in its own keys, or wraps a record that ends a run."""
    words = " ".join(text(record.get(key)) or "" for key in ("type", "subtype", "status", "level"))
    if any(map(record.get, ("error", "errors", "is_error"))) or _SAYS_FAILED.search(words):
        return True
    wrapped = (parsed(value) if isinstance(value, str) and value[:1] == "{" else value for value in record.values())
    return any(act.kind in ("began", "ended", "aborted") for inner in wrapped for act in acts_in(mapping(inner)))


def acts_in_chat_line(line: str) -> Iterator[Act]:
    """Yield the acts of a line of an aider chat: aider's own words follow `>`, the user's follow `#`."""
    if line.startswith(("#### ", "# aider chat started at ")):
        yield Act("opened")
    elif line.startswith("> Applied edit to "):
        yield Act("call", tool="edit")
    elif line.strip() and not line.startswith((">", "#")):
        yield Act("reply", line)


def _end(record: Mapping[str, Any]) -> Act:
    cost, stats = record.get("total_cost_usd"), mapping(record.get("stats"))
    return Act(
        "ended",
        _last_words(record, "result"),
        failed=says_error(record)
        or {text(record.get("subtype")), text(record.get("status"))} - {None} != {"success"}
        or _SAYS_FAILED.search(text(record.get("terminal_reason")) or "") is not None,
        session=text(record.get("session_id")),
        denied=tuple(text(denial.get("tool_use_id")) for denial in listed(record.get("permission_denials"))),
        tokens=_tokens({"usage": stats} if stats else record),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        facts=error_facts(record) if says_error(record) else None,
    )


def _last_words(record: Mapping[str, Any], key: str) -> str | None:
    """Return the answer as the end repeats it: empty if there is none, None if such an end never repeats it."""
    return (text(record[key]) or "") if key in record else None


def _message(record: Mapping[str, Any], inner: Mapping[str, Any], kind: str) -> Iterator[Act]:
    side = text(record.get("parent_tool_use_id")) or (
        (text(record.get("agentId")) or "side") if record.get("isSidechain") is True else None
    )
    role = text(inner.get("role")) or (kind if kind in _MODELS else text(record.get("source")) or kind)
    content = inner.get("content", inner.get("parts"))
    if inner.get("model") == SYNTHETIC or record.get("isApiErrorMessage") is True:
        words = content_text(content)
        label = text(record.get("error"))
        yield Act("error", words, side=side, facts={"message": words, "type": label} if label else {"message": words})
        return
    is_prompt = role in _USERS and not any(map(record.get, _NO_PROMPTS))
    for part in _parts(inner, content, role, kind):
        yield from _part(part, role, side)
        asked = text(part.get("text")) if is_prompt else None
        if asked and asked.startswith(_INTERRUPTED):
            yield Act("aborted", side=side)
        elif asked and not asked.startswith("<"):  # programs put their own texts in tags
            yield Act("opened", side=side)
    calls = inner.get("toolCalls") or inner.get("tool_calls") or inner.get("toolRequests")
    for call in listed(parsed(calls) if isinstance(calls, str) else calls):
        tool = text(call.get("name")) or text(mapping(call.get("function")).get("name"))
        yield Act("call", tool=tool, call=text(call.get("id")) or text(call.get("toolCallId")), side=side)
    if not _GOES_ON.isdisjoint(text(inner.get(key)) or "" for key in ("stop_reason", "stopReason", "finish_reason")):
        yield Act("opened", side=side)


def _parts(inner: Mapping[str, Any], content: object, role: str, kind: str) -> Iterable[Mapping[str, Any]]:
    """Return the parts of a message: a list, one text, or the item itself."""
    if isinstance(content, list):
        return map(mapping, content)
    if own := {text(inner.get("type")) or "", kind} & _WITHOUT_MESSAGE:
        words = text(inner.get("text")) or text(inner.get("message")) or content
        return ({**inner, "type": min(own, key=lambda name: name == "text"), "text": words},)
    if isinstance(content, str) and "observation" not in inner:
        return ({"type": "text", "text": content},)
    action = text(inner.get("action"))
    if action in _HANDS_CALLS or kind == "ActionEvent":
        return ({"type": "tool_use", "name": action or text(inner.get("tool_name"))},)
    if role == "agent" and action in ("message", "finish"):
        return ({"type": "text", "text": inner.get("message")},)
    return listed(mapping(inner.get("llm_message")).get("content"))


def _part(part: Mapping[str, Any], role: str, side: str | None) -> Iterator[Act]:
    if text(part.get("kind")) and "type" not in part:  # Kiro's
        data = part.get("data")
        part = {"type": part["kind"], "text": data, **mapping(data)}
    kind = text(part.get("type")) or ("text" if "text" in part else "")
    if kind in _RESULTS:
        call = text(part.get("tool_use_id")) or text(part.get("tool_id")) or text(part.get("call_id"))
        words = content_text(part.get("content")) or None
        failed = part.get("is_error") is True or part.get("status") == "error"
        yield Act("result", words, call=call, failed=failed, side=side)
    elif kind in _CALLS or "functionCall" in part:
        asked = mapping(part.get("functionCall"))
        tool = text(part.get("name")) or text(part.get("tool")) or text(part.get("toolName")) or text(asked.get("name"))
        call = text(part.get("id")) or text(part.get("callID")) or text(part.get("toolCallId"))
        state = mapping(part.get("state"))
        yield Act("call", tool=tool or text(part.get("tool_name")) or kind, call=call, side=side)
        if state.get("status") in ("completed", "error"):  # opencode writes a call and its result as one part
            words = text(state.get("error")) or text(state.get("output"))
            yield Act("result", words, call=call, failed=state.get("status") == "error", side=side)
    elif kind in _REPLIES or (kind == "text" and role in _MODELS):
        words = text(part.get("text"))
        if words and words.strip() and part.get("thought") is not True:
            yield Act("reply", words, side=side)


def _cline(row: Mapping[str, Any]) -> Iterator[Act]:
    kind, words = text(row.get("say")) or text(row.get("ask")) or "", text(row.get("text"))
    if row.get("partial") is True or '"finishTask"' in (words or ""):  # so Roo Code asks whether it may end
        return
    if kind in _CLINE_CALLS:
        yield Act("call", tool=kind)
    elif kind in ("text", "completion_result") and words:
        yield Act("reply", words)
        if kind == "completion_result":
            yield Act("ended", words)


def _tokens(record: Mapping[str, Any]) -> dict[str, int] | None:
    named = zip(("input_tokens", "output_tokens"), run_tokens(record), strict=True)
    return {name: number for name, number in named if number is not None} or None
