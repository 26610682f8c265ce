"""What a report says of failed tools: how often calls fail, of what, and which commands fail again and again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from analyzer.analysis import overview
from analyzer.events import Event, encode
from analyzer.store import open_store

LOOP = {
    "tool": "Bash",
    "kind": "tests",
    "command": "go test",
    "exit_code": 1,
    "message": "Exit code 1: --- FAIL: TestTax (0.01s)",
}


def _failed(number: int, session: str, **keys: Any) -> bytes:
    at = datetime(2026, 11, 2, 8, number)
    return encode(Event("tool.failed", at, session, {"caller": "shop", **LOOP, **keys}, f"t-{number}"))


def test_a_command_that_fails_alike_three_times_in_a_session_is_a_loop(tmp_path: Path) -> None:
    """Another code, another text or another session is no part of it, and what a user refused is none."""
    calls = {"caller": "shop", "tools": {"Bash": 50, "Edit": 4}, "started_at": "2026-11-02T08:00:00Z"}
    seen = Event("session.observed", datetime(2026, 11, 2, 9), "s-1", calls, "seen")
    lines = [
        *(_failed(number, "s-1") for number in range(3)),
        _failed(3, "s-1", exit_code=2),
        _failed(4, "s-1", message="Exit code 1: panic: no cart"),
        *(_failed(number, "s-2") for number in (5, 6)),
        *(_failed(number, "s-3", kind="refused", message="no", exit_code=None) for number in (7, 8, 9)),
        *(
            _failed(number, "s-4", tool="Edit", kind="edit_mismatch", command=None, exit_code=None)
            for number in (10, 11, 12)
        ),
        encode(seen),
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path)])
        (loop,) = store.query("tools-loops").iter_rows(named=True)
        shown = overview(store).verdict.details[-1]
    assert (loop["session_id"], loop["command"], loop["failures"]) == ("s-1", "go test", 3)
    assert (loop["first_at"].minute, loop["last_at"].minute, loop["message"]) == (0, 2, LOOP["message"])
    assert shown == (
        "13 tool calls failed in 4 of 4 sessions. Tools: Bash 10 of 50 (20.0%), Edit 3 of 4 (75.0%). "
        "Causes: failed tests 7, edits without a match 3, refused 3. "
        "1 command failed 3 times in a row with the same error."
    )
