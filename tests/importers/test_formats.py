"""The format of a source is told by its content."""

from __future__ import annotations

import json

import pytest

from analyzer.importers import FORMATS, detect, head_of


def name_of(*records: object) -> str:
    """The detected format of some lines."""
    lines = (item if isinstance(item, str) else json.dumps(item) for item in records)
    return detect(head_of("".join(line + "\n" for line in lines).encode())).name


@pytest.mark.parametrize(
    ("expected", "records"),
    [
        ("analyzer", [{"v": 1, "id": "i", "type": "a.b", "timestamp": "2026-01-01", "sessionId": "s", "payload": {}}]),
        ("gdd", [{"type": "error.classified", "timestamp": "…", "sessionId": "…", "payload": {"reason": "unknown"}}]),
        ("claude_code", [{"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s"}]),
        ("claude_code", [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, {"type": "x"}]),
        ("claude_print", ["Warning: x", {"type": "result", "subtype": "success", "session_id": "s", "result": "ok"}]),
        ("claude_print", [{"type": "system", "subtype": "init", "session_id": "s"}]),
        ("wave", [{"timestamp": "...", "step_id": "plan", "state": "running", "message": "x"}]),
        ("codex", [{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x"}}]),
        ("copilot", [{"type": "session.start", "data": {"sessionId": "s"}, "id": "i", "parentId": None}]),
        ("pi", [{"type": "session", "id": "i", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/x"}]),
        ("opencode", [{"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": {"statusCode": 401}}}]),
        ("openhands", [{"kind": "AgentErrorEvent", "error": "x"}]),
        ("gemini_stream", [{"type": "init", "session_id": "s", "model": "m"}]),
        ("otlp", [{"resourceLogs": []}]),
        ("gemini_chat", ["{", '  "sessionId": "s",', '  "projectHash": "h",', '  "messages": [', "  ]", "}"]),
        ("aider", ["", "# aider chat started at 2026-06-07 19:11:44", ""]),
        ("jsonl", [{"actor": "x", "action": "y"}]),
        ("json", ["{", '  "a": 1', "}"]),
        ("text", ["# a README"]),
        ("empty", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_content_tells_the_format(expected: str, records: list[object]) -> None:
    """Each known kind of log is recognised, whatever its name."""
    assert expected == name_of(*records)


def test_binary_is_binary() -> None:
    """Bytes that are no text are told apart from text."""
    assert detect(head_of(bytes(range(256)))).name == "binary"


def test_a_broken_beginning_does_not_hide_a_log() -> None:
    """Some good line among the first ones is enough."""
    good = {"v": 1, "id": "i", "type": "a.b", "timestamp": "2026-01-01", "sessionId": None, "payload": {}}
    assert name_of('{"v":1,"id":"torn', "", good) == "analyzer"


def test_a_pretty_printed_chat_is_no_log_with_thousands_of_bad_lines() -> None:
    """A document under a .jsonl name is recognised as what it is, and has no reader yet."""
    kind = detect(head_of(b'{\n  "sessionId": "s",\n  "projectHash": "h",\n  "messages": []\n}\n'))
    assert (kind.name, kind.reader) == ("gemini_chat", None)


def test_names_are_unique_and_every_format_has_a_title() -> None:
    """People see the title, scripts the name."""
    assert len({kind.name for kind in FORMATS}) == len(FORMATS)
    assert all(kind.title for kind in FORMATS)
