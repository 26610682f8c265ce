"""A result record has one reading, for a run that is watched and for a log that is imported."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from analyzer.importers import Source, block_of, detect, head_of
from analyzer.recovery.process.step_error import Observer, step_error
from tests import named

START = {"type": "system", "subtype": "init", "session_id": "p-1", "model": "m"}


def failed(**keys: Any) -> dict[str, Any]:
    """A result record of a failed run."""
    return {"type": "result", "is_error": True, "session_id": "p-1", **keys}


def lines(record: dict[str, Any]) -> bytes:
    """A stream that ends with the record."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in (START, record))


def watched(record: dict[str, Any]) -> dict[str, Any]:
    """What `analyzer run` says of a command that printed it."""
    observer = Observer()
    observer.stdout(lines(record))
    error = step_error(observer.observed(), 1)
    assert error is not None
    return {
        "failure_reason": error.failure_reason,
        "reason": error.classification.reason,
        "detail": error.classification.detail,
        "input_tokens": error.usage.input_tokens,
        "output_tokens": error.usage.output_tokens,
    }


def imported(record: dict[str, Any]) -> dict[str, Any]:
    """What the importer says of the same stream."""
    data = lines(record)
    kind = detect(head_of(data))
    assert kind.reader is not None
    reader = kind.reader(Source("log", datetime(2026, 11, 1, 12)), {})
    events = [event for hit in reader.read(block_of(data)) for event in hit.events]
    (payload,) = (event.payload for event in events if event.type == "error.classified")
    return {key: payload.get(key) for key in ("failure_reason", "reason", "detail", "input_tokens", "output_tokens")}


@pytest.mark.parametrize(
    ("record", "reason", "word"),
    named(
        {
            "no subtype": (failed(result="Prompt is too long"), "context_overflow", "context_exhaustion"),
            "full": (failed(subtype="success", result="Prompt is too long"), "context_overflow", "context_exhaustion"),
            "an unknown subtype": (failed(subtype="error_of_tomorrow", result="It failed"), "unknown", "unknown"),
            "a failure without a subtype": (failed(result="Overloaded"), "network_transient", "unknown"),
            "a timeout without one": (failed(result="request timed out"), "network_transient", "unknown"),
            "a timeout among the errors": (
                failed(subtype="error_during_execution", errors=["request timed out"]),
                "network_transient",
                "timeout",
            ),
            "an error that is an object": (
                failed(subtype="error_during_execution", errors=[{"message": "no", "code": "ECONNRESET"}]),
                "network_transient",
                "general_error",
            ),
            "out of turns": (failed(subtype="error_max_turns"), "validation", "general_error"),
            "tokens": (
                failed(
                    subtype="success", api_error_status=529, result="x", usage={"input_tokens": 4, "output_tokens": 6}
                ),
                "network_transient",
                "general_error",
            ),
            "odd values": (
                failed(subtype=7, errors="odd", usage={"input_tokens": True, "output_tokens": -1}),
                "unknown",
                "unknown",
            ),
        }
    ),
)
def test_live_and_imported_say_the_same_of_one_record(record: dict[str, Any], reason: str, word: str) -> None:
    """Failure reason, reason and tokens of a result record do not depend on who reads it."""
    live = watched(record)
    assert imported(record) == live
    assert (live["reason"], live["failure_reason"]) == (reason, word)
