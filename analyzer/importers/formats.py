"""Which format a source has, told by its content. A format known by name only has no reader yet, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from analyzer.importers import detection as known
from analyzer.importers.base import ReaderFactory
from analyzer.importers.detection import Head, lines, records, tables
from analyzer.importers.shapes.databases import SQLITE


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
    Format("analyzer", "this project's event log", lines(known.ours), made_by="eventlog:EventLogReader", native=True),
    Format("qwen", "a Qwen Code chat", lines(known.qwen), made_by="agents.qwen:QwenReader"),
    Format("claude_code", "a Claude Code transcript", lines(known.claude_code), made_by="claude:transcript_reader"),
    Format(
        "claude_print",
        "a claude -p run (json or stream-json)",
        lines(known.claude_print),
        made_by="claude:stream_reader",
    ),
    Format("gdd", "GDD telemetry", lines(known.gdd), made_by="eventlog:GddReader"),
    Format("wave", "Wave pipeline events", lines(known.wave), made_by="wave:WaveReader"),
    Format("codex", "a Codex rollout", lines(known.codex), made_by="agents.codex:CodexReader"),
    Format("codex_exec", "a codex exec --json run", lines(known.codex_exec), made_by="agents.codex:CodexExecReader"),
    Format("pi", "a pi session", lines(known.pi), made_by="agents.pi:PiReader"),
    Format("copilot", "a Copilot CLI session", lines(known.copilot), made_by="agents.copilot:CopilotReader"),
    Format(
        "opencode", "opencode's storage or output", records(known.opencode), made_by="agents.opencode:OpencodeReader"
    ),
    Format("openhands", "OpenHands events", records(known.openhands), made_by="agents.openhands:OpenHandsReader"),
    Format(
        "gemini_stream",
        "a Gemini CLI stream",
        lines(known.gemini_stream),
        made_by="agents.gemini:GeminiStreamReader",
    ),
    Format(
        "otlp", "OpenTelemetry JSON", records(known.otlp, b'"resource', b'"scope'), made_by="telemetry.otlp:OtlpReader"
    ),
    Format(
        "gemini_telemetry",
        "Gemini CLI's telemetry outfile",
        records(known.sdk_telemetry),
        made_by="telemetry.otlp:SdkReader",
    ),
    Format(
        "gemini_chat",
        "a Gemini CLI chat",
        records(known.gemini_chat, b'"projectHash"', b'"messages"'),
        made_by="agents.gemini:GeminiChatReader",
    ),
    Format("crush", "a Crush log", lines(known.crush), made_by="agents.crush:CrushLogReader"),
    Format(
        "crush_db",
        "Crush's database",
        tables("sessions", "messages", "files", "goose_db_version"),
        made_by="agents.crush:CrushStoreReader",
    ),
    Format("cline", "a Cline or Roo Code task", records(known.cline), made_by="agents.cline:ClineReader"),
    Format("goose", "a goose session", lines(known.goose), made_by="agents.goose:GooseReader"),
    Format("litellm", "LiteLLM's logging payloads", records(known.litellm), made_by="telemetry.litellm:LitellmReader"),
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
