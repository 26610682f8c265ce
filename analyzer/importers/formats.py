"""The table of formats, and the search for the format of a source by its content."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from analyzer.frozen import frozen
from analyzer.importers import heads
from analyzer.importers.base import ReaderFactory
from analyzer.importers.conditions import Test, has
from analyzer.importers.shapes.files import SQLITE


@frozen
class Format:
    """A kind of log."""

    name: str
    title: str
    """Its name for people."""
    recognises: Callable[[heads.Head], bool]
    made_by: str = ""
    """The maker of its readers as `module:name` below this folder; empty: it is not read yet."""
    version: tuple[str, tuple[int, ...]] = ("", ())
    """The key of the format's version in a record, and the newest version that the reader knows."""
    native: bool = False
    """True if its lines are events; those of other formats are derived and go to the journal."""

    @property
    def reader(self) -> ReaderFactory | None:
        """Load the maker of its readers, when it is needed; None: the format is not read yet."""
        module, _, name = self.made_by.partition(":")
        return getattr(import_module(f"analyzer.importers.{module}"), name) if module else None


_NUMBERS = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?")


def newer(head: heads.Head, kind: Format) -> str | None:
    """Return the version that a log names if it is newer than its reader, else None."""
    key, newest = kind.version
    for record in head.elements or head.objects:
        version = record.get(key)
        match = _NUMBERS.search(str(version)) if isinstance(version, str | int | float) else None
        if match and tuple(int(part) for part in match.groups() if part) > newest:
            return match[0]
    return None


def detect(head: heads.Head) -> Format:
    """Return the first format that recognises a head; `text` recognises all."""
    return next(kind for kind in FORMATS if kind.recognises(head))


# Makers of rows of the table; `ways` are those of `has`.


def _lines(name: str, title: str, made_by: str, *ways: str, **more: Any) -> Format:
    return Format(name, title, heads.lines(has(*ways)), made_by, **more)


def _records(name: str, title: str, made_by: str, *ways: str, marks: tuple[bytes, ...] = (), **more: Any) -> Format:
    return Format(name, title, heads.records(has(*ways), *marks), made_by, **more)


def _exports(name: str, title: str, test: str | Test, *marks: bytes) -> Format:
    made_by = f"telemetry.platforms:{name.title().replace('_', '')}Reader"
    if isinstance(test, str):
        test = has(*test.split("; "))
    return Format(name, title, heads.records(heads.exported(test), *marks), made_by)


def _tables(name: str, title: str, made_by: str, *names: str, newer: tuple[str, ...] = ()) -> Format:
    """Make the row of a database by the names of its tables, and of those of a `newer` version."""
    is_old, is_newer = heads.tables(*names), heads.tables(*newer)
    return Format(name, title, lambda head: is_old(head) or (bool(newer) and is_newer(head)), made_by)


