"""Sessions that stopped in the middle of something: the view `endings`, its queries, and what a report says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import overview
from analyzer.events import Event, encode
from analyzer.report.overview_words import endings_words
from analyzer.store import Store, open_store

BEGIN = datetime(2026, 11, 2, 8)
WORK = {"caller": "shop", "agent": "probe"}


def _events(session: str, *kinds: tuple[int, str, dict[str, Any]], lasts: int | None, begin: datetime = BEGIN) -> bytes:
    """Events of a session that are so many seconds after its begin, and its last sign of life where a log tells it."""
    if lasts is not None:
        seen = {"started_at": begin.isoformat() + "Z", "ended_at": (begin + timedelta(seconds=lasts)).isoformat() + "Z"}
        kinds = (*kinds, (lasts, "session.observed", seen))
    lines = []
    for number, (after, kind, keys) in enumerate(kinds):
        at = begin + timedelta(seconds=after)
        lines.append(encode(Event(kind, at, session, {**WORK, **keys}, f"{session}-{number}")))
    return b"".join(lines)


def _error(after: int, **keys: Any) -> tuple[int, str, dict[str, Any]]:
    return after, "error.classified", {"reason": "network_transient", "detail": None, **keys}


def _tool(after: int, kind: str = "tests") -> tuple[int, str, dict[str, Any]]:
    return after, "tool.failed", {"tool": "Bash", "kind": kind, "message": "Exit code 1"}


def _chain(name: str, calls: int, *, settled: bool = False) -> list[tuple[int, str, dict[str, Any]]]:
    made: list[tuple[int, str, dict[str, Any]]] = []
    for call in range(1, calls + 1):
        made.append(_error(call, operation=name, attempt=call))
        waits = {"operation": name, "reason": "network_transient", "attempt": call, "delay_seconds": 1.0}
        made.append((call, "retry.scheduled", waits))
    end = {"operation": name, "reason": "network_transient", "outcome": "recovered", "attempts": calls}
    return [*made, (calls, "retry.settled", end)] if settled else made


def _compaction(before: int, after: int, *, estimated: bool = False) -> tuple[tuple[int, str, dict[str, Any]], ...]:
    name = f"r-{before}-{after}"
    done = {"relay": name, "post_tokens": after, "pre_tokens": before, "post_tokens_estimated": estimated}
    return (5, "relay.triggered", {"relay": name, "pre_tokens": before}), (6, "relay.resumed", done)


LATEST = BEGIN + timedelta(days=1)
SESSIONS = (
    _events("in-retry", *_chain("op-1", 2), lasts=2),
    _events("own-log", *_chain("op-2", 3), lasts=None),
    _events("endless", *_chain("op-3", 11), lasts=11),
    _events("goes-on-after-retry", *_chain("op-4", 2), lasts=60),
    _events("recovered", *_chain("op-5", 2, settled=True), lasts=60),
    _events("no-answer", _tool(3), _error(9), lasts=9),
    _events("answered", _error(9), lasts=12),
    _events("aborted", _error(9, detail="aborted"), lasts=9),
    _events("own-error", _error(9), lasts=None),
    _events("after-tool", _error(3), _tool(9), lasts=9),
    _events("refused", _tool(9, "refused"), lasts=9),
    _events("no-order", _error(0), lasts=0),
    _events("grown", *_compaction(1000, 1500), lasts=60),
    _events("shrunk", *_compaction(1000, 900), *_compaction(700, 800, estimated=True), lasts=60),
    _events("hollow", (3, "session.observed", {"outcome": "hollow", "detail": "dead_subagents"}), lasts=None),
    _events("running", _error(9), lasts=9, begin=LATEST),
    _events("latest", lasts=1800, begin=LATEST),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of all of them."""
    (tmp_path / "log.jsonl").write_bytes(b"".join(SESSIONS))
    with open_store(":memory:") as opened:
        opened.ingest([str(tmp_path)])
        yield opened


def test_a_session_ends_as_what_stands_last_says(store: Store) -> None:
    """What was answered, aborted, refused or may still be at work has no row, nor has a log that cannot tell."""
    rows = store.sql("select session_id, ending, detail, attempts, grown_compactions from endings order by all").rows()
    assert rows == [
        ("after-tool", "after_tool", "tests", None, 0),
        ("endless", "endless_retries", "network_transient", 11, 0),
        ("grown", "grown_compaction", None, None, 1),
        ("hollow", "hollow", "dead_subagents", None, 0),
        ("in-retry", "in_retry", "network_transient", 2, 0),
        ("no-answer", "after_error", "network_transient", None, 0),
        ("own-log", "in_retry", "network_transient", 3, 0),
    ]


def test_the_queries_count_and_list_them(store: Store) -> None:
    """Within a window, with the share of all sessions that ended in it."""
    counted = store.query("endings-by-kind").select("ending", "sessions").rows()
    assert counted[0] == ("in_retry", 2)
    assert {name for name, _ in counted} == {
        "after_error",
        "after_tool",
        "endless_retries",
        "grown_compaction",
        "hollow",
        "in_retry",
    }
    assert store.query("endings-by-kind")["share"].sum() == pytest.approx(7 / len(SESSIONS))
    assert store.query("endings-by-kind", since=LATEST).is_empty()
    assert store.query("endings-sessions", limit=1)["session_id"].to_list() == ["grown"]


def test_a_report_says_how_many_stopped(store: Store) -> None:
    """In one sentence; of sessions that all came to an end it says nothing."""
    assert endings_words(overview(store)) == (
        "2 sessions ended before a retry that was due, 1 session ended on an error and never answered, 1 session ended "
        "on a failed tool and never answered, 1 session retried without end, 1 session reported success and did "
        "nothing, a compaction made the context of 1 session larger."
    )
    assert endings_words(overview(store, since=LATEST)) == ""
