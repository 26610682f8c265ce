"""Crush's log and the rows of its database, with made-up values."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.importers.agents.crush import duration_seconds
from tests.importers.conftest import Read, of

DATABASE = {"sqlite": {"tables": ["files", "goose_db_version", "messages", "sessions"]}}


def line(second: int, said: str, level: str = "WARN", **fields: Any) -> dict[str, Any]:
    """A line of the log."""
    at = f"2026-03-05T12:00:{second:02}.250+02:00"
    source = {"function": "github.com/charmbracelet/crush/internal/llm.x", "file": "x.go", "line": 1}
    return {"time": at, "level": level, "source": source, "msg": said, **fields}


def busy(second: int, attempt: int) -> list[dict[str, Any]]:
    """A failed call, and that it will be tried again."""
    return [
        line(second, "OpenAI API error", status_code=429, message="Slow down", type="tokens"),
        line(second, "Retry-After header", values=["10"]),
        line(second, "Retrying due to rate limit", attempt=attempt, max_retries=8),
    ]


def test_two_lines_tell_one_failed_call_and_its_retry(read: Read) -> None:
    """The error's own line and that of the retry; the zone of the time is heeded."""
    events, _ = read(*busy(1, 1), *busy(9, 2))
    assert [event.payload["attempt"] for event in of(events, "error.classified")] == [1, 2]
    assert of(events, "error.classified")[0].payload["facts"]["status"] == 429
    assert of(events, "error.classified")[0].occurred_at.isoformat() == "2026-03-05T10:00:01.250000"
    assert len(of(events, "retry.scheduled")) == 2


def test_a_retry_that_stands_alone_tells_of_a_failed_call_too(read: Read) -> None:
    """With one provider the line before is missing; a first attempt begins another chain."""
    alone = [line(second, "Retrying due to rate limit", attempt=1, max_retries=8) for second in (1, 30)]
    events, _ = read(*alone)
    assert len({event.payload["operation"] for event in of(events, "error.classified")}) == 2
    assert "status" not in of(events, "error.classified")[0].payload["facts"]


def test_retries_that_are_used_up_end_a_chain(read: Read) -> None:
    """The last line is the ninth call, which failed as well."""
    gave_up = line(59, "failed to process events: maximum retry attempts reached for rate limit: 8 retries", "ERROR")
    events, _ = read(*(item for number in range(1, 9) for item in busy(number, number)), gave_up)
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["outcome"], settled.payload["attempts"]) == ("exhausted", 9)
    assert len(of(events, "error.classified")) == 9


def test_the_newer_line_tells_error_and_retry_at_once(read: Read) -> None:
    """Its delay is a Go duration."""
    fields = {"retry_delay": "1.5s", "status_code": 529, "title": "overloaded_error", "message": "Overloaded"}
    events, _ = read(line(1, "Provider request failed, retrying", **fields))
    assert of(events, "error.classified")[0].payload["facts"]["status"] == 529
    assert of(events, "retry.scheduled")[0].payload["delay_seconds"] == 1.5


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("1.5s", 1.5), ("1m30s", 90.0), ("250ms", 0.25), ("1h0m1s", 3601.0), ("soon", None), (7, None)],
)
def test_durations_of_go(said: object, seconds: float | None) -> None:
    """Hours, minutes, seconds and milliseconds, one after the other."""
    assert duration_seconds(said) == seconds


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ("failed to generate title", {"error": 'POST "https://x": 400 Bad Request {}'}),
        ("LSP Server", {"err": "ERROR 500"}),
        ("Tool execution error", {"error": "failed to process events: maximum retry attempts reached"}),
        ("failed to process events: context canceled", {}),
    ],
)
def test_what_is_no_failed_call_is_no_error(read: Read, said: str, fields: dict[str, Any]) -> None:
    """Helpers, language servers, tools, and stops by the user."""
    assert read(line(1, said, "ERROR", **fields))[0] == []


def test_a_stop_by_the_user_ends_a_chain(read: Read) -> None:
    """The log names the session only there."""
    events, _ = read(*busy(1, 1), line(3, "Request cancellation initiated", "INFO", session_id="c-1"))
    assert of(events, "retry.settled")[0].payload["outcome"] == "aborted"
    assert of(events, "session.observed")[0].session_id == "c-1"


def row(table: str, changed: int, **keys: Any) -> dict[str, Any]:
    """A row, as it comes out of the database."""
    return {**keys, "updated_at": changed, "$row": [table, changed, keys["id"]]}


def ended(reason: str, details: str = "") -> dict[str, Any]:
    """The end of a message."""
    return {"reason": reason, "time": 1_772_704_801, "message": "API Error", "details": details}


def test_log_and_database_tell_one_failure(read: Read) -> None:
    """Its text and its second are the same; only the database knows the session."""
    said = 'POST "https://api.example/v1/messages": 400 Bad Request {"type":"error"}'
    (told,) = of(read(line(1, f"failed to process events: {said}", "ERROR"))[0], "error.classified")
    message = row("messages", 1_772_704_801, id="m", session_id="c", role="assistant", finished=[ended("error", said)])
    (stored,) = of(read(DATABASE, message)[0], "error.classified")
    assert told.id == stored.id
    assert told.payload["facts"]["status"] == stored.payload["facts"]["status"] == 400
    assert (told.session_id, stored.session_id) == (None, "c")


def test_messages_of_the_database_are_requests_once_they_end(read: Read) -> None:
    """A stop is counted and no error; a summary is a hand-off, told by its row or by its session's."""
    events, _ = read(
        DATABASE,
        row("messages", 5, id="m1", session_id="c", role="assistant", finished=[]),
        row("messages", 6, id="m1", session_id="c", role="assistant", finished=[ended("end_turn")]),
        row("messages", 7, id="m2", session_id="c", role="assistant", finished=[ended("canceled")]),
        row("messages", 8, id="m3", session_id="c", role="assistant", is_summary_message=1, finished=[]),
        row("sessions", 9, id="c", summary_message_id="m3"),
    )
    (seen,) = of(events, "session.observed")
    assert (seen.payload["requests"], seen.payload["aborted"]) == (2, 1)
    assert len({event.id for event in of(events, "relay.triggered")}) == 1
    assert of(events, "error.classified") == []
