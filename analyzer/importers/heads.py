"""The beginning of a source, and how it tells the format: a test of its records for each kind of log."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.agent_stream import mapping
from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.importers.shapes.files import first_records, looks_like_document

HEAD_BYTES = 512 * 1024
"""How much of a source is looked at; one line of a transcript may be larger than any smaller head."""
_LOOKED_AT = 60

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a source."""

    data: bytes
    objects: tuple[Record, ...]
    """The JSON objects among its first lines; none of a document."""
    elements: tuple[Record, ...] = ()
    """The first objects of a document: of an array, or of objects that take many lines each."""


def head_of(data: bytes) -> Head:
    """The head of a source from its first bytes; a line that is cut off at their end does not count."""
    if looks_like_document(data[:64]) and (elements := first_records(data, _LOOKED_AT)):
        return Head(data, (), elements)
    lines = data.split(b"\n")
    if len(data) >= HEAD_BYTES and len(lines) > 2:
        lines.pop()
    shown = [line for line in lines if line.strip()][:_LOOKED_AT]
    decoded = (decode_object(line.removeprefix(b"\xef\xbb\xbf"), unique_keys=False) for line in shown)
    return Head(data, tuple(record for record in decoded if not isinstance(record, Reject)))


def lines(test: Callable[[Record], bool]) -> Callable[[Head], bool]:
    """Recognise a log of lines by any record among the first ones."""
    return lambda head: any(test(record) for record in head.objects)


def records(test: Callable[[Record], bool], *marks: bytes) -> Callable[[Head], bool]:
    """Recognise a log of lines, or a document with such records.

    A document of one object that is longer than the head has no whole record there: then the marks decide.
    """

    def recognises(head: Head) -> bool:
        if any(test(record) for record in head.elements or head.objects):
            return True
        cut_off = bool(marks) and len(head.data) >= HEAD_BYTES
        one = cut_off and (looks_like_document(head.data[:64]) or b"\n" not in head.data)
        return one and all(mark in head.data for mark in marks)

    return recognises


def tables(*names: str) -> Callable[[Head], bool]:
    """Recognise a database by its tables."""
    return lines(lambda record: set(names) <= set(mapping(record.get("sqlite")).get("tables") or ()))


# Our own log, and logs in its envelope


def gdd(record: Record) -> bool:
    """An event in the envelope of our own log."""
    return isinstance(record.get("type"), str) and "sessionId" in record and isinstance(record.get("payload"), dict)


def ours(record: Record) -> bool:
    """An event of our own log."""
    named = isinstance(record.get("type"), str) and isinstance(record.get("id"), str)
    return named and isinstance(record.get("payload"), dict) and ("v" in record or "crc" in record)


def wave(record: Record) -> bool:
    """An event of a Wave pipeline."""
    return (
        isinstance(record.get("state"), str)
        and "timestamp" in record
        and ("step_id" in record or "pipeline_id" in record)
    )


# Claude Code, and Qwen Code, whose records look like its

_TRANSCRIPT_TYPES = frozenset({"user", "assistant", "system", "progress", "attachment"})


def claude_code(record: Record) -> bool:
    """A record of a Claude Code transcript; those of Qwen Code have its keys, and more."""
    kind = record.get("type")
    if not isinstance(kind, str) or qwen(record):
        return False
    if kind in _TRANSCRIPT_TYPES:
        return "sessionId" in record and ("uuid" in record or "parentUuid" in record)
    if kind == "summary":
        return "leafUuid" in record
    return kind == "file-history-snapshot" and "snapshot" in record


def claude_print(record: Record) -> bool:
    """A record of `claude -p`, or the input of its StopFailure hook."""
    kind, subtype = record.get("type"), record.get("subtype")
    if kind == "system":
        return (
            isinstance(subtype, str)
            and subtype in {"init", "api_retry"}
            and ("session_id" in record or "attempt" in record)
        )
    if kind == "result":
        return isinstance(subtype, str) and "session_id" in record
    return record.get("hook_event_name") == "StopFailure"


