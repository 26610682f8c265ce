"""Which format a source has, told by its content. A format known by name only has no reader yet, and says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.importers.base import ReaderFactory
from analyzer.importers.claude import stream_reader, transcript_reader
from analyzer.importers.eventlog import EventLogReader
from analyzer.importers.gdd import GddReader
from analyzer.importers.wave import WaveReader

HEAD_BYTES = 512 * 1024
"""How much of a source is looked at; one line of a transcript may be larger than any smaller head."""
_LOOKED_AT = 60


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a source."""

    data: bytes
    objects: tuple[Mapping[str, Any], ...]
    """The JSON objects among its first lines."""
    lines: int
    """How many lines were looked at."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of log."""

    name: str
    title: str
    """For a person."""
    recognises: Callable[[Head], bool]
    reader: ReaderFactory | None = None
    """None: not read yet."""
    native: bool = False
    """Whether its events are the truth themselves; all others are derived and go to the journal too."""


def head_of(data: bytes) -> Head:
    """The head of a source from its first bytes; a line that is cut off at their end does not count."""
    lines = data.split(b"\n")
    if len(data) >= HEAD_BYTES and len(lines) > 2:
        lines.pop()
    shown = [line for line in lines if line.strip()][:_LOOKED_AT]
    decoded = (decode_object(line.removeprefix(b"\xef\xbb\xbf"), unique_keys=False) for line in shown)
    return Head(data, tuple(record for record in decoded if not isinstance(record, Reject)), len(shown))


def detect(head: Head) -> Format:
    """The first format that recognises the head; there is always one."""
    return next(found for found in FORMATS if found.recognises(head))


def _any(test: Callable[[Mapping[str, Any]], bool]) -> Callable[[Head], bool]:
    return lambda head: any(test(record) for record in head.objects)


def _envelope(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("type"), str) and "sessionId" in record and isinstance(record.get("payload"), dict)


def _ours(record: Mapping[str, Any]) -> bool:
    named = isinstance(record.get("type"), str) and isinstance(record.get("id"), str)
    return named and isinstance(record.get("payload"), dict) and ("v" in record or "crc" in record)


_TRANSCRIPT_TYPES = frozenset({"user", "assistant", "system", "progress", "attachment"})


def _transcript(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _TRANSCRIPT_TYPES:
        return "sessionId" in record and ("uuid" in record or "parentUuid" in record)
    if kind == "summary":
        return "leafUuid" in record
    return kind == "file-history-snapshot" and "snapshot" in record


def _print_mode(record: Mapping[str, Any]) -> bool:
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


def _wave(record: Mapping[str, Any]) -> bool:
    return (
        isinstance(record.get("state"), str)
        and "timestamp" in record
        and ("step_id" in record or "pipeline_id" in record)
    )


def _codex(record: Mapping[str, Any]) -> bool:
    kinds = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
    kind = record.get("type")
    return isinstance(kind, str) and kind in kinds and isinstance(record.get("payload"), dict)


def _copilot(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("data"), dict) and isinstance(record.get("type"), str) and "parentId" in record


def _pi(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "session" and "cwd" in record and "timestamp" in record


def _opencode(record: Mapping[str, Any]) -> bool:
    error = record.get("error")
    return isinstance(error, dict) and isinstance(error.get("name"), str) and isinstance(error.get("data"), dict)


def _gemini_stream(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "init" and "session_id" in record and "model" in record


def _otlp(record: Mapping[str, Any]) -> bool:
    return bool({"resourceLogs", "resourceSpans", "resourceMetrics"} & record.keys())


def _document(*marks: bytes) -> Callable[[Head], bool]:
    return lambda head: head.data.lstrip()[:1] in {b"{", b"["} and all(mark in head.data for mark in marks)


def _binary(head: Head) -> bool:
    return not head.objects and (b"\0" in head.data or not _is_text(head.data))


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4  # a character cut off at the end of the head
    return True


FORMATS: tuple[Format, ...] = (
    Format("empty", "an empty file", lambda head: not head.data.strip()),
    Format("analyzer", "this project's event log", _any(_ours), EventLogReader, native=True),
    Format("claude_code", "a Claude Code transcript", _any(_transcript), transcript_reader),
    Format("claude_print", "a claude -p run (json or stream-json)", _any(_print_mode), stream_reader),
    Format("gdd", "GDD telemetry", _any(_envelope), GddReader),
    Format("wave", "Wave pipeline events", _any(_wave), WaveReader),
    Format("codex", "a Codex rollout", _any(_codex)),
    Format("copilot", "a Copilot CLI session", _any(_copilot)),
    Format("pi", "a pi session", _any(_pi)),
    Format("opencode", "opencode output", _any(_opencode)),
    Format("openhands", "OpenHands events", _any(lambda record: str(record.get("kind", "")).endswith("Event"))),
    Format("gemini_stream", "a Gemini CLI stream", _any(_gemini_stream)),
    Format("otlp", "OpenTelemetry JSON", _any(_otlp)),
    Format("gemini_chat", "a Gemini CLI chat", _document(b'"projectHash"', b'"messages"')),
    Format("aider", "an aider chat history", lambda head: b"# aider chat started at " in head.data),
    Format("binary", "a binary file", _binary),
    Format("jsonl", "JSON lines of no known kind", lambda head: bool(head.objects)),
    Format("json", "a JSON document of no known kind", _document()),
    Format("text", "a text file", lambda _: True),
)
"""In the order in which they are tried."""

BY_NAME = {known.name: known for known in FORMATS}
NOT_LOGS = frozenset({"empty", "binary", "text", "json", "jsonl"})
"""Formats that name no product: such a file may well not be a log at all."""
