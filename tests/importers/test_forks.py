"""Programs that write another agent's format: each has its own name, told by what it alone writes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import Event
from analyzer.importers import BY_NAME, Source, block_of
from analyzer.importers.programs import FORKS
from tests import each_row
from tests.importers.conftest import Read
from tests.shown_formats import LOGS, tried

AT = "2026-03-05T10:00:0{}.000Z"


def _transcript(session: str, *first: dict[str, Any]) -> list[dict[str, Any]]:
    common = {"sessionId": session, "timestamp": AT.format(1), "userType": "external", "isSidechain": False}
    asked = {"type": "user", "uuid": "u1", "parentUuid": None, "cwd": "/home/me/shop", "version": "1.0.0"}
    failed = {"type": "system", "subtype": "api_error", "uuid": "u2", "retryAttempt": 1, "error": {"status": 529}}
    return [*first, {**common, **asked, "message": {"role": "user", "content": "hi"}}, {**common, **failed}]


def _run(init: dict[str, Any], **result: Any) -> list[dict[str, Any]]:
    begun = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/home/me/shop", "model": "m", **init}
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "session_id": "s", **result}
    return [begun, failed]


def _session(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    head = {"type": "session", "version": 3, "id": "s", "timestamp": AT.format(0), "cwd": "/home/me/shop"}
    message = {"role": "assistant", "stopReason": "error", "errorMessage": "529 overloaded", "provider": "x"}
    reply = {"type": "message", "id": "e9", "parentId": None, "timestamp": AT.format(2), "message": message}
    return [head, *({"id": "e1", "timestamp": AT.format(1), **entry} for entry in entries), reply]


def _task(**request: Any) -> list[dict[str, Any]]:
    rows = [
        ("api_req_started", json.dumps({"request": "…", **request})),
        ("error_retry", json.dumps({"attempt": 1, "maxAttempts": 3, "errorMessage": "429 slow down"})),
    ]
    return [
        {"ts": 1_772_704_800_000 + at, "type": "say", "say": kind, "text": said} for at, (kind, said) in enumerate(rows)
    ]


CLAUDE_INIT = {"apiKeySource": "none", "tools": ["Bash"], "claude_code_version": "2.1.0"}
OWN = {
    "claude-code": _transcript("7d0c1f2e-0000-4000-8000-000000000001"),
    "claude -p": _run(CLAUDE_INIT, num_turns=3, request_id="r"),
    "pi": _session({"type": "model_change", "provider": "x", "modelId": "m"}, {"type": "custom", "customType": "mine"}),
    "cline": _task(tokensIn=1),
}
THEIRS = {
    "iflow": _transcript("session-7d0c1f2e-0000-4000-8000-000000000001"),
    "qoder": _transcript(
        "7d0c", {"type": "workspace-directories", "sessionId": "7d0c", "directories": ["/home/me/shop"]}
    ),
    "qoder (run)": _run({**CLAUDE_INIT, "qodercli_version": "1.1.5"}),
    "qwen-code": _run({"tools": [], "qwen_code_version": "0.14.0"}),
    "cursor-cli": _run({"apiKeySource": "login", "permissionMode": "default"}),
    "cursor-cli (json)": _run({"apiKeySource": "login"}, request_id="r", duration_api_ms=9)[1:],
    "openclaw": _session({"type": "custom", "customType": "model-snapshot", "data": {}}),
    "openclaw (error)": _session({"type": "custom", "customType": "openclaw:prompt-error", "data": {}}),
    "omp": _session({"type": "model_change", "model": "openai/gpt-4o", "role": "default"}),
    "roo": _task(apiProtocol="openai"),
    "kilo": _task(apiProtocol="openai", inferenceProvider="Moonshot AI"),
    "kilo (no usage)": _task(usageMissing=True),
}


ALIKE = {
    "claude_code": _transcript("7d0c1f2e-0000-4000-8000-000000000001"),
    "codex": [
        {"timestamp": AT.format(1), "type": "session_meta", "payload": {"id": "t", "cwd": "/home/me/shop"}},
        {"timestamp": AT.format(2), "type": "event_msg", "payload": {"type": "error", "message": "stream error: 503"}},
    ],
    "kimi": [
        {"type": "metadata", "protocol_version": "1.5", "created_at": 1_772_704_800_000, "session_id": "s"},
        {
            "type": "turn.step.retrying",
            "time": 1_772_704_801_000,
            "failedAttempt": 1,
            "maxAttempts": 3,
            "delayMs": 500,
            "errorMessage": "busy",
            "statusCode": 503,
        },
    ],
    "opencode_db": [
        {
            "id": "msg_1",
            "sessionID": "ses_1",
            "role": "assistant",
            "time": {"created": 1},
            "error": {"name": "APIError", "data": {"message": "busy", "statusCode": 503}},
        }
    ],
    # What OpenClaw alone writes, and what is forked from it.
    "pi": _session({"type": "custom", "customType": "model-snapshot", "data": {}}),
    "cline": _task(),
}
"""Records that tell nothing of who wrote them beyond the agent that the format is named for."""


def _names(events: list[Event]) -> set[tuple[str, str]]:
    """Who the last events say was at work: the caller without its project, and the agent."""
    errors = [event for event in events if event.type == "error.classified"]
    assert errors
    return {(event.payload["caller"].partition("@")[0], event.payload["agent"]) for event in errors}


@each_row("name", THEIRS)
def test_a_fork_has_its_own_name(read: Read, name: str) -> None:
    """As a caller and as an agent, whichever of its marks the log has."""
    agent = name.partition(" ")[0]
    assert _names(read(*THEIRS[name])[0]) == {(agent, agent)}


@pytest.mark.parametrize("name", OWN)
def test_the_agent_of_a_format_keeps_its_name(read: Read, name: str) -> None:
    """Its own records have no fork's mark."""
    assert _names(read(*OWN[name])[0]) == {(name, "claude-code" if name == "claude -p" else name)}


