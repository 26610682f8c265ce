"""opencode's messages and parts, record by record, with made-up values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.conftest import Read, of

BEGAN = 1_772_704_800_000
"""2026-03-05T10:00:00Z in milliseconds."""


def message(number: int, **keys: Any) -> dict[str, Any]:
    """A reply."""
    time = {"created": BEGAN + number * 1000, "completed": BEGAN + number * 1000 + 500}
    named = {"id": f"msg_{number}", "sessionID": "ses_1", "role": "assistant", "agent": "build"}
    return {**named, "time": time, "modelID": "m", "providerID": "p", "tokens": {}, **keys}


def reply(number: int, used: int, **keys: Any) -> dict[str, Any]:
    """A reply with so many tokens in use."""
    return message(number, tokens={"input": 6, "output": 9, "cache": {"read": used - 6, "write": 0}}, **keys)


def failed(number: int, name: str, **data: Any) -> dict[str, Any]:
    """A reply that failed."""
    return message(number, error={"name": name, "data": data})


def part(number: int, kind: str, **keys: Any) -> dict[str, Any]:
    """A part of a message."""
    named = {"id": f"prt_{number}", "messageID": f"msg_{number}", "sessionID": "ses_1", "type": kind}
    return {**named, "time": {"created": BEGAN + number * 1000}, **keys}


def test_a_failed_message_is_an_error_with_its_status(read: Read) -> None:
    """Of the headers those about retries are kept; caller is the agent, else the mode."""
    headers = {"retry-after": "20", "set-cookie": "secret=1"}
    error = failed(1, "APIError", message="Overloaded", statusCode=529, isRetryable=True, responseHeaders=headers)
    (event,) = of(read(error)[0], "error.classified")
    facts = event.payload["facts"]
    assert (facts["status"], facts["headers"]) == (529, {"retry-after": "20"})
    assert "type" not in facts
    assert (event.payload["caller"], event.payload["model"], event.payload["provider"]) == ("opencode/build", "m", "p")
    assert event.occurred_at.isoformat() == "2026-03-05T10:00:01.500000"


def test_a_stop_by_the_user_is_no_error(read: Read) -> None:
    """It is counted with the request."""
    (seen,) = read(failed(1, "MessageAbortedError", message="x"))[0]
    assert (seen.type, seen.payload["aborted"]) == ("session.observed", 1)


@pytest.mark.parametrize("name", ["ContextOverflowError", "ProviderAuthError", "MessageOutputLengthError"])
def test_other_names_say_what_failed(read: Read, name: str) -> None:
    """They are the type of the error."""
    (event,) = of(read(failed(1, name, message="x"))[0], "error.classified")
    assert event.payload["facts"]["type"] == name


def test_failed_tools_are_no_errors(read: Read) -> None:
    """A tool's failure is the model's to read."""
    tool = part(1, "tool", tool="bash", state={"status": "error", "error": "Error: 500"})
    events, _ = read(tool)
    assert {event.type for event in events} == {"tool.failed", "session.observed"}
    assert of(events, "tool.failed")[0].payload["message"] == "Error: 500"


def test_a_compaction_has_the_tokens_of_the_replies_round_it(read: Read) -> None:
    """Its part and its summary name the same message, and are one hand-off."""
    summary = reply(4, 150_000, summary=True, parentID="msg_3")
    events, _ = read(reply(1, 140_000), part(3, "compaction", auto=True), summary, reply(5, 9_000))
    (begun,), (done,) = of(events, "relay.triggered"), of(events, "relay.resumed")
    assert (begun.payload["pre_tokens"], begun.payload["trigger"]) == (140_000, "auto")
    assert (done.payload["post_tokens"], done.payload["post_tokens_estimated"]) == (9_000, True)


def test_part_and_summary_of_a_compaction_in_two_files_have_one_id(read: Read) -> None:
    """Files do not know each other."""
    (one,) = of(read(part(3, "compaction", auto=False))[0], "relay.triggered")
    (other,) = of(read(reply(4, 5, summary=True, parentID="msg_3"))[0], "relay.triggered")
    assert one.id == other.id


def test_retries_that_are_kept_make_a_chain(read: Read) -> None:
    """A reply ends it as recovered, another failure as exhausted."""
    again = [
        part(
            number, "retry", attempt=number, error={"name": "APIError", "data": {"message": "busy", "statusCode": 503}}
        )
        for number in (1, 2)
    ]
    events, _ = read(*again, reply(3, 100))
    assert [event.payload["attempt"] for event in of(events, "retry.scheduled")] == [1, 2]
    assert of(events, "retry.settled")[0].payload["outcome"] == "recovered"
    events, _ = read(*again, failed(3, "APIError", message="busy", statusCode=503))
    assert of(events, "retry.settled")[0].payload["outcome"] == "exhausted"
    assert [event.payload["attempt"] for event in of(events, "error.classified")] == [1, 2, 3]


def test_each_reply_is_one_request_however_often_it_is_read(read: Read) -> None:
    """A reply that has not ended yet is none."""
    begun = message(2, time={"created": BEGAN})
    events, _ = read(reply(1, 9), reply(1, 9), begun)
    assert {event.payload["part"] for event in of(events, "session.observed")} == {"msg_1"}
    for kind in ("session.observed", "usage.recorded"):
        assert len({event.id for event in of(events, kind)}) == 1


def test_a_printed_error_is_read(read: Read) -> None:
    """As `opencode run` prints it."""
    printed = {
        "type": "error",
        "timestamp": BEGAN,
        "sessionID": "ses_1",
        "error": {"name": "UnknownError", "data": {"message": "x"}},
    }
    (event,) = read(printed)[0]
    assert (event.session_id, event.payload["facts"]["message"]) == ("ses_1", "x")
