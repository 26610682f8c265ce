"""Which format a source has, told by its content. A format known by name only has no reader yet, and says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from analyzer.importers import heads
from analyzer.importers.base import ReaderFactory
from analyzer.importers.shapes.files import SQLITE


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of log."""

    name: str
    title: str
    """For a person."""
    recognises: Callable[[heads.Head], bool]
    made_by: str = ""
    """Where what makes a reader of it stands, as `module:name` below this folder; empty: it is not read yet."""
    told_by: str = ""
    """What it is recognised by, for the reference page."""
    version: tuple[str, tuple[int, ...]] = ("", ())
    """The key of a record that names the format's version, and the newest one that was looked at."""
    native: bool = False
    """Whether its events are the truth themselves; all others are derived and go to the journal too."""

    @property
    def reader(self) -> ReaderFactory | None:
        """What makes a reader, loaded as it is asked for, as often nothing is new; None: not read yet."""
        module, _, name = self.made_by.partition(":")
        return getattr(import_module(f"analyzer.importers.{module}"), name) if module else None


_NUMBERS = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?")


def newer(head: heads.Head, kind: Format) -> str | None:
    """The version that a log of this kind names, where it is newer than the one that its reader was written for."""
    key, looked_at = kind.version
    for record in head.elements or head.objects:
        named = record.get(key)
        found = _NUMBERS.search(str(named)) if isinstance(named, str | int | float) else None
        if found and tuple(int(part) for part in found.groups() if part) > looked_at:
            return found[0]
    return None


def detect(head: heads.Head) -> Format:
    """The first format that recognises the head; there is always one."""
    return next(found for found in FORMATS if found.recognises(head))


