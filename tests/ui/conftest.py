"""A store with an incident and hostile texts, and the pages of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import check
from analyzer.events import Event, encode
from analyzer.store import open_store
from tests.cli.nightly import NEW_ON, after, write_nights

HOSTILE = '<script>document.title="pwned"</script><img src=x onerror=alert(1)>"\'&'


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, native: Callable[..., bytes]) -> Path:
    """A folder with logs and their store, judged up to the first night with a finding; tests copy it."""

    def night(event_id: str, at: str, session: str, **payload: Any) -> bytes:
        return encode(Event("error.classified", datetime.fromisoformat(at), session, payload, event_id))

    folder = tmp_path_factory.mktemp("served")
    write_nights(folder / "logs", night, NEW_ON + 1)
    name, at = f"{HOSTILE}-1", "2026-10-07T09:00:0"
    error = {"caller": HOSTILE, "reason": "rate_limited", "operation": HOSTILE, "facts": {"message": HOSTILE}}
    session = {"session": name}
    lines = [
        native("h-0", "session.observed", f"{at}0", agent="codex", cwd=HOSTILE, model=HOSTILE, **session),
        native("h-1", "error.classified", f"{at}1", **session, **error),
        native("h-2", "retry.scheduled", f"{at}2", delay_seconds=30, attempt=1, **session, operation=HOSTILE),
        native("h-3", "tool.failed", f"{at}3", tool=HOSTILE, message=HOSTILE, **session),
    ]
    (folder / "logs" / "hostile.jsonl").write_bytes(b"".join(lines))
    with open_store(folder / "s.duckdb", writable=True) as store:
        store.ingest([str(folder / "logs")])
        store.judge_history()
        for number in (NEW_ON - 1, NEW_ON):
            check(store, until=datetime.fromisoformat(after(number)))
    return folder


@pytest.fixture
def folder(served: Path, tmp_path: Path) -> Path:
    """A copy of the folder that a test may change."""
    shutil.copytree(served, tmp_path, dirs_exist_ok=True)
    return tmp_path