@pytest.mark.parametrize("name", ["iflow", "cursor-cli", "openclaw", "roo"])
def test_a_fork_is_remembered_where_reading_goes_on(read: Read, name: str) -> None:
    """A later part of the log, which may hold no mark, is of the same program."""
    assert _names(read(*THEIRS[name], split=1)[0]) == {(name, name)}


def test_every_fork_has_an_example_here() -> None:
    """One of each row of the table, but of those that a folder alone tells."""
    told = {row.agent for row in FORKS if not row.place or row.agent in {"kilo", "roo"}}
    assert told == {name.partition(" ")[0] for name in THEIRS}
    assert {name for row in FORKS for name in row.formats} <= BY_NAME.keys()


def test_prose_names_no_fork(read: Read) -> None:
    """A prompt that quotes another program's record is a prompt."""
    quoted = json.dumps(THEIRS["iflow"][0])
    told = _transcript("7d0c1f2e-0000-4000-8000-000000000001")
    told[0]["message"]["content"] = quoted
    assert _names(read(*told)[0]) == {("claude-code", "claude-code")}
    assert _names(
        read(*_session({"type": "custom", "customType": "mine", "data": {"customType": "openclaw:x"}}))[0]
    ) == {("pi", "pi")}
    rows = _task(tokensIn=1)
    rows.insert(0, {**rows[0], "ts": 1, "say": "text", "text": '{"apiProtocol":"openai"}'})
    assert _names(read(*rows)[0]) == {("cline", "cline")}


@each_row(
    "path, form, agent",
    [
        ("/home/me/.config/Code/User/globalStorage/kilocode.kilo-code/tasks/1/ui_messages.json", "cline", "kilo"),
        (
            "/home/me/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json",
            "cline",
            "roo",
        ),
        ("/home/me/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json", "cline", "cline"),
        ("/home/me/.local/share/kilo/kilo.db", "opencode_db", "kilo"),
        ("/home/me/.local/share/opencode/opencode.db", "opencode_db", "opencode"),
        ("/home/me/kilo/notes.db", "opencode_db", "opencode"),
        ("/home/me/.local/share/mimocode/mimocode.db", "opencode_db", "mimocode"),
        ("/home/me/.local/share/icodemate/icodemate.db", "opencode_db", "icodemate"),
        ("/home/me/.openclaude/projects/-x/s.jsonl", "claude_code", "openclaude"),
        ("/home/me/.claude/projects/-x/s.jsonl", "claude_code", "claude-code"),
        ("/home/me/.qclaw/agents/main/sessions/s.jsonl", "pi", "qclaw"),
        ("/home/me/.trae/cli/sessions/2026/rollout-1.jsonl", "codex", "traex"),
        ("/home/me/.codex/sessions/2026/rollout-1.jsonl", "codex", "codex"),
        ("/home/me/.config/kimi-desktop/d/sessions/wd_x/conv-1/agents/main/wire.jsonl", "kimi", "kimi-work"),
    ],
)
def test_a_folder_names_a_fork_whose_records_are_the_same(path: str, form: str, agent: str) -> None:
    """Older tasks of Roo and Kilo, and logs of programs whose records are those of another agent."""
    make = BY_NAME[form].reader
    assert make is not None
    reader = make(Source(path, datetime(2026, 11, 1)), {})
    records = ALIKE[form]
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    events = [event for hit in reader.read(block_of(lines)) for event in hit.events]
    assert {caller.partition("/")[0] for caller, _ in _names(events)} == {agent}
    assert {found for _, found in _names(events)} == {agent}


def test_a_log_counts_as_tried_for_the_program_that_wrote_it(tmp_path: Path) -> None:
    """Formats that several programs write are no logs of all of them; databases are told by their tables."""
    log = "".join(json.dumps(record) + "\n" for record in LOGS["pi"])
    for folder in (".pi/agent/sessions/x", ".qclaw/agents/a/sessions", ".qclaw/agents/b/sessions"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "s.jsonl").write_text(log, encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as database:
        for table in ("session", "message", "part"):
            database.execute(f"create table {table} (id text)")
    counts = {line[2:].partition(" (")[0]: line.rpartition(": ")[2] for line in tried([str(tmp_path)])}
    shown = ("pi", "QClaw", "OpenClaw", "opencode", "MiMoCode", "Codex")
    assert [counts[name] for name in shown] == ["1", "2", "0", "1", "0", "0"]
