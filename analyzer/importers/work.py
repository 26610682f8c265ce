"""What a run did, out of the records that agents print or keep: replies, calls of tools and their results, and its end.

Readers tell what went wrong; this tells the rest, and of every format in one way: a record is looked at, then the
message, item or part inside it. Prose is never searched: a word counts as the value of a key alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from analyzer.agent_stream import error_facts, mapping, run_tokens, says_error, text
from analyzer.events.codec import parsed
from analyzer.importers.agents.gemini import said_by
from analyzer.importers.shapes.rows import listed

Kind = Literal["began", "step", "opened", "reply", "call", "result", "error", "ended", "aborted"]

ENDS = frozenset({"claude_print", "codex_exec", "gemini_stream"})
"""Formats whose last record tells the end of the run: where it is missing, the output broke off."""
SAYS_WORK = ENDS | {
    *("claude_code", "codex", "gemini_chat", "qwen", "opencode", "copilot", "openhands", "pi", "cline", "goose"),
    *("aider", "kimi", "vibe", "kiro", "antigravity", "hermes"),
}
"""Formats that hold what an agent said and called, so that nothing there means that it did nothing."""

SYNTHETIC = "<synthetic>"
"""The model that Claude Code names where it speaks itself, mostly of an error."""
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
"""Parts that an agent alone writes; a `text` is whose the message is."""
_RESULTS = frozenset({"tool_result", "toolResponse", "function_call_output"})
_ALONE = _CALLS | _REPLIES | _RESULTS | {"text"}
"""What may stand without a message around it."""
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
"""Keys of texts that Claude Code writes in the user's name."""
_INTERRUPTED = "[Request interrupted by user"
_GOES_ON = frozenset({"tool_use", "toolUse", "tool_calls", "tool-calls", "unknown"})
"""Reasons to stop after which the same run goes on; opencode asks again after `unknown`."""
_BROKEN_RECORD = re.compile(rb"\A[^\w{]*\{[ \t]*(?:\"|\Z)|\{[ \t]*\\*[\"']type\\*[\"']")
_SPREAD_RECORD = re.compile(r"^[^\w{\n]*(?=\{\s*\n\s*\")", re.MULTILINE)
_SAYS_FAILED = re.compile(r"error|fail|fatal|abort|cancel", re.IGNORECASE)
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that a run did."""

    kind: Kind
    """`began` begins a run, `step` a part of one, and both need an end; `opened` asks for more, as a prompt does."""
    words: str | None = None
    """The words of a reply, an error or a result; None where the record holds none."""
    tool: str | None = None
    call: str | None = None
    """The id that a call and its result share."""
    failed: bool = False
    side: str | None = None
    """The sub-agent whose record it is; None for the main one."""
    session: str | None = None
    """Whose beginning or end it is."""
    denied: tuple[str | None, ...] = ()
    """Ids of the calls that nobody allowed, as the end of the run lists them."""
    tokens: Mapping[str, int] | None = None
    """`input_tokens` and `output_tokens` of the whole run; None where its end does not count them."""
    cost_usd: float | None = None
    facts: Mapping[str, Any] | None = None
    """Of an error that no reader makes an event of: what the classifier is shown."""


def deeds(record: Mapping[str, Any]) -> Iterator[Deed]:
    """What one record tells; mostly nothing, or one thing."""
    kind = text(record.get("type")) or text(record.get("kind")) or ""
    if kind == "result" and ("subtype" in record or "status" in record):
        yield _end(record)
        return
    if "say" in record or "ask" in record:
        yield from _cline(record)
        return
    if isinstance(record.get("messages"), list):
        for message in map(mapping, record["messages"]):
            yield from deeds(message)
        return
    inner = next((part for key in _INNER if (part := mapping(record.get(key)))), record)
    named = {kind, text(inner.get("type")) or "", text(record.get("subtype")) or ""}
    if named & _BEGAN or kind == "init" or (kind == "system" and "init" in named):
        yield Deed("began", session=text(record.get("session_id")))
        return
    if kind in _HEADS or "projectHash" in record:
        yield Deed("opened")
        return
    if named & _ENDED:
        yield Deed("ended", _last_words(inner, "last_agent_message"), tokens=_tokens(record))
        return
    if named & _ABORTED:
        yield Deed("aborted")
        return
    if "step.end" in named:  # Kimi's replies stand elsewhere
        yield Deed("reply")
        return
    if kind in ("step_start", "step_finish"):  # opencode's run has as many steps as it needs
        reason = text(inner.get("reason"))
        goes_on = reason is None or reason in _GOES_ON
        yield Deed("step") if goes_on else Deed("ended", failed=reason == "error")
        return
    if kind in ("item.started", "item.updated") or kind == "error":
        return
    yield from _message(record, inner, kind)


def is_broken_record(line: bytes) -> bool:
    """Tell whether a line that is no JSON object was to be a record, holds one after other text, or is no text."""
    if _BROKEN_RECORD.search(line) is not None or b"\0" in line:
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def spread_record(words: str) -> int | None:
    """Return where an object over several lines begins that is broken or may tell how a run ended; None without one."""
    at = 0
    while begins := _SPREAD_RECORD.search(words, at):
        try:
            record, at = _decoder.raw_decode(words, begins.end())
        except (ValueError, RecursionError):
            return begins.end()
        if any(deeds(record)) or names_failure(record):
            return begins.end()
    return None


def names_failure(record: Mapping[str, Any]) -> bool:
    """Tell whether a record of no known kind speaks of a failure in its own keys, or wraps a record that ends a run."""
    words = " ".join(text(record.get(key)) or "" for key in ("type", "subtype", "status", "level"))
    if any(map(record.get, ("error", "errors", "is_error"))) or _SAYS_FAILED.search(words):
        return True
    wrapped = (parsed(value) if isinstance(value, str) and value[:1] == "{" else value for value in record.values())
    return any(deed.kind in ("began", "ended", "aborted") for inner in wrapped for deed in deeds(mapping(inner)))


def lines_work(line: str) -> Iterator[Deed]:
    """What one line of an aider chat tells: its own words stand behind `>`, the user's behind `#`."""
    if line.startswith(("#### ", "# aider chat started at ")):
        yield Deed("opened")
    elif line.startswith("> Applied edit to "):
        yield Deed("call", tool="edit")
    elif line.strip() and not line.startswith((">", "#")):
        yield Deed("reply", line)