FORMATS: tuple[Format, ...] = (
    Format("empty", "an empty file", lambda head: not head.data.strip()),
    _tables(
        "opencode_db",
        "opencode's database",
        "agents.opencode:OpencodeReader",
        *("session", "message", "part"),
        newer=("session_v2", "session_message"),
    ),
    _tables(
        "openclaw_db",
        "OpenClaw's database",
        "agents.pi:OpenclawStoreReader",
        *("transcript_events", "session_windows"),
    ),
    _tables("hermes_db", "Hermes' database", "transcripts.hermes:HermesReader", "sessions", "messages", "state_meta"),
    _tables("goose_db", "goose's database", "agents.goose:GooseReader", "sessions", "messages", "schema_version"),
    _tables(
        "copilot_spans",
        "Copilot Chat's database of spans",
        "telemetry.otlp:CopilotSpansReader",
        *("spans", "span_attributes", "span_events"),
    ),
    _lines(
        "analyzer",
        "this project's event log",
        "eventlog:EventLogReader",
        "type:text id:text payload:object v|crc",
        native=True,
    ),
    _lines(
        "qwen",  # Claude Code's keys round a Gemini message
        "a Qwen Code chat",
        "agents.qwen:QwenReader",
        "uuid sessionId type type=tool_result|systemPayload:object|message.role=model|message.parts:list",
    ),
    _lines(
        "droid_stream",
        "a run of droid",
        "transcripts.messages:DroidStreamReader",
        "type=system subtype=init session_id !uuid !claude_code_version !apiKeySource !qwen_code_version timestamp",
        "type=tool_call,tool_result session_id toolCallId",
        "type=completion session_id finalText",
    ),
    _lines(
        "claude_code",
        "a Claude Code transcript",
        "claude:TranscriptReader",
        "type=user,assistant,system,progress,attachment sessionId uuid|parentUuid "
        "!systemPayload:object !message.role=model !message.parts:list",
        "type=summary leafUuid",
        "type=file-history-snapshot snapshot",
    ),
    _records(
        "claude_print",
        "a claude -p run (json or stream-json)",
        "claude:StreamReader",
        "type=system subtype=init,api_retry session_id|attempt",
        "type=result subtype:text session_id",
        "hook_event_name=StopFailure",
    ),
    _lines("gdd", "GDD telemetry", "eventlog:GddReader", "type:text sessionId payload:object"),
    _lines("wave", "Wave pipeline events", "agents.wave:WaveReader", "state:text timestamp step_id|pipeline_id"),
    _lines(
        "codex",  # the last two are from before September 2025
        "a Codex rollout",
        "agents.codex:CodexReader",
        "type=session_meta,response_item,event_msg,turn_context,compacted,world_state,inter_agent_communication,"
        "token_usage_record payload:object",
        "record_type=state",
        "id timestamp instructions <id,timestamp,instructions,git",
    ),
    _lines(
        "codex_exec",  # the last one is of 2025
        "a codex exec --json run",
        "agents.codex:CodexExecReader",
        "type=thread.started thread_id:text",
        "type=turn.started",
        "type=turn.completed,turn.failed,item.started,item.updated,item.completed usage|error|item",
        "id msg.type:text <id,msg",
    ),
    _lines("pi", "a pi session", "agents.pi:PiReader", "type=session cwd timestamp", version=("version", (3,))),
    _lines(  # custom entries of pi have its keys, and one more
        "copilot", "a Copilot CLI session", "agents.copilot:CopilotReader", "type:text parentId data:object !customType"
    ),
    _records(
        "opencode",
        "opencode's storage or output",
        "agents.opencode:OpencodeReader",
        "sessionID error.name:text error.data:object",
        "id^ses_ directory time",
        "id^msg_ sessionID role",
        "id^prt_ sessionID messageID",
        "part.id^prt_ part.sessionID part.messageID",
    ),
    _lines("junie", "a Junie session", "transcripts.messages:JunieReader", "kind=SessionA2uxEvent event.agentEvent"),
    Format(
        "openhands",
        "OpenHands events",
        heads.records(heads.openhands),
        "agents.openhands:OpenHandsReader",
    ),
    _lines("gemini_stream", "a Gemini CLI stream", "agents.gemini:GeminiStreamReader", "type=init session_id model"),
    Format(
        "otlp",
        "OpenTelemetry JSON",
        heads.records(heads.otlp, b'"resource', b'"scope'),
        "telemetry.otlp:OtlpReader",
    ),
    _records(
        "gemini_telemetry",
        "objects of OpenTelemetry's SDK, as in Gemini CLI's telemetry outfile",
        "telemetry.otlp:SdkReader",
        "hrTime:list|startTime:list resource:object|instrumentationScope|_spanContext",
        "hrTime:list|startTime:list traceId:text spanId|id attributes",
        "traceId timestamp:number duration resource:object|instrumentationScope|_spanContext",
        "traceId:text timestamp:number duration spanId|id attributes",
        "scopeMetrics:list resource",
    ),
    _records(
        "gemini_chat",
        "a Gemini CLI chat",
        "agents.gemini:GeminiChatReader",
        "sessionId projectHash",
        "$rewindTo",
        marks=(b'"projectHash"', b'"messages"'),
    ),
    _lines("crush", "a Crush log", "agents.crush:CrushLogReader", "time level msg source.function~/crush/"),
    _tables(
        "crush_db",
        "Crush's database",
        "agents.crush:CrushStoreReader",
        *("sessions", "messages", "files", "goose_db_version"),
    ),
    _records(
        "cline",
        "a Cline or Roo Code task",
        "agents.cline:ClineReader",
        "type=say say:text ts:number",
        "type=ask ask:text ts:number",
    ),
    _lines("goose", "a goose session", "agents.goose:GooseReader", "working_dir message_count"),
    _lines(
        "kimi_cli",
        "a kimi-cli session",
        "transcripts.kimi:KimiCliReader",
        "type=metadata protocol_version !created_at",
        "timestamp:number|timestamp message.type message.payload:object",
    ),
    _lines("dsh", "a DeepSeek Harness session", "transcripts.messages:DshReader", "type=session version id createdAt"),
    _lines(
        "kimi",
        "a Kimi Code session",
        "transcripts.kimi:KimiReader",
        "type=metadata protocol_version created_at",
        "type=turn.step.retrying role=meta",
        version=("protocol_version", (1, 5)),
    ),
    _lines(
        "vibe",
        "a Mistral Vibe session",
        "transcripts.messages:VibeReader",
        "role message_id|tool_call_id injected:flag",
    ),
    _records(
        "kiro",
        "a Kiro CLI session",
        "transcripts.kiro:KiroReader",
        "kind=Prompt,AssistantMessage,ToolResults version^v data:object",
        "session_state:object session_id cwd",
        version=("version", (1,)),
    ),
    _lines(
        "antigravity",
        "an Antigravity transcript",
        "transcripts.messages:AntigravityReader",
        "step_index source type status created_at",
    ),
    _records(
        "hermes",
        "sessions of Hermes",
        "transcripts.hermes:HermesReader",
        "started_at end_reason messages:list",
        "role content tool_calls tool_call_id tool_name finish_reason",
    ),
    _records(
        "litellm",
        "LiteLLM's logging payloads",
        "telemetry.litellm:LitellmReader",
        "call_type status custom_llm_provider",
        "standard_logging_object",
    ),
    _exports(
        "langfuse",
        "an export of Langfuse",
        heads.langfuse,
        *(b'"traceId"', b'"statusMessage"'),
    ),
    _exports(
        "langsmith", "an export of LangSmith", "id run_type start_time trace_id", b'"run_type"', b'"dotted_order"'
    ),
    _exports(
        "mlflow",
        "traces of MLflow",
        "info.trace_id|info.request_id data.spans:list",
        *(b'"trace_id"', b'"spans"', b'"mlflow.'),
    ),
    _exports(
        "weave",
        "an export of Weave",
        "id op_name trace_id started_at project_id",
        *(b'"op_name"', b'"started_at"', b'"project_id"'),
    ),
    _exports(
        "openai_agents",
        "traces of the OpenAI Agents SDK",
        "object=trace.span span_data:object; object=trace workflow_name",
        *(b'"trace.span"', b'"span_data"'),
    ),
    Format(
        "aider",
        "an aider chat history",
        lambda head: b"# aider chat started at " in head.data,
        "agents.aider:AiderReader",
    ),
    _records(
        "copilot_chat",
        "a chat of VS Code",
        "transcripts.editors:CopilotChatReader",
        "sessionId requests:list responderUsername",
        "kind=0 v.sessionId v.requests:list v.responderUsername",
        marks=(b'"responderUsername"', b'"requests"'),
        version=("version", (3,)),
    ),
    _lines(
        "cursor",
        "a Cursor transcript",
        "transcripts.editors:CursorReader",
        "type=turn_ended status:text",
        "role=user,assistant <role,message message.content message<content",
    ),
    _records(
        "atif",
        "a trajectory in ATIF",
        "transcripts.trajectories:AtifReader",
        "schema_version^ATIF-v steps:list",
        marks=(b'"ATIF-v', b'"steps"'),
        version=("schema_version", (1, 8)),
    ),
    _records(
        "swe_agent",
        "a run of mini-swe-agent or SWE-agent",
        "transcripts.trajectories:SweReader",
        "trajectory_format^mini-swe-agent",
        "trajectory:list info.exit_status",
        marks=(b'"exit_status"', b'"model_stats"'),
        version=("trajectory_format", (1, 1)),
    ),
    _tables("kiro_db", "Kiro CLI's database", "transcripts.threads:KiroDatabaseReader", "conversations_v2"),
    _tables("amazon_q", "Amazon Q's database", "transcripts.threads:AmazonQReader", "auth_kv", "conversations"),
    _tables("zed", "Zed's threads", "transcripts.threads:ZedReader", "threads.data_type"),
    _tables("warp", "Warp's database", "transcripts.threads:WarpReader", "ai_queries", "agent_conversations"),
    _tables(
        "grok_cli",
        "grok-cli's database",
        "transcripts.threads:GrokCliReader",
        *("tool_calls", "tool_results", "usage_events", "compactions"),
    ),
    _records(
        "trae_agent",
        "a run of trae-agent",
        "transcripts.trajectories:TraeReader",
        "llm_interactions:list agent_steps:list",
        marks=(b'"llm_interactions"', b'"max_steps"'),
    ),
    _lines(
        "grok",  # messages of the protocol itself, which others write down too, name no time
        "a Grok Build session",
        "transcripts.grok:GrokReader",
        "method=session/update,_x.ai/session/update timestamp params.update.sessionUpdate !jsonrpc",
    ),
    _lines(
        "letta",
        "a Letta Code conversation",
        "agents.pi:LettaReader",
        "role=assistant api provider model stopReason usage",
    ),
    _lines(
        "droid",
        "a Droid session",
        "transcripts.messages:DroidReader",
        "type=session_start id title owner|cwd",
        version=("version", (2,)),
    ),
    _records(
        "auggie",
        "an Auggie session",
        "transcripts.documents:AuggieReader",
        "sessionId created modified chatHistory",
        marks=(b'"sessionId"', b'"modified"', b'"chatHistory"'),
    ),
    _records(
        "amp",
        "an Amp thread",
        "transcripts.documents:AmpReader",
        "id^T- created:number messages:list",
        marks=(b'"T-', b'"created"', b'"messages"', b'"messageId"'),
    ),
    _records(
        "cline_cli",
        "a session of Cline CLI",
        "transcripts.documents:ClineCliReader",
        "version updated_at agent sessionId messages:list",
        marks=(b'"updated_at"', b'"sessionId"', b'"messages"'),
        version=("version", (1,)),
    ),
    _records(
        "continue",
        "a session of Continue",
        "transcripts.documents:ContinueReader",
        "sessionId workspaceDirectory history:list",
        marks=(b'"workspaceDirectory"', b'"history"'),
    ),
    Format(
        "hermes_log",
        "a log of Hermes",
        lambda head: heads.HERMES_LINE.search(head.data) is not None,
        "transcripts.hermes:HermesLogReader",
    ),
    Format("sqlite", "an unrecognised SQLite database", lambda head: head.data.startswith((SQLITE, b'{"sqlite":'))),
    Format("binary", "a binary file", heads.binary),
    Format("jsonl", "unrecognised JSON lines", lambda head: bool(head.objects)),
    Format("json", "an unrecognised JSON document", heads.document),
    Format("text", "a text file", lambda _: True),
)
"""In the order in which they are tried."""

BY_NAME = {kind.name: kind for kind in FORMATS}
NOT_LOGS = frozenset({"empty", "binary", "sqlite", "text", "json", "jsonl"})
"""Formats that name no product: such a file may well not be a log at all."""