FORMATS: tuple[Format, ...] = (
    Format("empty", "an empty file", lambda head: not head.data.strip()),
    Format(
        "opencode_db",
        "opencode's database",
        heads.tables("session", "message", "part"),
        made_by="agents.opencode:OpencodeReader",
        told_by="tables `session`, `message`, `part`",
    ),
    Format(
        "hermes_db",
        "Hermes' database",
        heads.tables("sessions", "messages", "state_meta"),
        made_by="transcripts.hermes:HermesReader",
        told_by="tables `sessions`, `messages`, `state_meta`",
    ),
    Format(
        "goose_db",
        "goose's database",
        heads.tables("sessions", "messages", "schema_version"),
        made_by="agents.goose:GooseReader",
        told_by="tables `sessions`, `messages`, `schema_version`",
    ),
    Format(
        "copilot_spans",
        "Copilot Chat's database of spans",
        heads.tables("spans", "span_attributes", "span_events"),
        made_by="telemetry.otlp:CopilotSpansReader",
        told_by="tables `spans`, `span_attributes`, `span_events`",
    ),
    Format(
        "analyzer",
        "this project's event log",
        heads.lines(heads.ours),
        made_by="eventlog:EventLogReader",
        native=True,
        told_by="`type`, `sessionId`, an object `payload`, an `id`, and `v` or `crc`",
    ),
    Format(
        "qwen",
        "a Qwen Code chat",
        heads.lines(heads.qwen),
        made_by="agents.qwen:QwenReader",
        told_by="Claude Code's keys round a Gemini message: `message.parts`, `message.role` = `model`, `systemPayload`",
    ),
    Format(
        "claude_code",
        "a Claude Code transcript",
        heads.lines(heads.claude_code),
        made_by="claude:TranscriptReader",
        told_by="`user`, `assistant`, `system`, `progress` or `attachment` records with `sessionId` and `uuid`; "
        "summaries with `leafUuid`; file-history snapshots",
    ),
    Format(
        "claude_print",
        "a claude -p run (json or stream-json)",
        heads.records(heads.claude_print),
        made_by="claude:StreamReader",
        told_by="`system` records `init` or `api_retry` with `session_id`, a `result` with `session_id`, a "
        "`StopFailure` hook",
    ),
    Format(
        "gdd",
        "GDD telemetry",
        heads.lines(heads.gdd),
        made_by="eventlog:GddReader",
        told_by="`type`, `sessionId` and an object `payload`, without the marks of `analyzer`",
    ),
    Format(
        "wave",
        "Wave pipeline events",
        heads.lines(heads.wave),
        made_by="wave:WaveReader",
        told_by="a text `state` with `timestamp` and `step_id` or `pipeline_id`",
    ),
    Format(
        "codex",
        "a Codex rollout",
        heads.lines(heads.codex),
        made_by="agents.codex:CodexReader",
        told_by="Codex rollouts: `session_meta`, `response_item`, `event_msg`, `turn_context`, `compacted` with "
        "a `payload`; before September 2025 a first record of `id`, `timestamp` and `instructions`, or a "
        "`record_type`",
    ),
    Format(
        "codex_exec",
        "a codex exec --json run",
        heads.lines(heads.codex_exec),
        made_by="agents.codex:CodexExecReader",
        told_by="`codex exec --json`: `thread.started`, `turn.…`, `item.…`; in 2025 `id` and `msg`",
    ),
    Format(
        "pi",
        "a pi session",
        heads.lines(heads.pi),
        made_by="agents.pi:PiReader",
        version=("version", (3,)),
        told_by="a `session` record with `cwd` and `timestamp`",
    ),
    Format(
        "copilot",
        "a Copilot CLI session",
        heads.lines(heads.copilot),
        made_by="agents.copilot:CopilotReader",
        told_by="Copilot CLI sessions: `data`, `type`, `parentId` and no `customType`",
    ),
    Format(
        "opencode",
        "opencode's storage or output",
        heads.records(heads.opencode),
        made_by="agents.opencode:OpencodeReader",
        told_by="ids that begin with `msg_`, `prt_` or `ses_` beside `sessionID` or `directory`; an `error` with "
        "`name` and `data`",
    ),
    Format(
        "junie",
        "a Junie session",
        heads.lines(heads.junie),
        made_by="transcripts.junie:JunieReader",
        told_by="a `kind` `SessionA2uxEvent` with an `agentEvent` in its `event`",
    ),
    Format(
        "openhands",
        "OpenHands events",
        heads.records(heads.openhands),
        made_by="agents.openhands:OpenHandsReader",
        told_by="a `kind` that ends in `Event` or is `Condensation`; `source`, `message` and an `action` or "
        "`observation`",
    ),
    Format(
        "gemini_stream",
        "a Gemini CLI stream",
        heads.lines(heads.gemini_stream),
        made_by="agents.gemini:GeminiStreamReader",
        told_by="an `init` record with `session_id` and `model`",
    ),
    Format(
        "otlp",
        "OpenTelemetry JSON",
        heads.records(heads.otlp, b'"resource', b'"scope'),
        made_by="telemetry.otlp:OtlpReader",
        told_by="OpenTelemetry JSON: `resourceLogs`, `resourceSpans`, `resourceMetrics`, also one level further "
        "in; `resource` with `scopeLogs` or `scopeSpans`",
    ),
    Format(
        "gemini_telemetry",
        "objects of OpenTelemetry's SDK, as in Gemini CLI's telemetry outfile",
        heads.records(heads.sdk_telemetry),
        made_by="telemetry.otlp:SdkReader",
        told_by="objects of OpenTelemetry's SDK: `hrTime` or `startTime` as a pair, or `timestamp` and "
        "`duration`, with a `resource`, a scope or a `traceId`",
    ),
    Format(
        "gemini_chat",
        "a Gemini CLI chat",
        heads.records(heads.gemini_chat, b'"projectHash"', b'"messages"'),
        made_by="agents.gemini:GeminiChatReader",
        told_by="`sessionId` and `projectHash`",
    ),
    Format(
        "crush",
        "a Crush log",
        heads.lines(heads.crush),
        made_by="agents.crush:CrushLogReader",
        told_by="`time`, `level`, `msg` and a `source` whose function is Crush's",
    ),
    Format(
        "crush_db",
        "Crush's database",
        heads.tables("sessions", "messages", "files", "goose_db_version"),
        made_by="agents.crush:CrushStoreReader",
        told_by="tables `sessions`, `messages`, `files`, `goose_db_version`",
    ),
    Format(
        "cline",
        "a Cline or Roo Code task",
        heads.records(heads.cline),
        made_by="agents.cline:ClineReader",
        told_by="Cline's and Roo Code's `ui_messages.json`: `ts`, and `say` or `ask` by its `type`",
    ),
    Format(
        "goose",
        "a goose session",
        heads.lines(heads.goose),
        made_by="agents.goose:GooseReader",
        told_by="a record with `working_dir` and `message_count`",
    ),
    Format(
        "kimi",
        "a Kimi Code session",
        heads.lines(heads.kimi),
        made_by="transcripts.kimi:KimiReader",
        version=("protocol_version", (1, 5)),
        told_by="Kimi Code's wire: a `metadata` record with `protocol_version` and `created_at`; a printed "
        "`turn.step.retrying`",
    ),
    Format(
        "vibe",
        "a Mistral Vibe session",
        heads.lines(heads.vibe),
        made_by="transcripts.vibe:VibeReader",
        told_by="Mistral Vibe's messages: `role`, a boolean `injected`, and `message_id` or `tool_call_id`",
    ),
    Format(
        "kiro",
        "a Kiro CLI session",
        heads.records(heads.kiro),
        made_by="transcripts.kiro:KiroReader",
        version=("version", (1,)),
        told_by="Kiro CLI's records of `version` `v1` and a `kind` `Prompt`, `AssistantMessage` or "
        "`ToolResults`; a `session_state` with `session_id` and `cwd`",
    ),
    Format(
        "antigravity",
        "an Antigravity transcript",
        heads.lines(heads.antigravity),
        made_by="transcripts.antigravity:AntigravityReader",
        told_by="Antigravity's steps: `step_index`, `source`, `type`, `status`, `created_at`",
    ),
    Format(
        "hermes",
        "sessions of Hermes",
        heads.records(heads.hermes),
        made_by="transcripts.hermes:HermesReader",
        told_by="Hermes' messages: `tool_calls`, `tool_call_id`, `tool_name`, `finish_reason` beside `role`; "
        "exported sessions with `end_reason` and `messages`",
    ),
    Format(
        "litellm",
        "LiteLLM's logging payloads",
        heads.records(heads.litellm),
        made_by="telemetry.litellm:LitellmReader",
        told_by="`call_type`, `status` and `custom_llm_provider`",
    ),
    Format(
        "langfuse",
        "an export of Langfuse",
        heads.records(heads.exported(heads.langfuse), b'"traceId"', b'"statusMessage"'),
        made_by="telemetry.platforms:LangfuseReader",
        told_by="Langfuse's observations: a `type` in capitals, `id`, `level`, and `traceId` and `startTime`, or "
        "`trace_id` and `start_time`; also in `data` or `observations`",
    ),
    Format(
        "langsmith",
        "an export of LangSmith",
        heads.records(
            heads.exported(heads.holds("id", "run_type", "start_time", "trace_id")), b'"run_type"', b'"dotted_order"'
        ),
        made_by="telemetry.platforms:LangsmithReader",
        told_by="LangSmith's runs: `id`, `run_type`, `start_time`, `trace_id`; also in `data` or `runs`",
    ),
    Format(
        "mlflow",
        "traces of MLflow",
        heads.records(heads.exported(heads.mlflow), b'"trace_id"', b'"spans"', b'"mlflow.'),
        made_by="telemetry.platforms:MlflowReader",
        told_by="MLflow's traces: an `info` with `trace_id` or `request_id`, and `spans` in `data`",
    ),
    Format(
        "weave",
        "an export of Weave",
        heads.records(
            heads.exported(heads.holds("id", "op_name", "trace_id", "started_at", "project_id")),
            b'"op_name"',
            b'"started_at"',
            b'"project_id"',
        ),
        made_by="telemetry.platforms:WeaveReader",
        told_by="Weave's calls: `id`, `op_name`, `trace_id`, `started_at`, `project_id`; also in `data` or `calls`",
    ),
    Format(
        "openai_agents",
        "traces of the OpenAI Agents SDK",
        heads.records(heads.exported(heads.openai_agents), b'"trace.span"', b'"span_data"'),
        made_by="telemetry.platforms:OpenaiAgentsReader",
        told_by="an `object` `trace.span` with `span_data`, or `trace` with `workflow_name`; also in `data`",
    ),
    Format(
        "aider",
        "an aider chat history",
        lambda head: b"# aider chat started at " in head.data,
        made_by="agents.aider:AiderReader",
        told_by="the text `# aider chat started at`",
    ),
    Format(
        "copilot_chat",
        "a chat of VS Code",
        heads.records(heads.copilot_chat, b'"responderUsername"', b'"requests"'),
        made_by="editors.copilot_chat:CopilotChatReader",
        version=("version", (3,)),
        told_by="VS Code's chats: `sessionId`, `responderUsername` and a list `requests`, also as `v` of a `kind` 0",
    ),
    Format(
        "cursor",
        "a Cursor transcript",
        heads.lines(heads.cursor),
        made_by="editors.cursor:CursorReader",
        told_by="Cursor's lines: a `role` and a `message` of nothing but `content`; `turn_ended` with a `status`",
    ),
    Format(
        "atif",
        "a trajectory in ATIF",
        heads.records(heads.atif, b'"ATIF-v', b'"steps"'),
        made_by="transcripts.trajectories:AtifReader",
        version=("schema_version", (1, 8)),
        told_by="a `schema_version` that begins with `ATIF-v`, and `steps`",
    ),
    Format(
        "swe_agent",
        "a run of mini-swe-agent or SWE-agent",
        heads.records(heads.swe_agent, b'"exit_status"', b'"model_stats"'),
        made_by="transcripts.trajectories:SweReader",
        version=("trajectory_format", (1, 1)),
        told_by="a `trajectory_format` of mini-swe-agent; a `trajectory` beside an `info` with `exit_status`",
    ),
    *(
        Format(name, title, heads.tables(*names), f"transcripts.threads:{reader}", f"tables `{'`, `'.join(names)}`")
        for name, title, reader, names in (
            ("kiro_db", "Kiro CLI's database", "KiroDatabaseReader", ("conversations_v2",)),
            ("amazon_q", "Amazon Q's database", "AmazonQReader", ("auth_kv", "conversations")),
            ("zed", "Zed's threads", "ZedReader", ("threads.data_type",)),
            ("warp", "Warp's database", "WarpReader", ("ai_queries", "agent_conversations")),
            ("grok_cli", "grok-cli's database", "GrokCliReader", heads.GROK_CLI),
        )
    ),
    Format(
        "trae_agent",
        "a run of trae-agent",
        heads.records(heads.trae_agent, b'"llm_interactions"', b'"max_steps"'),
        made_by="transcripts.trajectories:TraeReader",
        told_by="lists `llm_interactions` and `agent_steps`",
    ),
    Format(
        "grok",
        "a Grok Build session",
        heads.lines(heads.grok),
        made_by="transcripts.grok:GrokReader",
        told_by="`timestamp`, a `method` `session/update` or `_x.ai/session/update`, and in its `params` an `update` "
        "with a `sessionUpdate`; no `jsonrpc`",
    ),
    Format(
        "letta",
        "a Letta Code conversation",
        heads.lines(heads.letta),
        made_by="transcripts.letta:LettaReader",
        told_by="a `role` `assistant` with `api`, `provider`, `model`, `stopReason` and `usage`",
    ),
    Format(
        "droid",
        "a Droid session",
        heads.lines(heads.droid),
        made_by="transcripts.droid:DroidReader",
        version=("version", (2,)),
        told_by="a `session_start` with `id`, `title`, and `owner` or `cwd`",
    ),
    Format(
        "auggie",
        "an Auggie session",
        heads.records(heads.auggie, b'"sessionId"', b'"modified"', b'"chatHistory"'),
        made_by="transcripts.documents:AuggieReader",
        told_by="`sessionId`, `created`, `modified` and `chatHistory`",
    ),
    Format(
        "amp",
        "an Amp thread",
        heads.records(heads.amp, b'"T-', b'"created"', b'"messages"', b'"messageId"'),
        made_by="transcripts.documents:AmpReader",
        told_by="an `id` that begins with `T-`, a number `created` and a list `messages`",
    ),
    Format(
        "cline_cli",
        "a session of Cline CLI",
        heads.records(heads.cline_cli, b'"updated_at"', b'"sessionId"', b'"messages"'),
        made_by="transcripts.cline_cli:ClineCliReader",
        version=("version", (1,)),
        told_by="`version`, `updated_at`, `agent`, `sessionId` and a list `messages`",
    ),
    Format(
        "continue",
        "a session of Continue",
        heads.records(heads.continue_dev, b'"workspaceDirectory"', b'"history"'),
        made_by="editors.continue_dev:ContinueReader",
        told_by="`sessionId`, `workspaceDirectory` and a list `history`",
    ),
    Format(
        "hermes_log",
        "a log of Hermes",
        lambda head: heads.HERMES_LINE.search(head.data) is not None,
        made_by="transcripts.hermes:HermesLogReader",
        told_by="text lines of a logger `hermes_…`, `run_agent` or `agent.conversation_loop`",
    ),
    Format("sqlite", "an SQLite database of no known kind", lambda head: head.data.startswith((SQLITE, b'{"sqlite":'))),
    Format("binary", "a binary file", heads.binary),
    Format("jsonl", "JSON lines of no known kind", lambda head: bool(head.objects)),
    Format("json", "a JSON document of no known kind", heads.document),
    Format("text", "a text file", lambda _: True),
)
"""In the order in which they are tried."""

BY_NAME = {found.name: found for found in FORMATS}
NOT_LOGS = frozenset({"empty", "binary", "sqlite", "text", "json", "jsonl"})
"""Formats that name no product: such a file may well not be a log at all."""
