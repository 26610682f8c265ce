"""goose, Gemini CLI's printed stream and LiteLLM's payloads, record by record, with made-up values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.conftest import Read, of

BEGAN = 1_772_704_800
"""2026-03-05T10:00:00Z in seconds."""


# goose

FOLDER = {"working_dir": "/home/ada/engine", "description": "x", "message_count": 2}


def said(number: int, *parts: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    """A message of a session."""
    return {"role": role, "created": BEGAN + number, "content": list(parts)}


def words(text: str) -> dict[str, Any]:
    """A part that is text."""
    return {"type": "text", "text": text}


def notice(text: str, kind: str = "inlineMessage") -> dict[str, Any]:
    """A part that goose itself writes."""
    return {"type": "systemNotification", "notificationType": kind, "msg": text}


def test_a_failed_reply_of_goose_is_an_error(read: Read) -> None:
    """It stands in a message of its own, with advice behind it; the folder is the project."""
    failure = "Ran into this error: Server error: Server returned status: 503.\n\nPlease retry if you think …"
    events, _ = read(FOLDER, said(1, words(failure)))
    (error,) = of(events, "error.classified")
    facts = error.payload["facts"]
    assert (facts["status"], error.payload["caller"], error.session_id) == (503, "goose@engine", "log")
    assert "Please retry" not in facts["message"]
    assert error.occurred_at.isoformat() == "2026-03-05T10:00:01"


@pytest.mark.parametrize(
    "message",
    [
        said(1, words("Ran into this error: 503"), role="user"),
        said(1, words("The log says: Ran into this error: 503")),
        said(1, words("Ran into this error: 503"), words("… and so I stopped.")),
    ],
)
def test_what_quotes_an_error_of_goose_is_none(read: Read, message: dict[str, Any]) -> None:
    """A user, or a reply with more to say."""
    assert of(read(FOLDER, message)[0], "error.classified") == []


def test_credits_that_are_used_up_take_goose_out(read: Read) -> None:
    """A notice of their own says so."""
    events, _ = read(FOLDER, said(1, notice("No credits are left", "creditsExhausted")))
    assert len(of(events, "agent.exhausted")) == len(of(events, "error.classified")) == 1


def test_compactions_of_goose_are_relays(read: Read) -> None:
    """By notices before and after; older versions leave a part behind, and a failed one says so."""
    begins = said(1, notice("Exceeded auto-compact threshold of 80%. Performing auto-compaction..."))
    ends, old = said(2, notice("Compaction complete")), said(3, {"type": "conversationCompacted", "msg": "x"})
    found = [event.type for event in read(FOLDER, begins, ends, old, split=1)[0] if event.type.startswith("relay.")]
    assert found == ["relay.triggered", "relay.resumed"] * 2
    failed = said(4, words("Ran into this error trying to compact: overloaded."))
    events, _ = read(FOLDER, begins, failed)
    assert [event.type for event in events if event.type.startswith("relay.")] == ["relay.triggered", "relay.halted"]
    assert of(events, "error.classified")[0].payload["facts"]["message"] == "overloaded."


def test_failed_tools_of_goose_name_the_tool_and_the_first_line(read: Read) -> None:
    """Results name the call alone; an error stands in the result or in its content."""
    asked = [
        {"type": "toolRequest", "id": name, "toolCall": {"status": "success", "value": {"name": "shell"}}}
        for name in ("a", "b", "c")
    ]
    results = [
        {"type": "toolResponse", "id": "a", "toolResult": {"status": "error", "error": "Interrupted by the user to …"}},
        {
            "type": "toolResponse",
            "id": "b",
            "toolResult": {"status": "success", "value": {"isError": True, "content": [{"text": "ENOENT\nprivate"}]}},
        },
        {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": {"content": []}}},
    ]
    events, _ = read(FOLDER, said(1, *asked), said(2, *results, role="user"), split=1)
    told = [(event.payload["tool"], event.payload["kind"]) for event in of(events, "tool.failed")]
    assert told == [("shell", "cancelled"), ("shell", "not_found")]
    assert of(events, "tool.failed")[1].payload["message"] == "ENOENT"
    seen = [event.payload for event in of(events, "session.observed")]
    assert (sum(part["requests"] for part in seen), sum(part.get("aborted", 0) for part in seen)) == (1, 1)
    assert [part["tools"] for part in seen if "tools" in part] == [{"shell": 3}]


def test_a_file_of_goose_that_is_written_anew_gives_the_same_events(read: Read) -> None:
    """Its first line changes with each message."""
    message = said(1, words("Ran into this error: 503"))
    once = of(read(FOLDER, message)[0], "error.classified")
    again = of(read({**FOLDER, "message_count": 9}, message, said(5, words("hello")))[0], "error.classified")
    assert once == again


# Gemini CLI, stream-json

INIT = {"type": "init", "timestamp": "2026-03-05T10:00:00.000Z", "session_id": "g-1", "model": "gemini-x"}


def printed(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    """A record of a stream."""
    return {"type": kind, "timestamp": f"2026-03-05T10:00:{number:02}.000Z", **keys}


def test_a_run_that_failed_ends_with_its_error(read: Read) -> None:
    """Code and status stand in the text, where it is one of the API; a name of the error says what else it was."""
    quota = '[API Error: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}} (Status: RESOURCE_EXHAUSTED)]'
    events, _ = read(INIT, printed(1, "result", status="error", error={"type": "Error", "message": quota}))
    (error,) = of(events, "error.classified")
    assert (error.payload["facts"]["status"], error.payload["facts"]["type"]) == (429, "RESOURCE_EXHAUSTED")
    assert (error.session_id, error.payload["outcome"], error.payload["model"]) == ("g-1", "surfaced", "gemini-x")
    turns = {"type": "FatalTurnLimitedError", "message": "Reached max session turns"}
    (error,) = of(read(INIT, printed(1, "result", status="error", error=turns))[0], "error.classified")
    assert error.payload["facts"]["type"] == "FatalTurnLimitedError"


def test_an_error_that_the_end_of_a_run_repeats_counts_once(read: Read) -> None:
    """A warning counts never."""
    error = printed(2, "error", severity="error", message="Maximum session turns exceeded")
    ended = printed(3, "result", status="error", error={"type": "Error", "message": "Maximum session turns exceeded"})
    warning = printed(1, "error", severity="warning", message="Loop detected, stopping execution")
    assert len(of(read(INIT, warning, error, ended, split=1)[0], "error.classified")) == 1


def test_tools_and_replies_of_a_stream(read: Read) -> None:
    """A reply comes in pieces and is one request; what tools were called with is not kept."""
    pieces = [printed(1, "message", role="assistant", content=piece, delta=True) for piece in ("a", "b")]
    use = printed(2, "tool_use", tool_name="replace", tool_id="t", parameters={"file_path": "/x"})
    missing = {"type": "edit_no_occurrence_found", "message": "Failed to edit, could not find the string"}
    failed = printed(3, "tool_result", tool_id="t", status="error", error=missing)
    stopped = {"type": "FatalCancellationError", "message": "Operation cancelled."}
    end = [*pieces, printed(5, "result", status="error", error=stopped)]
    events, _ = read(INIT, printed(0, "message", role="user", content="x"), *pieces, use, failed, *end, split=2)
    (tool,) = of(events, "tool.failed")
    assert (tool.payload["tool"], tool.payload["kind"]) == ("replace", "edit_mismatch")
    assert of(events, "error.classified") == []
    seen = of(events, "session.observed")[-1].payload
    assert (seen["requests"], seen["aborted"], seen["tools"]) == (2, 1, {"replace": 1})


# LiteLLM


def call(number: float, status: str, trace: str | None = "t-1", **keys: Any) -> dict[str, Any]:
    """A payload of a call that took a second."""
    named = {"id": f"c-{number}", "trace_id": trace, "call_type": "acompletion", "custom_llm_provider": "openai"}
    times = {"startTime": BEGAN + number, "endTime": BEGAN + number + 1}
    return {**named, **times, "model": "m", "status": status, "metadata": {"user_api_key_alias": "batch"}, **keys}


BUSY = {"error_code": "429", "error_class": "RateLimitError", "error_message": "Slow down", "traceback": "private"}


def test_calls_of_a_trace_are_one_chain(read: Read) -> None:
    """The wait is the time between two of them; the key's alias is who called."""
    failures = [call(0, "failure", error_information=BUSY), call(3.5, "failure", error_information=BUSY)]
    events, _ = read(*failures, call(10, "success"), split=1)
    errors = of(events, "error.classified")
    assert [error.payload["attempt"] for error in errors] == [1, 2]
    assert (errors[0].payload["facts"]["status"], errors[0].payload["caller"]) == (429, "litellm/batch")
    assert (errors[0].payload["provider"], errors[0].payload["model"]) == ("openai", "m")
    assert [event.payload["delay_seconds"] for event in of(events, "retry.scheduled")] == [2.5, 5.5]
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["outcome"], settled.payload["attempts"]) == ("recovered", 3)
    assert settled.payload["waited_seconds"] == 8.0


def test_calls_of_other_traces_are_no_retries(read: Read) -> None:
    """Nor is one without a trace, nor an embedding beside a completion."""
    others = [call(2, "success", "t-2"), call(3, "success", None), call(4, "success", call_type="aembedding")]
    events, _ = read(call(0, "failure", error_information=BUSY), *others)
    assert of(events, "retry.scheduled") == of(events, "retry.settled") == []
    (alone,) = of(read(call(0, "failure", None, error_str="boom"))[0], "error.classified")
    assert (alone.payload["outcome"], alone.payload["facts"]["message"]) == ("surfaced", "boom")


def test_answers_from_a_cache_are_no_requests(read: Read) -> None:
    """A payload may stand inside the arguments of a callback."""
    inside = {"standard_logging_object": call(1, "success")}
    (seen,) = of(read(inside, call(2, "success", cache_hit=True))[0], "session.observed")
    assert seen.payload["requests"] == 1
