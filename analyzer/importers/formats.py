"""Which format a source has, told by its content. A format known by name only has no reader yet, and says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from analyzer.agent_stream import mapping
from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.importers.base import ReaderFactory
from analyzer.importers.shapes.files import SQLITE, first_records, looks_like_document

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
        cut_off = bool(marks) and len(head.data) >= HEAD_BYTES and looks_like_document(head.data[:64])
        return cut_off and all(mark in head.data for mark in marks)

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
    """An object of OpenTelemetry's SDK for JavaScript, which Gemini CLI writes to its outfile as it is."""
    timed = isinstance(record.get("hrTime"), list) or isinstance(record.get("startTime"), list)
    named = isinstance(record.get("resource"), dict) or "instrumentationScope" in record or "_spanContext" in record
    return (timed and named) or (isinstance(record.get("scopeMetrics"), list) and "resource" in record)


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


_CONDENSED = frozenset({"Condensation", "CondensationRequest"})


def openhands(record: Record) -> bool:
    """An event of OpenHands: by its kind, or by what was done or seen, as before 2025's end."""
    kind = record.get("kind")
    if isinstance(kind, str):
        return (kind.endswith("Event") or kind in _CONDENSED) and "apiVersion" not in record
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


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of log."""

    name: str
    title: str
    """For a person."""
    recognises: Callable[[Head], bool]
    made_by: str = ""
    """Where what makes a reader of it stands, as `module:name` below this folder; empty: it is not read yet."""
    native: bool = False
    """Whether its events are the truth themselves; all others are derived and go to the journal too."""

    @property
    def reader(self) -> ReaderFactory | None:
        """What makes a reader, loaded as it is asked for, as often nothing is new; None: not read yet."""
        module, _, name = self.made_by.partition(":")
        return getattr(import_module(f"analyzer.importers.{module}"), name) if module else None


def detect(head: Head) -> Format:
    """The first format that recognises the head; there is always one."""
    return next(found for found in FORMATS if found.recognises(head))


def _document(head: Head) -> bool:
    return head.data.lstrip()[:1] in {b"{", b"["}


def _binary(head: Head) -> bool:
    return not head.objects and not head.elements and (b"\0" in head.data or not _is_text(head.data))


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4  # a character cut off at the end of the head
    return True


FORMATS: tuple[Format, ...] = (
    Format("empty", "an empty file", lambda head: not head.data.strip()),
    Format(
        "opencode_db",
        "opencode's database",
        tables("session", "message", "part"),
        made_by="agents.opencode:OpencodeReader",
    ),
    Format(
        "goose_db",
        "goose's database",
        tables("sessions", "messages", "schema_version"),
        made_by="agents.goose:GooseReader",
    ),
    Format("analyzer", "this project's event log", lines(ours), made_by="eventlog:EventLogReader", native=True),
    Format("qwen", "a Qwen Code chat", lines(qwen), made_by="agents.qwen:QwenReader"),
    Format("claude_code", "a Claude Code transcript", lines(claude_code), made_by="claude:transcript_reader"),
    Format(
        "claude_print",
        "a claude -p run (json or stream-json)",
        records(claude_print),
        made_by="claude:stream_reader",
    ),
    Format("gdd", "GDD telemetry", lines(gdd), made_by="eventlog:GddReader"),
    Format("wave", "Wave pipeline events", lines(wave), made_by="wave:WaveReader"),
    Format("codex", "a Codex rollout", lines(codex), made_by="agents.codex:CodexReader"),
    Format("codex_exec", "a codex exec --json run", lines(codex_exec), made_by="agents.codex:CodexExecReader"),
    Format("pi", "a pi session", lines(pi), made_by="agents.pi:PiReader"),
    Format("copilot", "a Copilot CLI session", lines(copilot), made_by="agents.copilot:CopilotReader"),
    Format("opencode", "opencode's storage or output", records(opencode), made_by="agents.opencode:OpencodeReader"),
    Format("openhands", "OpenHands events", records(openhands), made_by="agents.openhands:OpenHandsReader"),
    Format(
        "gemini_stream",
        "a Gemini CLI stream",
        lines(gemini_stream),
        made_by="agents.gemini:GeminiStreamReader",
    ),
    Format("otlp", "OpenTelemetry JSON", records(otlp, b'"resource', b'"scope'), made_by="telemetry.otlp:OtlpReader"),
    Format(
        "gemini_telemetry",
        "Gemini CLI's telemetry outfile",
        records(sdk_telemetry),
        made_by="telemetry.otlp:SdkReader",
    ),
    Format(
        "gemini_chat",
        "a Gemini CLI chat",
        records(gemini_chat, b'"projectHash"', b'"messages"'),
        made_by="agents.gemini:GeminiChatReader",
    ),
    Format("crush", "a Crush log", lines(crush), made_by="agents.crush:CrushLogReader"),
    Format(
        "crush_db",
        "Crush's database",
        tables("sessions", "messages", "files", "goose_db_version"),
        made_by="agents.crush:CrushStoreReader",
    ),
    Format("cline", "a Cline or Roo Code task", records(cline), made_by="agents.cline:ClineReader"),
    Format("goose", "a goose session", lines(goose), made_by="agents.goose:GooseReader"),
    Format("litellm", "LiteLLM's logging payloads", records(litellm), made_by="telemetry.litellm:LitellmReader"),
    Format(
        "aider",
        "an aider chat history",
        lambda head: b"# aider chat started at " in head.data,
        made_by="agents.aider:AiderReader",
    ),
    Format("sqlite", "an SQLite database of no known kind", lambda head: head.data.startswith((SQLITE, b'{"sqlite":'))),
    Format("binary", "a binary file", _binary),
    Format("jsonl", "JSON lines of no known kind", lambda head: bool(head.objects)),
    Format("json", "a JSON document of no known kind", _document),
    Format("text", "a text file", lambda _: True),
)
"""In the order in which they are tried."""

BY_NAME = {found.name: found for found in FORMATS}
NOT_LOGS = frozenset({"empty", "binary", "sqlite", "text", "json", "jsonl"})
"""Formats that name no product: such a file may well not be a log at all."""
