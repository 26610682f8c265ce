"""Which format a source has, told by its content. A format known by name only has no reader yet, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

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
    readable: bool = False
    """Whether it is read already."""
    native: bool = False
    """Whether its events are the truth themselves; all others are derived and go to the journal too."""

    @property
    def reader(self) -> ReaderFactory | None:
        """What makes a reader; None: not read yet."""
        return _readers()[self.name] if self.readable else None


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
    Format("opencode_db", "opencode's database", tables("session", "message", "part"), readable=True),
    Format("goose_db", "goose's database", tables("sessions", "messages", "schema_version"), readable=True),
    Format("analyzer", "this project's event log", lines(known.ours), readable=True, native=True),
    Format("qwen", "a Qwen Code chat", lines(known.qwen), readable=True),
    Format("claude_code", "a Claude Code transcript", lines(known.claude_code), readable=True),
    Format("claude_print", "a claude -p run (json or stream-json)", lines(known.claude_print), readable=True),
    Format("gdd", "GDD telemetry", lines(known.gdd), readable=True),
    Format("wave", "Wave pipeline events", lines(known.wave), readable=True),
    Format("codex", "a Codex rollout", lines(known.codex), readable=True),
    Format("codex_exec", "a codex exec --json run", lines(known.codex_exec), readable=True),
    Format("pi", "a pi session", lines(known.pi), readable=True),
    Format("copilot", "a Copilot CLI session", lines(known.copilot), readable=True),
    Format("opencode", "opencode's storage or output", records(known.opencode), readable=True),
    Format("openhands", "OpenHands events", records(known.openhands), readable=True),
    Format("gemini_stream", "a Gemini CLI stream", lines(known.gemini_stream), readable=True),
    Format("otlp", "OpenTelemetry JSON", records(known.otlp, b'"resource', b'"scope'), readable=True),
    Format("gemini_telemetry", "Gemini CLI's telemetry outfile", records(known.sdk_telemetry), readable=True),
    Format(
        "gemini_chat",
        "a Gemini CLI chat",
        records(known.gemini_chat, b'"projectHash"', b'"messages"'),
        readable=True,
    ),
    Format("crush", "a Crush log", lines(known.crush), readable=True),
    Format("crush_db", "Crush's database", tables("sessions", "messages", "files", "goose_db_version"), readable=True),
    Format("cline", "a Cline or Roo Code task", records(known.cline), readable=True),
    Format("goose", "a goose session", lines(known.goose), readable=True),
    Format("litellm", "LiteLLM's logging payloads", records(known.litellm), readable=True),
    Format("aider", "an aider chat history", lambda head: b"# aider chat started at " in head.data, readable=True),
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


@cache
def _readers() -> dict[str, ReaderFactory]:
    """What makes the reader of each format; loaded with the first log that is read, as often nothing is new."""
    from analyzer.importers.agents.aider import AiderReader
    from analyzer.importers.agents.cline import ClineReader
    from analyzer.importers.agents.codex import CodexReader
    from analyzer.importers.agents.codex_exec import CodexExecReader
    from analyzer.importers.agents.copilot import CopilotReader
    from analyzer.importers.agents.crush import CrushLogReader, CrushStoreReader
    from analyzer.importers.agents.gemini_chat import GeminiChatReader
    from analyzer.importers.agents.gemini_stream import GeminiStreamReader
    from analyzer.importers.agents.goose import GooseReader
    from analyzer.importers.agents.opencode import OpencodeReader
    from analyzer.importers.agents.openhands import OpenHandsReader
    from analyzer.importers.agents.pi import PiReader
    from analyzer.importers.agents.qwen import QwenReader
    from analyzer.importers.claude import stream_reader, transcript_reader
    from analyzer.importers.eventlog import EventLogReader
    from analyzer.importers.gdd import GddReader
    from analyzer.importers.telemetry.litellm import LitellmReader
    from analyzer.importers.telemetry.otlp import OtlpReader, SdkReader
    from analyzer.importers.wave import WaveReader

    return {
        "opencode_db": OpencodeReader,
        "goose_db": GooseReader,
        "analyzer": EventLogReader,
        "qwen": QwenReader,
        "claude_code": transcript_reader,
        "claude_print": stream_reader,
        "gdd": GddReader,
        "wave": WaveReader,
        "codex": CodexReader,
        "codex_exec": CodexExecReader,
        "pi": PiReader,
        "copilot": CopilotReader,
        "opencode": OpencodeReader,
        "openhands": OpenHandsReader,
        "gemini_stream": GeminiStreamReader,
        "otlp": OtlpReader,
        "gemini_telemetry": SdkReader,
        "gemini_chat": GeminiChatReader,
        "crush": CrushLogReader,
        "crush_db": CrushStoreReader,
        "cline": ClineReader,
        "goose": GooseReader,
        "litellm": LitellmReader,
        "aider": AiderReader,
    }
