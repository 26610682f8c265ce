"""Cline and Roo Code, aider, pi, Copilot CLI and OpenHands, record by record, with made-up values."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from analyzer.events import Event
from analyzer.importers import Source, block_of
from analyzer.importers.agents.openhands import OpenHandsReader
from tests.importers.conftest import FILE_TIME, Read, of

BEGAN = 1_772_704_800_000
"""2026-03-05T10:00:00Z in milliseconds."""


def ends(events: list[Event]) -> list[tuple[str, int]]:
    """How the chains ended, and after how many calls."""
    return [(event.payload["outcome"], event.payload["attempts"]) for event in of(events, "retry.settled")]


# Cline and Roo Code


def row(number: int, kind: str, said: object = "", **keys: Any) -> dict[str, Any]:
    """A row that is shown: an object is its text as JSON."""
    told = said if isinstance(said, str) else json.dumps(said)
    return {"ts": BEGAN + number * 1000, "type": "say", "say": kind, "text": told, **keys}


def asked(number: int, kind: str) -> dict[str, Any]:
    """A question."""
    return {"ts": BEGAN + number * 1000, "type": "ask", "ask": kind, "text": ""}


def again(number: int, attempt: int, **keys: Any) -> dict[str, Any]:
    """A failed call that Cline tries again."""
    return row(number, "error_retry", {"attempt": attempt, "maxAttempts": 3, "delaySeconds": 2**attempt, **keys})


STREAM = {"cancelReason": "streaming_failed", "streamingFailedMessage": "request failed with status 400: Bad Request"}


def test_each_row_of_cline_is_one_failed_call(read: Read) -> None:
    """The message stands in the request alone; the question behind the last row repeats it."""
    gave_up = row(9, "error_retry", {"attempt": 3, "maxAttempts": 3, "delaySeconds": 0, "failed": True})
    retries = [again(2, 1), row(3, "api_req_retried"), again(4, 2), again(6, 3)]
    events, _ = read(row(1, "api_req_started", STREAM), *retries, gave_up, asked(10, "api_req_failed"))
    assert [event.payload["facts"].get("status") for event in of(events, "error.classified")] == [400] * 4
    assert [event.payload["delay_seconds"] for event in of(events, "retry.scheduled")] == [2, 4, 8]
    assert ends(events) == [("exhausted", 4)]


def test_a_request_of_cline_that_failed_alone_is_an_error(read: Read) -> None:
    """Nothing behind it tells the failure, but the next request, or a question."""
    failed = row(1, "api_req_started", STREAM)
    for following in (row(2, "api_req_started", {"tokensIn": 5}), asked(2, "resume_task")):
        assert len(of(read(failed, following)[0], "error.classified")) == 1


def test_what_cline_does_not_count_is_not_counted(read: Read) -> None:
    """Rows that are still written, failed tools, its own throttle; a stop by the user ends a chain."""
    rows = [
        {**again(1, 1), "partial": True},
        row(2, "error", "File not found: 500"),
        row(3, "api_req_rate_limit_wait", "{}"),
        again(4, 1),
        row(5, "api_req_started", {"cancelReason": "user_cancelled"}),
    ]
    events, _ = read(*rows)
    assert len(of(events, "error.classified")) == 1
    assert ends(events) == [("aborted", 1)]
    assert of(events, "session.observed")[0].payload["aborted"] == 1


def test_a_request_that_is_answered_ends_a_chain_of_cline(read: Read) -> None:
    """Its row has tokens."""
    assert ends(read(again(1, 1), row(2, "api_req_started", {"tokensIn": 900, "cost": 0.1}))[0]) == [("recovered", 2)]


def test_cline_pays_for_requests_that_were_cancelled_or_deleted_and_for_sub_agents(read: Read) -> None:
    """Each row with tokens counts: a cancelled request, the sum of deleted ones, and the sum of sub-agents."""
    rows = [
        row(1, "api_req_started", {"tokensIn": 100, "tokensOut": 7, "cost": 0.1, "cancelReason": "user_cancelled"}),
        row(2, "api_req_started", {"tokensIn": 200, "tokensOut": 8, "cost": 0.2, **STREAM}),
        row(3, "deleted_api_reqs", {"tokensIn": 300, "tokensOut": 9, "cost": 0.3}),
        row(4, "subagent_usage", {"source": "subagents", "tokensIn": 400, "tokensOut": 10, "cost": 0.4}),
    ]
    spent = of(read(*rows)[0], "usage.recorded")
    assert [
        (event.payload["input_tokens"], event.payload["output_tokens"], event.payload["cost_usd"]) for event in spent
    ] == [
        (100, 7, 0.1),
        (200, 8, 0.2),
        (300, 9, 0.3),
        (400, 10, 0.4),
    ]
    assert [event.payload["caller"] for event in spent] == ["cline", "cline", "cline", "cline/subagent"]


def test_retries_and_condensations_of_roo(read: Read) -> None:
    """The status leads the text; the tokens are of the context before and after."""
    condensed = row(2, "condense_context", contextCondense={"prevContextTokens": 124_669, "newContextTokens": 57_960})
    events, _ = read(row(1, "api_req_retry_delayed", "429\nSlow down"), condensed)
    (error,) = of(events, "error.classified")
    assert (error.payload["caller"], error.payload["facts"]["status"]) == ("roo", 429)
    assert of(events, "relay.triggered")[0].payload["pre_tokens"] == 124_669
    assert of(events, "relay.resumed")[0].payload["post_tokens"] == 57_960


@pytest.mark.parametrize(
    ("status", "last"),
    [("started", None), ("completed", "relay.resumed"), ("failed", "relay.halted"), ("skipped", None)],
)
def test_compactions_of_cline_are_relays(read: Read, status: str, last: str | None) -> None:
    """Once they have ended."""
    told = {"status": status, "mode": "auto", "tokensBefore": 9000, "tokensAfter": 700}
    found = [event for event in read(row(1, "compaction", told))[0] if event.type.startswith("relay.")]
    assert [event.type for event in found] == ([] if last is None else ["relay.triggered", last])


# aider

HEAD = "# aider chat started at 2026-03-05 10:00:00"
BUSY = "> litellm.APIError: APIError: OpenAIException - Your request was blocked.  "


@pytest.fixture
def kathmandu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine 5:45 ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    yield
    os.environ.pop("TZ", None)
    monkeypatch.undo()
    time.tzset()


def test_errors_of_aider_are_tried_again(read: Read) -> None:
    """What follows a wait says how it ended; the status of a class is in its text, if anywhere."""
    waits = "> Retrying in 0.2 seconds...  "
    events, _ = read(HEAD, "> Aider v0.86.1", BUSY, waits, BUSY, "> Retrying in 0.5 seconds...  ", "Hello.")
    assert [event.payload["attempt"] for event in of(events, "error.classified")] == [1, 2]
    assert of(events, "error.classified")[0].payload["facts"]["type"] == "APIError"
    assert ends(events) == [("recovered", 3)]
    assert of(events, "retry.settled")[0].payload["waited_seconds"] == 0.7
    assert ends(read(HEAD, BUSY, waits, BUSY, "", "#### next")[0]) == [("exhausted", 2)]
    assert ends(read(HEAD, BUSY, waits, "> ^C again to exit")[0]) == [("aborted", 1)]


@pytest.mark.parametrize(
    ("model", "provider"),
    [("gemini/g-3", "google"), ("ollama_chat/q:20b", "ollama"), ("openai/of-somebody", None), ("sonnet", None)],
)
def test_a_model_of_aider_is_named_with_who_serves_it(read: Read, model: str, provider: str | None) -> None:
    """As LiteLLM has it; what speaks as OpenAI does may be anybody's."""
    (error, *_) = of(read(HEAD, f"> Main model: {model} with diff edit format", BUSY)[0], "error.classified")
    assert (error.payload["model"], error.payload.get("provider")) == (model, provider)