def qwen(record: Record) -> bool:
    """A record of a Qwen Code chat: Claude Code's envelope round a Gemini message."""
    if not {"uuid", "sessionId", "type"} <= record.keys():
        return False
    message = mapping(record.get("message"))
    return (
        record.get("type") == "tool_result"
        or isinstance(record.get("systemPayload"), dict)
        or message.get("role") == "model"
        or isinstance(message.get("parts"), list)
    )


# Codex

_ROLLOUT = frozenset(
    {
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "token_usage_record",
    }
)
_EXEC = frozenset({"turn.started", "turn.completed", "turn.failed", "item.started", "item.updated", "item.completed"})


def codex(record: Record) -> bool:
    """A record of a Codex rollout, of today or from before September 2025."""
    kind = record.get("type")
    if isinstance(kind, str) and kind in _ROLLOUT:
        return isinstance(record.get("payload"), dict)
    if record.get("record_type") == "state":
        return True
    return {"id", "timestamp", "instructions"} <= record.keys() <= {"id", "timestamp", "instructions", "git"}


def codex_exec(record: Record) -> bool:
    """A record of `codex exec --json`, of today or in the envelope of 2025."""
    kind = record.get("type")
    if kind == "thread.started":
        return isinstance(record.get("thread_id"), str)
    if isinstance(kind, str) and kind in _EXEC:
        return kind == "turn.started" or bool({"usage", "error", "item"} & record.keys())
    message = record.get("msg")
    return record.keys() == {"id", "msg"} and isinstance(message, dict) and isinstance(message.get("type"), str)


# Gemini CLI and OpenTelemetry


def gemini_chat(record: Record) -> bool:
    """A record of a Gemini CLI chat: its head, or a change of it."""
    return ("sessionId" in record and "projectHash" in record) or "$rewindTo" in record


def gemini_stream(record: Record) -> bool:
    """The first record of `gemini --output-format stream-json`."""
    return record.get("type") == "init" and "session_id" in record and "model" in record


def sdk_telemetry(record: Record) -> bool:
    """An object of OpenTelemetry's SDK for JavaScript, as Gemini CLI and others write it to files."""
    paired = isinstance(record.get("hrTime"), list) or isinstance(record.get("startTime"), list)
    printed = "traceId" in record and isinstance(record.get("timestamp"), int) and "duration" in record
    named = isinstance(record.get("resource"), dict) or "instrumentationScope" in record or "_spanContext" in record
    span = isinstance(record.get("traceId"), str) and bool({"spanId", "id"} & record.keys()) and "attributes" in record
    if (paired or printed) and (named or span):
        return True
    return isinstance(record.get("scopeMetrics"), list) and "resource" in record


_REQUESTS = frozenset({"resourceLogs", "resourceSpans", "resourceMetrics"})
_SCOPES = frozenset({"scopeLogs", "scopeSpans"})


def otlp(record: Record) -> bool:
    """A request of the OpenTelemetry protocol, one inside a capture's envelope, or one of its resources."""
    if _REQUESTS & record.keys() or ("resource" in record and _SCOPES & record.keys()):
        return True
    return any(isinstance(inner, dict) and bool(_REQUESTS & inner.keys()) for inner in record.values())


# Other agents


def pi(record: Record) -> bool:
    """The first record of a pi session."""
    return record.get("type") == "session" and "cwd" in record and "timestamp" in record


def copilot(record: Record) -> bool:
    """An event of a Copilot CLI session; custom entries of pi have its keys, and one more."""
    named = isinstance(record.get("type"), str) and "parentId" in record
    return named and isinstance(record.get("data"), dict) and "customType" not in record


def opencode(record: Record) -> bool:
    """A message, a part or a session of opencode's storage, or a part or an error that `opencode run` prints."""
    error = record.get("error")
    if isinstance(error, dict) and isinstance(error.get("name"), str) and isinstance(error.get("data"), dict):
        return "sessionID" in record
    record = mapping(record.get("part")) or record
    named = str(record.get("id", ""))
    if named.startswith("ses_"):
        return "directory" in record and "time" in record
    if "sessionID" not in record:
        return False
    return (named.startswith("msg_") and "role" in record) or (named.startswith("prt_") and "messageID" in record)


