"""A store with history: known errors, unknown ones of several kinds, and one session that repeats itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.store import Store


@pytest.fixture
def history(memory: Store, jsonl: Callable[..., Path], native: Any) -> Store:
    """Eleven unknown errors in two kinds of template and one more, four known ones, one abort."""
    lines = []

    def error(number: int, message: str, reason: str = "unknown", **more: Any) -> None:
        payload = {"caller": "planner", "reason": reason, "rule": "none", "facts": {"message": message}, **more}
        at = f"2026-11-{2 + number % 3:02}T08:{number:02}:00"
        lines.append(native(f"e{number:02}", at=at, **{"session": f"s{number % 4}", **payload}).decode().strip())

    for number in range(6):
        error(number, f"Canvas shard {number} is parked, {3 * number} readers ahead of you")
    for number in range(6, 10):
        error(number, f"Ledger page {number} is sealed until the audit", session="s-burst", caller="auditor")
    error(10, "Reply 88 belongs to no open call")
    for number in range(11, 14):
        error(number, f"Canvas shard {number} is overloaded, try again", "network_transient", rule="overloaded_text")
    error(14, "Invalid ledger page", "validation", rule="weak_validation")
    error(15, "Cancelled by user", detail="aborted")
    memory.ingest([str(jsonl("log.jsonl", *lines))])
    return memory