def test_times_of_aider_are_this_machines(read: Read, kathmandu: None) -> None:
    """Its heads name no zone."""
    (error,) = of(read(HEAD, BUSY)[0], "error.classified")
    assert error.occurred_at.isoformat() == "2026-03-05T04:15:00"


def test_quoted_prose_of_aider_is_no_error(read: Read) -> None:
    """Only a line that begins with the class is one; an overflow has a sentence of its own."""
    prose = ["> the log said litellm.APIError: x", "litellm.APIError: x", "> Retrying in 1.0 seconds..."]
    assert of(read(HEAD, *prose)[0], "error.classified") == []
    assert len(of(read(HEAD, "> Model gpt-x has hit a token limit!")[0], "error.classified")) == 1


def test_each_head_of_aider_is_a_session(read: Read) -> None:
    """Reading on in the middle of one gives the same events."""
    lines = [HEAD, BUSY, "> Retrying in 0.2 seconds...", "# aider chat started at 2026-03-05 11:00:00", BUSY]
    events = read(*lines)[0]
    assert len({event.session_id for event in of(events, "session.observed")}) == 2
    pieces = read(*lines, split=1)[0]
    assert [event for event in events if event.type != "session.observed"] == [
        event for event in pieces if event.type != "session.observed"
    ]