def _end(record: Mapping[str, Any]) -> Deed:
    cost, stats = record.get("total_cost_usd"), mapping(record.get("stats"))
    return Deed(
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
    """What the end repeats of the answer: empty where it has none, None where such an end never repeats it."""
    return (text(record[key]) or "") if key in record else None


def _message(record: Mapping[str, Any], inner: Mapping[str, Any], kind: str) -> Iterator[Deed]:
    side = text(record.get("parent_tool_use_id")) or (
        (text(record.get("agentId")) or "side") if record.get("isSidechain") is True else None
    )
    role = text(inner.get("role")) or (kind if kind in _MODELS else text(record.get("source")) or kind)
    content = inner.get("content", inner.get("parts"))
    if inner.get("model") == SYNTHETIC or record.get("isApiErrorMessage") is True:
        words = said_by(content)
        label = text(record.get("error"))
        yield Deed("error", words, side=side, facts={"message": words, "type": label} if label else {"message": words})
        return
    is_prompt = role in _USERS and not any(map(record.get, _NO_PROMPTS))
    for part in _parts(inner, content, role, kind):
        yield from _part(part, role, side)
        asked = text(part.get("text")) if is_prompt else None
        if asked and asked.startswith(_INTERRUPTED):
            yield Deed("aborted", side=side)
        elif asked and not asked.startswith("<"):  # what programs put there stands in tags
            yield Deed("opened", side=side)
    calls = inner.get("toolCalls") or inner.get("tool_calls") or inner.get("toolRequests")
    for call in listed(parsed(calls) if isinstance(calls, str) else calls):
        tool = text(call.get("name")) or text(mapping(call.get("function")).get("name"))
        yield Deed("call", tool=tool, call=text(call.get("id")) or text(call.get("toolCallId")), side=side)
    if not _GOES_ON.isdisjoint(text(inner.get(key)) or "" for key in ("stop_reason", "stopReason", "finish_reason")):
        yield Deed("opened", side=side)


def _parts(inner: Mapping[str, Any], content: object, role: str, kind: str) -> Iterable[Mapping[str, Any]]:
    """The parts that a message is made of: a list, one text, or the item itself."""
    if isinstance(content, list):
        return map(mapping, content)
    if own := {text(inner.get("type")) or "", kind} & _ALONE:
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


def _part(part: Mapping[str, Any], role: str, side: str | None) -> Iterator[Deed]:
    if text(part.get("kind")) and "type" not in part:  # Kiro's
        data = part.get("data")
        part = {"type": part["kind"], "text": data, **mapping(data)}
    kind = text(part.get("type")) or ("text" if "text" in part else "")
    if kind in _RESULTS:
        call = text(part.get("tool_use_id")) or text(part.get("tool_id")) or text(part.get("call_id"))
        words = said_by(part.get("content")) or None
        failed = part.get("is_error") is True or part.get("status") == "error"
        yield Deed("result", words, call=call, failed=failed, side=side)
    elif kind in _CALLS or "functionCall" in part:
        asked = mapping(part.get("functionCall"))
        tool = text(part.get("name")) or text(part.get("tool")) or text(part.get("toolName")) or text(asked.get("name"))
        call = text(part.get("id")) or text(part.get("callID")) or text(part.get("toolCallId"))
        state = mapping(part.get("state"))
        yield Deed("call", tool=tool or text(part.get("tool_name")) or kind, call=call, side=side)
        if state.get("status") in ("completed", "error"):  # opencode tells a call and its result at once
            words = text(state.get("error")) or text(state.get("output"))
            yield Deed("result", words, call=call, failed=state.get("status") == "error", side=side)
    elif kind in _REPLIES or (kind == "text" and role in _MODELS):
        words = text(part.get("text"))
        if words and words.strip() and part.get("thought") is not True:
            yield Deed("reply", words, side=side)


def _cline(row: Mapping[str, Any]) -> Iterator[Deed]:
    kind, words = text(row.get("say")) or text(row.get("ask")) or "", text(row.get("text"))
    if row.get("partial") is True or '"finishTask"' in (words or ""):  # Roo Code asks so whether it may end
        return
    if kind in _CLINE_CALLS:
        yield Deed("call", tool=kind)
    elif kind in ("text", "completion_result") and words:
        yield Deed("reply", words)
        if kind == "completion_result":
            yield Deed("ended", words)


def _tokens(record: Mapping[str, Any]) -> dict[str, int] | None:
    named = zip(("input_tokens", "output_tokens"), run_tokens(record), strict=True)
    return {name: number for name, number in named if number is not None} or None
