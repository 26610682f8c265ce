"""Who answered, and which MCP server failed: the catalogue's answers on logs whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from analyzer.events import Event, encode
from analyzer.store import Store

Native = Callable[..., bytes]
X, Y = "large-5", "small-5"


def _read(memory: Store, folder: Path, *lines: bytes) -> None:
    (folder / "log.jsonl").write_bytes(b"".join(lines))
    memory.ingest([str(folder / "log.jsonl")])


def test_swaps_are_counted_by_day_and_cause(memory: Store, tmp_path: Path, native: Native) -> None:
    """A failure of the asked model since its last answer is the cause; a fallback without tokens counts once, too."""
    known = {"agent": "claude-code", "agent_version": "2.1", "project": "shop", "output_tokens": 9, "model": X}

    def asked(number: int, served: str, session: str, day: int = 2) -> bytes:
        when = f"2026-11-0{day}T08:{number:02}:00"
        names = {"request": f"r{number}", "asked_model": X, "served_model": served, "session": session}
        return native(f"u{number}", "usage.recorded", when, **known, **names)

    def failed(number: int, reason: str, detail: str, session: str, **fields: object) -> bytes:
        facts = {"reason": reason, "detail": detail, "model": X, "session": session, **fields}
        return native(f"e{number}", at=f"2026-11-02T08:{number:02}:00", agent="claude-code", **facts)

    _read(
        memory,
        tmp_path,
        *(asked(number, X, "usual") for number in range(10)),
        failed(10, "validation", "content_policy", "refused"),
        *(asked(number, Y, "refused") for number in (11, 12)),
        failed(13, "network_transient", "overloaded", "busy"),
        asked(14, X, "busy"),
        asked(15, Y, "busy"),
        asked(16, Y, "next day", day=3),
        failed(17, "network_transient", "overloaded", "printed", served_model=Y),
    )
    rows = memory.query("models-served").rows(named=True)
    names = ("day", "served_model", "cause", "requests", "of_requests", "sessions")
    assert [(str(row["day"])[-2:], *(row[name] for name in names[1:])) for row in rows] == [
        ("03", Y, None, 1, 1, 1),
        ("02", Y, "content_policy", 2, 14, 1),
        ("02", Y, None, 1, 14, 1),
        ("02", Y, "overloaded", 1, 1, 1),
    ]
    assert memory.sql(
        "select distinct swap from answers_between(null, null) where cause = 'content_policy'"
    ).rows() == [(f"{X} → {Y} after a refusal",)]


def test_calls_of_tools_are_summed_by_mcp_server(memory: Store, tmp_path: Path, native: Native) -> None:
    """As each agent names the tools of a server; tools of the agent itself have none."""
    calls = {"mcp__github__list": 6, "mcp__github__create_issue": 4, "mcp_jira_find": 3, "@notes/read": 2}
    calls |= {"developer__shell": 5, "Bash": 9, "read_file": 9}
    failed = {"tool": "mcp__github__create_issue", "kind": "timeout", "duration_seconds": 1.5}
    seen = {"requests": 1, "tools": calls, "ended_at": "2026-11-02T09:00:00Z", "part": "p"}
    _read(
        memory,
        tmp_path,
        native("s", "session.observed", **seen),
        *(
            encode(Event("tool.failed", datetime(2026, 11, 2, 8, number), "s-1", failed, f"t{number}"))
            for number in range(2)
        ),
    )
    rows = memory.query("tools-by-server").rows(named=True)
    names = ("server", "tools", "calls", "failures", "failure_share", "failed_seconds", "top_kind")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("github", 2, 10, 2, 0.2, 3.0, "timeout"),
        ("developer", 1, 5, 0, 0.0, None, None),
        ("jira", 1, 3, 0, 0.0, None, None),
        ("notes", 1, 2, 0, 0.0, None, None),
    ]