# pi

SESSION = {"type": "session", "id": "p-1", "timestamp": "2026-03-05T10:00:00Z", "cwd": "/home/ada/engine"}


def entry(number: int, role: str, stopped: str = "stop", **keys: Any) -> dict[str, Any]:
    """A message of a session."""
    message = {"role": role, "stopReason": stopped, "provider": "p", "model": "m", **keys}
    return {"type": "message", "id": f"e{number}", "timestamp": f"2026-03-05T10:00:{number:02}Z", "message": message}


def failed(number: int, said: str = "529 overloaded") -> dict[str, Any]:
    """A reply that failed."""
    return entry(number, "assistant", "error", errorMessage=said)


def test_a_failed_reply_of_pi_with_a_reply_behind_it_was_tried_again(read: Read) -> None:
    """Another failure, then an answer; a message of the user is no retry."""
    events, _ = read(SESSION, failed(1), failed(2), entry(3, "assistant"))
    assert [event.payload["attempt"] for event in of(events, "error.classified")] == [1, 2]
    assert of(events, "error.classified")[0].payload["facts"]["status"] == 529
    assert len(of(events, "retry.scheduled")) == 2
    assert ends(events) == [("recovered", 3)]
    assert ends(read(SESSION, failed(1), failed(2), entry(3, "user"))[0]) == [("exhausted", 2)]
    assert ends(read(SESSION, failed(1), entry(2, "user"), failed(3))[0]) == []
    assert ends(read(SESSION, failed(1), failed(2), entry(3, "assistant", "aborted"))[0]) == [("aborted", 2)]


def test_a_compaction_of_pi_is_measured_by_the_next_reply(read: Read) -> None:
    """An overflow is mended by it, and was not tried again."""
    compaction = {"type": "compaction", "id": "c", "timestamp": "2026-03-05T10:00:05Z", "tokensBefore": 190_000}
    usage = {"input": 10, "cacheRead": 8_000, "cacheWrite": 90}
    events, _ = read(SESSION, failed(1, "prompt is too long"), compaction, entry(6, "assistant", usage=usage))
    assert of(events, "relay.triggered")[0].payload["pre_tokens"] == 190_000
    assert of(events, "relay.resumed")[0].payload["post_tokens"] == 8_100
    assert of(events, "retry.scheduled") == []


def test_each_reply_of_pi_tells_its_tokens_and_cost(read: Read) -> None:
    """A failed one, too; one that counts none tells nothing."""
    usage = {"input": 3, "output": 40, "cacheRead": 900, "cacheWrite": 70, "cost": {"input": 0.1, "total": 0.25}}
    failure = entry(2, "assistant", "error", errorMessage="529 overloaded", usage={"input": 8, "output": 0})
    events, _ = read(SESSION, entry(1, "assistant", usage=usage), failure, entry(3, "assistant", usage={"input": 0}))
    told = [event.payload for event in of(events, "usage.recorded")]
    assert [(each["input_tokens"], each["output_tokens"], each.get("cost_usd")) for each in told] == [
        (3, 40, 0.25),
        (8, 0, None),
    ]
    assert (told[0]["cache_read_tokens"], told[0]["cache_write_tokens"], told[0]["model"]) == (900, 70, "m")
    assert len(of(events, "error.classified")) == 1


def test_failed_tools_of_pi_are_no_errors(read: Read) -> None:
    """The model reads them."""
    assert of(read(SESSION, entry(1, "toolResult", isError=True, content="500"))[0], "error.classified") == []


# Copilot CLI


