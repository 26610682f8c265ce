"""Some sessions copied out of a store have the rows that they have in the whole of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.analysis.timeline import timeline
from analyzer.store import open_store
from tests import Native

NAMES = ("fork", "origin")
VIEWS = (
    "sessions",
    "usage",
    "errors",
    "retries",
    "relays",
    "tool_failures",
    "tool_calls",
    "context_recoveries",
    "events",
)


def fork(native: Native) -> bytes:
    """A session and its fork, which repeats its first error and its first request under ids of its own."""

    def line(session: str, number: int, kind: str, at: int, **payload: object) -> bytes:
        seen = {"agent": "claude-code", **({"forked_from": "origin"} if session == "fork" else {})}
        moment = f"2026-11-02T09:00:{at:02}Z"
        return native(f"{session}-{number}", kind, moment, session=session, **seen, **payload)

    error = {"caller": "coder", "reason": "unknown", "facts": {"message": "the lattice is closed"}}
    tokens = {"model": "claude-opus-4-5", "provider": "anthropic", "output_tokens": 10, "input_tokens": 1000}
    lines = []
    for session in ("origin", "fork"):
        lines += [
            line(session, 0, "session.observed", 0, part=session, requests=2),
            line(session, 1, "usage.recorded", 1, request="r-1", **tokens),
            line(session, 2, "error.classified", 2, operation=f"o-{session}", **error),
        ]
    lines.append(line("fork", 3, "usage.recorded", 5, request="r-2", **tokens))
    lines.append(line("origin", 3, "retry.settled", 9, operation="o-origin", outcome="recovered", attempts=2))
    return b"".join(lines)


def test_a_part_has_the_rows_of_its_sessions(tmp_path: Path, native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each view and each timeline says the same of a session, also of one that repeats or is repeated by a fork."""
    (tmp_path / "fork.jsonl").write_bytes(fork(native))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(tmp_path)])
        asked = [f"select * from {view} where session_id = $1 order by all" for view in VIEWS]
        whole = {name: [store.sql(statement, [name]).rows() for statement in asked] for name in NAMES}
        lines = {name: timeline(store, name) for name in NAMES}
        monkeypatch.setattr("analyzer.store.store.FEW_ROWS", 0)
        for name in NAMES:
            with store.part([name]) as part:
                assert part is not store
                assert [part.sql(statement, [name]).rows() for statement in asked] == whole[name], name
            assert timeline(store, name) == lines[name]
        assert len(whole["fork"][1]) == 1, "the repeated request is the other session's"