def junie(record: Record) -> bool:
    """An event of a Junie session that an agent has sent."""
    return record.get("kind") == "SessionA2uxEvent" and "agentEvent" in mapping(record.get("event"))


_CONDENSED = frozenset({"Condensation", "CondensationRequest"})


def openhands(record: Record) -> bool:
    """An event of OpenHands: by its kind, or by what was done or seen, as before 2025's end."""
    kind = record.get("kind")
    if isinstance(kind, str):
        others = "apiVersion" in record or "timestampMs" in record  # Kubernetes', and Junie's
        return (kind.endswith("Event") or kind in _CONDENSED) and not others
    seen = isinstance(record.get("action"), str) or isinstance(record.get("observation"), str)
    return seen and {"timestamp", "source", "message"} <= record.keys()


def crush(record: Record) -> bool:
    """A line of Crush's log."""
    source = mapping(record.get("source"))
    return {"time", "level", "msg"} <= record.keys() and "/crush/" in str(source.get("function", ""))


def cline(record: Record) -> bool:
    """A row of what Cline or Roo Code shows."""
    kind = record.get("type")
    return kind in ("say", "ask") and isinstance(record.get(kind), str) and isinstance(record.get("ts"), int)


def goose(record: Record) -> bool:
    """The first record of a goose session, as goose wrote them before it had a database."""
    return "working_dir" in record and "message_count" in record


def litellm(record: Record) -> bool:
    """LiteLLM's standard logging payload."""
    return {"call_type", "status", "custom_llm_provider"} <= record.keys() or "standard_logging_object" in record


def holds(*keys: str) -> Callable[[Record], bool]:
    """Recognise a record by keys that it has."""
    return lambda record: set(keys) <= record.keys()


def exported(test: Callable[[Record], bool]) -> Callable[[Record], bool]:
    """Recognise a run of a tracing platform, or a record that holds such ones."""

    def recognises(record: Record) -> bool:
        held = (record.get(key) for key in ("data", "observations", "runs", "calls"))
        return test(record) or any(test(mapping(found[0])) for found in held if isinstance(found, list) and found)

    return recognises


def langfuse(record: Record) -> bool:
    """An observation of Langfuse's, whose kinds are in capitals."""
    named = str(record.get("type")).isupper() and {"id", "level"} <= record.keys()
    return named and ({"traceId", "startTime"} <= record.keys() or {"trace_id", "start_time"} <= record.keys())


def mlflow(record: Record) -> bool:
    """A trace of MLflow's."""
    info, data = mapping(record.get("info")), mapping(record.get("data"))
    return bool({"trace_id", "request_id"} & info.keys()) and isinstance(data.get("spans"), list)


def openai_agents(record: Record) -> bool:
    """A trace or a span of the OpenAI Agents SDK."""
    if record.get("object") == "trace.span":
        return isinstance(record.get("span_data"), dict)
    return record.get("object") == "trace" and "workflow_name" in record


def kimi(record: Record) -> bool:
    """The first record of Kimi Code's wire, or a retry that it prints."""
    if record.get("type") == "metadata":
        return "protocol_version" in record and "created_at" in record
    return record.get("type") == "turn.step.retrying" and record.get("role") == "meta"


def vibe(record: Record) -> bool:
    """A message of Mistral Vibe's."""
    return (
        isinstance(record.get("injected"), bool)
        and "role" in record
        and bool({"message_id", "tool_call_id"} & record.keys())
    )


def kiro(record: Record) -> bool:
    """A message of Kiro CLI's, or what became of the turns of a session."""
    if record.get("kind") in ("Prompt", "AssistantMessage", "ToolResults"):
        return str(record.get("version")).startswith("v") and isinstance(record.get("data"), dict)
    return isinstance(record.get("session_state"), dict) and "session_id" in record and "cwd" in record


