"""What a failed step said of itself: its word, its tokens and what to do about it, from a log to the view and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analyzer.store import open_store, rebuild

COLUMNS = "failure_reason, remediation, input_tokens, output_tokens, tokens_used, reason"


def wave(step: str, message: str, **keys: Any) -> str:
    """A failed step of Wave's."""
    base = {"timestamp": "2026-11-03T10:00:00Z", "pipeline_id": "p-9", "step_id": step, "state": "failed"}
    return json.dumps({**base, "message": message, **keys}) + "\n"


def result(**keys: Any) -> str:
    """A failed run of `claude -p`."""
    start = {"type": "system", "subtype": "init", "session_id": "p-1", "model": "m"}
    end = {"type": "result", "subtype": "success", "is_error": True, "session_id": "p-1", **keys}
    return "".join(json.dumps(each) + "\n" for each in (start, end))


def rows(path: Path) -> list[tuple[Any, ...]]:
    """The failures of a store."""
    with open_store(path) as store:
        return store.sql(f"select {COLUMNS} from errors order by session_id, caller").rows()


def test_errors_have_the_step_s_word_tokens_and_remediation(tmp_path: Path) -> None:
    """The view shows what the log says; both parts of the tokens make their sum where no total stands in the log."""
    used = {"input_tokens": 180_000, "output_tokens": 4_000}
    (tmp_path / "run.ndjson").write_text(result(result="Prompt is too long", usage=used))
    (tmp_path / "wave.jsonl").write_text(
        wave("a", "odd", failure_reason="timeout", tokens_used=9_000, remediation="Split the step")
        + wave("b", "odd", tokens_used=-1, tokens_in=10**15)
    )
    path = tmp_path / "s.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(tmp_path / "run.ndjson"), str(tmp_path / "wave.jsonl")])
    full, timed_out, odd = rows(path)
    assert (full[0], full[2:]) == ("context_exhaustion", (180_000, 4_000, 184_000, "context_overflow"))
    assert "half" in full[1]
    assert timed_out == ("timeout", "Split the step", None, None, 9_000, "network_transient")
    assert (odd[0], odd[2:]) == (None, (None, None, None, "unknown"))


def test_a_rebuild_and_a_replay_keep_them(tmp_path: Path) -> None:
    """The same rows come out of the journal when the logs are gone, and the rules of today change none of them."""
    log = tmp_path / "wave.jsonl"
    log.write_text(
        wave("a", "context deadline exceeded", failure_reason="context_exhaustion", tokens_used=9_000)
        + wave("b", "The step did not finish", failure_reason="timeout", tokens_in=5, tokens_out=6)
    )
    path = tmp_path / "s.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(log)])
    before = rows(path)
    assert [row[5] for row in before] == ["context_overflow", "network_transient"]
    log.unlink()
    rebuild(str(path), [])
    assert rows(path) == before
    with open_store(path, writable=True) as store:
        assert store.reclassify(None, apply=True).changed == 0
    assert rows(path) == before
