"""A foreign log's record around a text, and the events that are imported of lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from analyzer.events.appending.writer import event_line
from analyzer.importers import HEAD_BYTES, Source, block_of, detect, head_of


def wave(said: Any) -> dict[str, Any]:
    """A failed step that says a text."""
    return {
        "timestamp": "2026-11-01T10:00:00Z",
        "pipeline_id": "p-1",
        "step_id": "implement",
        "state": "failed",
        "duration_ms": 5,
        "message": said,
        "failure_reason": "general_error",
        "remediation": said,
    }


def imported(log: bytes) -> list[bytes]:
    """The events of lines of a foreign log, as they are written down."""
    kind = detect(head_of(log[:HEAD_BYTES]))
    assert kind.reader is not None
    reader = kind.reader(Source("log", datetime(2026, 11, 1)), {})
    return [event_line(event) for hit in reader.read(block_of(log)) for event in hit.events]