def antigravity(record: Record) -> bool:
    """A step of an Antigravity conversation."""
    return {"step_index", "source", "type", "status", "created_at"} <= record.keys()


def copilot_chat(record: Record) -> bool:
    """A chat of VS Code's, or the first record of its log of changes."""
    chat = mapping(record.get("v")) if record.get("kind") == 0 else record
    return {"sessionId", "requests", "responderUsername"} <= chat.keys() and isinstance(chat["requests"], list)


def cursor(record: Record) -> bool:
    """A message of Cursor's, or the end of a turn."""
    if record.get("type") == "turn_ended":
        return isinstance(record.get("status"), str)
    said = record.get("role") in ("user", "assistant") and record.keys() == {"role", "message"}
    return said and mapping(record["message"]).keys() == {"content"}


def atif(record: Record) -> bool:
    """A trajectory in the Agent Trajectory Interchange Format."""
    return str(record.get("schema_version", "")).startswith("ATIF-v") and isinstance(record.get("steps"), list)


def swe_agent(record: Record) -> bool:
    """A run of mini-swe-agent or SWE-agent."""
    if str(record.get("trajectory_format", "")).startswith("mini-swe-agent"):
        return True
    return isinstance(record.get("trajectory"), list) and "exit_status" in mapping(record.get("info"))


def trae_agent(record: Record) -> bool:
    """A run of trae-agent."""
    return isinstance(record.get("llm_interactions"), list) and isinstance(record.get("agent_steps"), list)


def grok(record: Record) -> bool:
    """An update of a Grok Build session; messages of the protocol itself, which others write down too, name no time."""
    known = record.get("method") in ("session/update", "_x.ai/session/update") and "timestamp" in record
    return known and "jsonrpc" not in record and "sessionUpdate" in mapping(mapping(record.get("params")).get("update"))


def letta(record: Record) -> bool:
    """A reply as pi's entries hold it, on a line of its own."""
    return record.get("role") == "assistant" and {"api", "provider", "model", "stopReason", "usage"} <= record.keys()


def droid(record: Record) -> bool:
    """The first line of a Droid session."""
    named = record.get("type") == "session_start" and {"id", "title"} <= record.keys()
    return named and bool({"owner", "cwd"} & record.keys())


def auggie(record: Record) -> bool:
    """A session of Auggie."""
    return {"sessionId", "created", "modified", "chatHistory"} <= record.keys()


def amp(record: Record) -> bool:
    """A thread of Amp."""
    named = str(record.get("id", "")).startswith("T-") and isinstance(record.get("created"), int)
    return named and isinstance(record.get("messages"), list)


def cline_cli(record: Record) -> bool:
    """The messages of a session of Cline's CLI."""
    return {"version", "updated_at", "agent", "sessionId"} <= record.keys() and isinstance(record.get("messages"), list)


def continue_dev(record: Record) -> bool:
    """A session of Continue."""
    return {"sessionId", "workspaceDirectory", "history"} <= record.keys() and isinstance(record["history"], list)


_HERMES_ROW = {"role", "content", "tool_calls", "tool_call_id", "tool_name", "finish_reason"}


def hermes(record: Record) -> bool:
    """A message of Hermes' store, or a session that it exports."""
    if {"started_at", "end_reason", "messages"} <= record.keys():
        return isinstance(record["messages"], list)
    return record.keys() >= _HERMES_ROW


HERMES_LINE = re.compile(
    rb"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]{4,8}(?: \[\S{1,200}\])? "
    rb"(?:hermes_\w{1,60}|run_agent|agent\.conversation_loop): "
)
"""A line of one of Hermes' own modules."""


def document(head: Head) -> bool:
    """Whether it begins as a document of JSON does."""
    return head.data.lstrip()[:1] in {b"{", b"["}


def binary(head: Head) -> bool:
    """Whether it is neither text nor JSON."""
    return not head.objects and not head.elements and (b"\0" in head.data or not _is_text(head.data))


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4  # a character cut off at the end of the head
    return True


GROK_CLI = ("tool_calls", "tool_results", "usage_events", "compactions")