def copilot(number: int, kind: str, **data: Any) -> dict[str, Any]:
    """A record of a session."""
    return {
        "type": kind,
        "data": data,
        "id": f"e{number}",
        "timestamp": f"2026-03-05T10:00:{number:02}Z",
        "parentId": None,
    }


START = copilot(
    0, "session.start", sessionId="c-1", copilotVersion="1.0.77", selectedModel="m", context={"cwd": "/x/y"}
)


def test_errors_of_copilot_keep_their_status(read: Read) -> None:
    """A quota that is used up takes the agent out."""
    events, _ = read(
        START,
        copilot(1, "session.error", errorType="query", message="Bad request", statusCode=400),
        copilot(2, "session.error", errorType="quota", message="402 You have no quota", statusCode=402),
        copilot(3, "tool.execution_complete", success=False, error={"message": "500", "code": "failure"}),
        copilot(4, "abort", reason="user_initiated"),
        copilot(5, "assistant.message", content="x"),
    )
    assert [event.payload["facts"]["status"] for event in of(events, "error.classified")] == [400, 402]
    assert len(of(events, "agent.exhausted")) == 1
    (seen,) = of(events, "session.observed")
    assert (seen.session_id, seen.payload["requests"], seen.payload["aborted"]) == ("c-1", 1, 1)


@pytest.mark.parametrize(("success", "last"), [(True, "relay.resumed"), (False, "relay.halted")])
def test_compactions_of_copilot_are_relays(read: Read, success: bool, last: str) -> None:
    """The tokens after are often missing; a truncation is one as well."""
    done = copilot(2, "session.compaction_complete", success=success, preCompactionTokens=90_000)
    cut = copilot(3, "session.truncation", preTruncationTokensInMessages=9, postTruncationTokensInMessages=4)
    found = [event.type for event in read(START, done, cut)[0] if event.type.startswith("relay.")]
    assert found == ["relay.triggered", last, "relay.triggered", "relay.resumed"]


# OpenHands


def hands(number: int, **keys: Any) -> dict[str, Any]:
    """An event, whose time names no zone."""
    return {"id": number, "timestamp": f"2026-03-05T10:00:{number:02}.500000", "source": "agent", "message": "", **keys}


def test_errors_of_openhands_are_those_that_end_a_conversation(read: Read) -> None:
    """Newer events have a kind, older ones a state; an error that the agent reads is none."""
    events, _ = read(
        hands(1, kind="ConversationErrorEvent", code="LLMRateLimitError", detail="status: 429 slow down"),
        hands(2, kind="AgentErrorEvent", error="tool failed"),
        hands(3, observation="agent_state_changed", extras={"agent_state": "error", "reason": "Error code: 500"}),
        hands(4, observation="agent_state_changed", extras={"agent_state": "running", "reason": ""}),
    )
    assert [event.payload["facts"]["status"] for event in of(events, "error.classified")] == [429, 500]


def test_calls_of_openhands_are_those_that_the_agent_asked_for() -> None:
    """Newer actions name the tool, older ones in what is known of the call, which the answer repeats."""
    older = {"tool_call_metadata": {"function_name": "execute_bash"}}
    told = [
        hands(1, action="run", **older),
        hands(2, observation="run", **older),
        hands(3, kind="ActionEvent", tool_name="terminal"),
        hands(4, kind="AgentErrorEvent", tool_name="terminal", error="no such file"),
        hands(5, action="message"),
    ]
    reader = OpenHandsReader(Source("conversations/c/events/1.json", FILE_TIME), {})
    list(reader.read(block_of(b"".join(json.dumps(each).encode() + b"\n" for each in told))))
    assert list(reader.finish())[-1].payload["tools"] == {"execute_bash": 1, "terminal": 1}


@pytest.mark.parametrize("told", [{"kind": "Condensation", "summary": "x"}, {"action": "condensation"}])
def test_condensations_of_openhands_are_relays(read: Read, told: dict[str, Any]) -> None:
    """Their tokens are not told."""
    (begun,) = of(read(hands(1, **told))[0], "relay.triggered")
    assert "pre_tokens" not in begun.payload


def test_times_of_openhands_are_this_machines(read: Read, kathmandu: None) -> None:
    """Neither are they UTC."""
    (begun,) = of(read(hands(1, kind="Condensation"))[0], "relay.triggered")
    assert begun.occurred_at.isoformat() == "2026-03-05T04:15:01.500000"
