"""The format of a source is told by its content."""

from __future__ import annotations

import json

import pytest

from analyzer.importers import FORMATS, HEAD_BYTES, detect, head_of
from tests import each_row
from tests.importers.new_kinds.cases import AGENTS


def name_of(*records: object) -> str:
    """The detected format of some lines."""
    lines = (item if isinstance(item, str) else json.dumps(item) for item in records)
    return detect(head_of("".join(line + "\n" for line in lines).encode())).name


_RECORDS: dict[str, list[list[object]]] = {
    "analyzer": [
        [{"v": 1, "id": "i", "type": "a.b", "timestamp": "2026-01-01", "sessionId": "s", "payload": {}}],
    ],
    "gdd": [[{"type": "error.classified", "timestamp": "…", "sessionId": "…", "payload": {"reason": "unknown"}}]],
    "claude_code": [
        [{"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s"}],
        [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, {"type": "x"}],
        ["[hook] ready", {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "x"}}],
    ],
    "claude_print": [
        ["Warning: x", {"type": "result", "subtype": "success", "session_id": "s", "result": "ok"}],
        [{"type": "system", "subtype": "init", "session_id": "s"}],
    ],
    "wave": [[{"timestamp": "...", "step_id": "plan", "state": "running", "message": "x"}]],
    "qwen": [
        [{"uuid": "u", "sessionId": "s", "type": "user", "message": {"role": "user", "parts": [{"text": "x"}]}}],
        [{"uuid": "u", "sessionId": "s", "type": "assistant", "message": {"role": "model", "parts": []}}],
        [{"uuid": "u", "sessionId": "s", "type": "system", "subtype": "ui_telemetry", "systemPayload": {}}],
    ],
    "codex": [
        [{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x"}}],
        [{"timestamp": "2026-01-01T00:00:00Z", "ordinal": 0, "type": "world_state", "payload": {"full": True}}],
        [
            {"id": "x", "timestamp": "2025-08-01T00:00:00.000Z", "instructions": None, "git": {"branch": "main"}},
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": []},
        ],
    ],
    "codex_exec": [
        [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}],
        [{"type": "turn.failed", "error": {"message": "x"}}],
        [{"id": "0", "msg": {"type": "stream_error", "message": "x"}}],
    ],
    "copilot": [[{"type": "session.start", "data": {"sessionId": "s"}, "id": "i", "parentId": None}]],
    "pi": [
        [
            {"type": "session", "id": "i", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/x"},
            {"type": "custom", "customType": "ui", "data": {}, "id": "c", "parentId": "i"},
        ],
    ],
    "opencode": [
        [{"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": {"statusCode": 401}}}],
        [{"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1}}],
        [{"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "x"}],
        [{"id": "ses_1", "directory": "/x", "time": {"created": 1}}],
    ],
    "opencode_db": [
        [{"sqlite": {"tables": ["session", "message", "part", "account"]}}],
        [{"sqlite": {"tables": ["session", "message", "part"]}}, {"id": "ses_1", "directory": "/x", "time": {}}],
    ],
    "openhands": [
        [{"kind": "AgentErrorEvent", "error": "x"}],
        [{"id": 3, "timestamp": "2025-07-10T23:29:57.1", "source": "agent", "message": "", "action": "recall"}],
        [{"id": 4, "timestamp": "2025-07-10T23:29:58.1", "source": "agent", "message": "", "observation": "x"}],
    ],
    "gemini_stream": [[{"type": "init", "session_id": "s", "model": "m"}]],
    "gemini_chat": [[{"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}]],
    "gemini_telemetry": [
        [{"hrTime": [1, 2], "resource": {"_rawAttributes": []}, "attributes": {"event.name": "gemini_cli.config"}}],
        [{"name": "x", "traceId": "t", "spanId": "s", "startTime": [1, 2], "attributes": {}, "events": []}],
        [{"traceId": "t", "parentSpanContext": None, "id": "s", "timestamp": 1, "duration": 2, "attributes": {}}],
    ],
    "otlp": [
        [{"resourceLogs": []}],
        [{"path": "/", "body_json": {"resourceSpans": []}}],
        [{"resource": {"attributes": []}, "schemaUrl": "", "scopeSpans": []}],
    ],
    "crush": [
        [{"time": "2025-08-01T00:00:00Z", "level": "INFO", "source": {"function": "a/crush/b.c"}, "msg": "x"}],
    ],
    "copilot_spans": [[{"sqlite": {"tables": ["span_attributes", "span_events", "spans"]}}]],
    "crush_db": [[{"sqlite": {"tables": ["goose_db_version", "sessions", "files", "messages"]}}]],
    "cline": [
        [{"ts": 1767644899093, "type": "say", "say": "api_req_started", "text": "{}"}],
        [{"ts": 1767644899093, "type": "ask", "ask": "followup", "text": ""}],
    ],
    "goose": [[{"working_dir": "/x", "description": "", "message_count": 0}]],
    "goose_db": [[{"sqlite": {"tables": ["schema_version", "sessions", "messages"]}}]],
    "litellm": [[{"id": "x", "call_type": "acompletion", "status": "failure", "custom_llm_provider": "openai"}]],
    "langfuse": [
        [{"id": "o", "traceId": "t", "type": "GENERATION", "level": "DEFAULT", "startTime": "2026-01-01T00:00:00Z"}],
        [
            {
                "data": [
                    {"id": "o", "traceId": "t", "type": "SPAN", "level": "ERROR", "startTime": "2026-01-01T00:00:00Z"}
                ],
                "meta": {},
            }
        ],
        [
            {
                "id": "t",
                "observations": [{"id": "o", "trace_id": "t", "type": "TOOL", "level": "", "start_time": "2026-01-01"}],
            }
        ],
    ],
    "langsmith": [[{"id": "r", "trace_id": "t", "run_type": "llm", "start_time": "2026-01-01T00:00:00"}]],
    "mlflow": [[{"info": {"trace_id": "tr"}, "data": {"spans": []}}]],
    "weave": [
        [{"id": "c", "project_id": "e/p", "op_name": "x", "trace_id": "t", "started_at": "2026-01-01T00:00:00Z"}],
    ],
    "openai_agents": [
        [{"object": "trace", "id": "t", "workflow_name": "w"}],
        [{"data": [{"object": "trace.span", "id": "s", "trace_id": "t", "span_data": {"type": "agent"}}]}],
    ],
    "copilot_chat": [
        [{"kind": 0, "v": {"version": 3, "sessionId": "s", "responderUsername": "x", "requests": []}}],
        [{"version": 3, "sessionId": "s", "responderUsername": "x", "requests": []}],
    ],
    "cursor": [
        [{"role": "user", "message": {"content": [{"type": "text", "text": "x"}]}}],
        [{"type": "turn_ended", "status": "success"}],
    ],
    "aider": [["", "# aider chat started at 2026-06-07 19:11:44", ""]],
    "jsonl": [
        [{"actor": "x", "action": "y"}],
        [{"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": "plan"}}}],
        [{"kind": "Event", "apiVersion": "v1", "reason": "Killing"}],
        [{"time": "2026-01-01T00:00:00Z", "level": "INFO", "source": {"function": "a/b.c"}, "msg": "x"}],
    ],
    "json": [["{", '  "a": 1', "}"], ["[", '  {"role": "user", "content": []}', "]"]],
    "text": [["# a README"]],
    "empty": [[]],
}
_FIXTURES = [(name, records) for name, several in _RECORDS.items() for records in several]
_FIXTURES += [(case.format, list(case.records)) for case in AGENTS]
_DOCUMENTS = (
    "opencode",
    "openhands",
    "otlp",
    "gemini_chat",
    "gemini_telemetry",
    "cline",
    "litellm",
    "langfuse",
    "mlflow",
)
_GENERIC = {"jsonl", "json", "text", "binary", "sqlite"}


@each_row("expected, records", _FIXTURES)
def test_content_tells_the_format(expected: str, records: list[object]) -> None:
    """Each known kind of log is recognised, whatever its name."""
    assert expected == name_of(*records)


@each_row("expected, records", _FIXTURES)
def test_no_format_takes_the_records_of_another(expected: str, records: list[object]) -> None:
    """Whatever the order of the tests, one format alone knows a record, except where two share records."""
    head = head_of("".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in records).encode())
    knowing = {kind.name for kind in FORMATS if kind.recognises(head)} - _GENERIC
    # Rows of a database are the records of files, so that both give the same events.
    shared = {"analyzer": {"gdd"}, "opencode_db": {"opencode"}, "kiro_db": {"amazon_q"}}.get(expected, set())
    assert {expected} - _GENERIC <= knowing <= ({expected} - _GENERIC) | shared


@each_row("name", _DOCUMENTS)
@each_row("indent", [None, 2])
def test_a_document_of_records_is_recognised_as_the_same_format(name: str, indent: int | None) -> None:
    """An array of records, on one line or many, is the log that its records are of."""
    for records in _RECORDS[name]:
        assert detect(head_of(json.dumps(records, indent=indent).encode())).name == name
        pretty = "".join(json.dumps(record, indent=2) + "\n" for record in records)
        assert detect(head_of(pretty.encode())).name == name


def test_a_chat_longer_than_the_head_is_recognised_by_its_keys() -> None:
    """Its one object never ends within the bytes that are looked at."""
    chat = {"sessionId": "s", "projectHash": "h", "messages": [{"id": "m", "content": "x" * HEAD_BYTES}]}
    assert detect(head_of(json.dumps(chat, indent=2).encode()[:HEAD_BYTES])).name == "gemini_chat"


def test_one_line_longer_than_the_head_is_recognised_by_its_keys() -> None:
    """As a page of an API is, with everything that was said."""
    said = {
        "type": "GENERATION",
        "id": "o",
        "traceId": "t",
        "startTime": "2026-01-01",
        "statusMessage": None,
        "level": "DEFAULT",
    }
    page = json.dumps({"data": [{**said, "input": "x" * HEAD_BYTES}]}).encode()[:HEAD_BYTES]
    assert detect(head_of(page)).name == "langfuse"


@pytest.mark.parametrize("tables", [5, "sessions", [{}], [["sessions"]], {"sessions": 1}, None])
def test_a_record_that_names_tables_in_another_form_is_of_no_known_kind(tables: object) -> None:
    """Nothing in a log ends a read."""
    kind = detect(head_of(json.dumps({"sqlite": {"tables": tables}}).encode() + b"\n"))
    assert kind is not None
    assert kind.name == "sqlite"


def test_binary_is_binary() -> None:
    """Bytes that are no text are told apart from text."""
    assert detect(head_of(bytes(range(256)))).name == "binary"


def test_a_broken_beginning_does_not_hide_a_log() -> None:
    """Some good line among the first ones is enough."""
    good = {"v": 1, "id": "i", "type": "a.b", "timestamp": "2026-01-01", "sessionId": None, "payload": {}}
    assert name_of('{"v":1,"id":"torn', "", good) == "analyzer"


def test_a_pretty_printed_chat_is_no_log_with_thousands_of_bad_lines() -> None:
    """A document under a .jsonl name is recognised as what it is."""
    kind = detect(head_of(b'{\n  "sessionId": "s",\n  "projectHash": "h",\n  "messages": []\n}\n'))
    assert kind.name == "gemini_chat"


def test_names_are_unique_and_every_format_has_a_title() -> None:
    """People see the title, scripts the name."""
    assert len({kind.name for kind in FORMATS}) == len(FORMATS)
    assert all(kind.title for kind in FORMATS)
