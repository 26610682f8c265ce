"""Claude Code's transcripts and print-mode runs, record by record, with made-up values."""

from __future__ import annotations

import itertools
import json
import random
import string
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.recovery.process.step_error import Observer, step_error
from analyzer.redaction import redact_value
from analyzer.store import open_store
from tests import named
from tests.importers.conftest import Read, of

_numbers = itertools.count(1)


def record(kind: str, **keys: Any) -> dict[str, Any]:
    """A transcript record with the keys that all of them have."""
    number = next(_numbers)
    return {
        "parentUuid": f"u-{number - 1}",
        "isSidechain": False,
        "sessionId": "sess-1",
        "version": "2.1.30",
        "type": kind,
        "uuid": f"u-{number}",
        "timestamp": f"2026-11-03T10:00:{number % 60:02}.000Z",
        **keys,
    }


def retry(attempt: int, error: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """A failed attempt that will be retried."""
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    shown = {"status": 529, "headers": {"request-id": "req_x", "cf-ray": "r"}, "error": overloaded}
    keys = {"retryInMs": 1_500.0, "retryAttempt": attempt, "maxRetries": 10, **keys}
    return record("system", subtype="api_error", level="error", error=shown if error is None else error, **keys)


def reply(tokens: int = 1_000, message: str = "msg_01", **keys: Any) -> dict[str, Any]:
    """A model's reply."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "output_tokens": 5}
    content = [{"type": "text", "text": 'Done. The log said API Error: 500 and "isApiErrorMessage":true.'}]
    return record("assistant", message={"id": message, "model": "claude-x", "usage": usage, "content": content}, **keys)


def gave_up(said: str, label: str = "unknown", **keys: Any) -> dict[str, Any]:
    """The synthetic record that shows the user a terminal error."""
    message = {"id": "0b", "model": "<synthetic>", "content": [{"type": "text", "text": said}]}
    return record("assistant", message=message, error=label, isApiErrorMessage=True, **keys)


def interrupted() -> dict[str, Any]:
    """The user's Escape key."""
    return record("user", message={"content": [{"type": "text", "text": "[Request interrupted by user]"}]})


@pytest.mark.parametrize(
    ("end", "outcome", "attempts"),
    named(
        {
            "a reply": (reply, "recovered", 4),
            "a terminal error": (lambda: gave_up('API Error: 529 {"type":"error"}'), "exhausted", 4),
            "an interruption": (interrupted, "aborted", 3),
        }
    ),
)
def test_a_retry_run_is_settled_by_the_record_that_ends_it(
    read: Read, end: Callable[[], dict[str, Any]], outcome: str, attempts: int
) -> None:
    """Recovered, exhausted or aborted, told by what follows in the file; waits add up."""
    events, _ = read(retry(1), retry(2), record("progress", data={}), retry(3), end(), reply())
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["outcome"], settled.payload["attempts"]) == (outcome, attempts)
    assert settled.payload["waited_seconds"] == 4.5
    assert len(of(events, "retry.scheduled")) == 3
    operations = {event.payload.get("operation") for event in of(events, "error.classified")}
    assert operations == {settled.payload["operation"]}


@pytest.mark.parametrize(
    ("form", "provider"),
    [("01Ab", "anthropic"), ("bdrk_01Ab", "aws"), ("vrtx_01Ab", "google"), ("20260803-x", None)],
)
def test_ids_of_replies_and_requests_say_who_serves(read: Read, form: str, provider: str | None) -> None:
    """Of an error: the request that it names, or the reply before it; others who speak the protocol have no name."""
    said = json.dumps({"type": "error", "request_id": f"req_{form}"})
    answered, failed = reply(message=f"msg_{form}"), gave_up("API Error: 529 Overloaded")
    named = [
        gave_up(f"API Error: 529 {said}"),
        gave_up("API Error: 529", requestId=f"req_{form}"),
        retry(1, {"status": 529, "headers": {"request-id": f"req_{form}"}}),
    ]
    for records in ([answered, failed], *([each] for each in named)):
        assert {each.payload.get("provider") for each in of(read(*records)[0], "error.classified")} == {provider}
    assert {each.payload.get("provider") for each in of(read(reply(), answered)[0], "usage.recorded")} >= {provider}


def test_an_abort_ends_a_run_as_aborted(read: Read) -> None:
    """A person's abort that comes as an error record is no exhaustion."""
    events, _ = read(retry(1), gave_up("API Error: Request was aborted."))
    assert of(events, "retry.settled")[0].payload["outcome"] == "aborted"


def test_an_exhausted_transient_run_ends_as_permanent_and_its_errors_keep_their_reason(read: Read) -> None:
    """The chain's reason changes, the errors' does not."""
    events, _ = read(retry(1), gave_up("API Error: 529 Overloaded"))
    assert {event.payload["reason"] for event in of(events, "error.classified")} == {"network_transient"}
    assert of(events, "retry.settled")[0].payload["reason"] == "network_permanent"


def test_a_run_without_an_end_stays_open(read: Read) -> None:
    """Nothing is settled that the file does not settle."""
    events, _ = read(retry(1), retry(2))
    assert of(events, "retry.settled") == []


def test_an_attempt_that_falls_back_begins_another_run(read: Read) -> None:
    """Two runs in a row are two operations, though nothing stands between them."""
    events, _ = read(retry(1), retry(2), retry(1), reply())
    operations = [event.payload["operation"] for event in of(events, "retry.scheduled")]
    assert operations[0] == operations[1] != operations[2]


def test_a_run_is_continued_by_a_later_read(read: Read) -> None:
    """Reading line by line, with the state put away in between, gives the same events as reading at once."""
    records = [retry(1), retry(2), record("system", subtype="turn_duration"), reply(), retry(1), interrupted()]
    at_once, _ = read(*records)
    in_pieces, _ = read(*records, split=1)
    plain = [event for event in at_once if event.type != "session.observed"]
    assert plain == [event for event in in_pieces if event.type != "session.observed"]


def test_a_subagents_reply_does_not_settle_the_main_run(read: Read) -> None:
    """Conversations inside one file are kept apart."""
    events, _ = read(retry(1), reply(isSidechain=True, agentId="a1"), reply())
    (settled,) = of(events, "retry.settled")
    assert settled.id != ""
    assert settled.occurred_at == max(event.occurred_at for event in events if event.type == "retry.settled")
    assert {event.payload["caller"] for event in of(events, "error.classified")} == {"claude-code"}


def test_a_terminal_error_without_a_run_was_surfaced(read: Read) -> None:
    """It belongs to no retry chain, and its outcome is known all the same."""
    events, _ = read(
        gave_up('API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal"}}'), reply()
    )
    (error,) = of(events, "error.classified")
    assert (error.payload["outcome"], error.payload["reason"]) == ("surfaced", "network_transient")
    assert "operation" not in error.payload
    assert of(events, "retry.settled") == []


def test_a_usage_limit_exhausts_the_agent_until_its_reset(read: Read) -> None:
    """The reset time of the record's own quota wins over the text."""
    limit = {"status": "rejected", "resetsAt": 1_789_846_800, "rateLimitType": "five_hour"}
    said = "You've hit your session limit · resets 2:40pm (America/Chicago)"
    events, _ = read(gave_up(said, "rate_limit", apiErrorStatus=429, quotaLimits=limit))
    (error,), (exhausted,) = of(events, "error.classified"), of(events, "agent.exhausted")
    assert (error.payload["reason"], error.payload["detail"]) == ("rate_limited", "usage_limit")
    assert exhausted.payload["reset_at"] == "2026-09-19T19:40:00.000Z"


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    named(
        {
            "nothing at all": ({}, "unknown", "no_detail"),
            "empty body": ({"status": 500, "headers": {}, "requestID": None}, "network_transient", None),
            "a cause": ({"cause": {"code": "ConnectionRefused", "path": "x"}}, "network_transient", "connection"),
            "a connection": (
                {"message": "Connection error.", "connection": {"code": "ECONNRESET", "message": ""}},
                "network_transient",
                "connection",
            ),
            "a body three deep": (
                {"status": 401, "error": {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}},
                "auth_error",
                None,
            ),
        }
    ),
)
def test_every_shape_of_a_retry_record_is_read(
    read: Read, error: dict[str, Any], reason: str, detail: str | None
) -> None:
    """Status, code, type and text moved over the versions; all places are looked at."""
    events, _ = read(retry(1, error))
    payload = of(events, "error.classified")[0].payload
    assert payload["reason"] == reason
    if detail is not None:
        assert payload["detail"] == detail


def test_prose_about_errors_gives_no_event(read: Read) -> None:
    """Quoted errors, flags in quotes, refused tools and failed commands are no errors of this product."""
    refused = {
        "type": "tool_result",
        "is_error": True,
        "content": "The user doesn't want to proceed with this tool use.",
    }
    failed = {"type": "tool_result", "is_error": True, "content": "Exit code 1\nAPI Error: 529 Overloaded"}
    events, rejects = read(
        record("user", message={"content": 'we saw "subtype":"api_error" and No such tool available: X today'}),
        record("user", message={"content": [refused, failed]}),
        record("assistant", message={"model": "<synthetic>", "content": []}, isApiErrorMessage=False),
        reply(),
    )
    assert {event.type for event in events} == {"tool.failed", "usage.recorded", "session.observed"}
    assert [event.payload["kind"] for event in of(events, "tool.failed")] == ["refused", "exit_code"]
    assert rejects == []


def test_a_missing_tool_is_an_error(read: Read) -> None:
    """The one failed tool result that counts."""
    said = "<tool_use_error>Error: No such tool available: mcp__figma__get</tool_use_error>"
    content = [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": said}]
    events, _ = read(record("user", message={"content": content}))
    assert of(events, "error.classified")[0].payload["reason"] == "tool_not_found"


def test_a_compaction_is_a_relay_with_the_context_after_it_estimated(read: Read) -> None:
    """Tokens before come from the record, tokens after from the next reply that is no subagent's."""
    boundary = record("system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 160_000})
    events, _ = read(boundary, reply(9_000, isSidechain=True), reply(41_000), reply(50_000))
    triggered, resumed = of(events, "relay.triggered"), of(events, "relay.resumed")
    assert [event.payload["pre_tokens"] for event in triggered] == [160_000]
    assert [event.payload["post_tokens"] for event in resumed] == [41_000]
    assert resumed[0].payload["post_tokens_estimated"] is True
    assert resumed[0].payload["relay"] == triggered[0].payload["relay"]


def test_a_newer_compaction_says_both_counts_itself(read: Read) -> None:
    """Nothing is estimated that the record says."""
    meta = {"trigger": "manual", "preTokens": 467_031, "postTokens": 10_954, "durationMs": 61_000}
    events, _ = read(record("system", subtype="compact_boundary", compactMetadata=meta), reply(99_000))
    assert of(events, "relay.resumed")[0].payload["post_tokens"] == 10_954
    assert of(events, "relay.triggered")[0].payload["duration_seconds"] == 61.0


def test_a_microcompaction_is_a_context_recovery(read: Read) -> None:
    """It makes room without a fresh context."""
    meta = {"trigger": "auto", "preTokens": 65_000, "tokensSaved": 40_000}
    events, _ = read(record("system", subtype="microcompact_boundary", microcompactMetadata=meta))
    (recovered,) = of(events, "context.recovered")
    assert (recovered.payload["strategy"], recovered.payload["post_tokens"]) == ("microcompact", 25_000)
    assert of(events, "relay.triggered") == []


def test_a_record_repeated_in_a_resumed_session_has_the_same_id(read: Read) -> None:
    """The session id is rewritten in the copy; the uuid is not."""
    original = retry(1)
    first, _ = read(original, reply())
    second, _ = read({**original, "sessionId": "sess-2"}, reply())
    assert of(first, "error.classified")[0].id == of(second, "error.classified")[0].id


def test_two_records_on_one_line_are_both_read(read: Read) -> None:
    """A missing newline between two objects loses neither, and counts neither twice."""
    events, rejects = read(retry(1), json.dumps(retry(2)) + json.dumps(retry(3)) + json.dumps(reply()))
    assert len(of(events, "retry.scheduled")) == 3
    assert rejects == []


def test_an_intact_record_behind_a_torn_one_is_salvaged(read: Read) -> None:
    """The torn part goes to quarantine, the record behind it counts."""
    events, rejects = read(reply(), json.dumps(reply())[:80] + json.dumps(retry(1)))
    assert len(of(events, "retry.scheduled")) == 1
    assert [hit.why for hit in rejects] == ["torn"]


def test_a_torn_line_without_anything_of_interest_is_still_noticed(read: Read) -> None:
    """Lines are selected by bytes, but damage is not overlooked."""
    _, rejects = read(reply(), '{"parentUuid":"u","type":"user"', "garbage", reply())
    assert [hit.why for hit in rejects] == ["torn", "not_json"]


def test_a_session_is_observed_with_its_requests(read: Read) -> None:
    """A reply split over lines that repeat its message id is one request."""
    events, _ = read(reply(message="msg_a"), reply(message="msg_a"), reply(message="msg_b"), reply(message="msg_a"))
    (observed,) = of(events, "session.observed")
    assert (observed.session_id, observed.payload["requests"]) == ("sess-1", 2)
    assert observed.payload["retry_visibility"] == "full"


def test_a_print_mode_run_fails_under_a_subtype_that_says_success(read: Read) -> None:
    """`is_error` decides; the command's warnings in front of the first record are skipped; the file lends its time."""
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        "session_id": "p-1",
        "usage": {"input_tokens": 4, "output_tokens": 160},
    }
    events, rejects = read("Warning: no stdin data received in 3s", result)
    (error,) = of(events, "error.classified")
    assert (error.payload["caller"], error.payload["reason"], error.payload["detail"]) == (
        "claude -p",
        "network_transient",
        "overloaded",
    )
    assert (error.payload["failure_reason"], error.payload["output_tokens"]) == ("general_error", 160)
    assert (error.time_source, error.occurred_at) == ("file", datetime(2026, 11, 1, 12))
    assert rejects == []


@pytest.mark.parametrize(
    ("result", "reason", "failure"),
    named(
        {
            "out of turns": ({"subtype": "error_max_turns"}, "validation", "general_error"),
            "a full context": (
                {"subtype": "success", "is_error": True, "result": "Prompt is too long"},
                "context_overflow",
                "context_exhaustion",
            ),
            "a timeout among the errors": (
                {"subtype": "error_during_execution", "errors": ["request timed out"]},
                "network_transient",
                "timeout",
            ),
            "no subtype": ({"is_error": True, "result": "Overloaded"}, "network_transient", "unknown"),
        }
    ),
)
def test_subtypes_of_results_name_the_steps_failure(
    read: Read, result: dict[str, Any], reason: str, failure: str
) -> None:
    """Timeout, exhausted context, general error; unknown where the subtype is missing."""
    start = {"type": "system", "subtype": "init", "session_id": "p-1", "model": "m"}
    events, _ = read(start, {"type": "result", "session_id": "p-1", **result})
    payload = of(events, "error.classified")[0].payload
    assert (payload["reason"], payload["failure_reason"]) == (reason, failure)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"num_turns": 12}, "after 12 turns, before"),
        ({}, "its turn limit before"),
        ({"num_turns": "x"}, "its turn limit before"),
    ],
)
def test_a_turn_limit_is_told_with_its_turns(read: Read, keys: dict[str, Any], said: str) -> None:
    """As of a run that was watched: where the record counts them, how the limit is raised follows from them."""
    record = {"type": "result", "session_id": "p-1", "subtype": "error_max_turns", "is_error": True, **keys}
    events, _ = read({"type": "system", "subtype": "init", "session_id": "p-1", "model": "m"}, record)
    (error,) = of(events, "error.classified")
    watched = Observer()
    watched.stdout(json.dumps(record).encode() + b"\n")
    live = step_error(watched.observed(), 1)
    assert live is not None
    assert said in error.payload["remediation"]
    assert error.payload["remediation"] == live.remediation


def test_a_streams_retries_are_settled_by_its_result(read: Read) -> None:
    """`api_retry` records and a good result make a run that recovered."""
    start = {"type": "system", "subtype": "init", "session_id": "p-1"}
    again = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 600}
    good = {"type": "result", "subtype": "success", "is_error": False, "session_id": "p-1", "result": "ok"}
    events, _ = read(start, {**again, "error_status": 529, "error": "overloaded"}, good)
    assert of(events, "retry.settled")[0].payload["outcome"] == "recovered"
    assert of(events, "error.classified")[0].payload["detail"] == "overloaded"


def test_a_hooks_stop_failure_is_a_terminal_error(read: Read) -> None:
    """The payload of the StopFailure hook, as it is."""
    hook = {"hook_event_name": "StopFailure", "session_id": "p-1", "error": "authentication_failed"}
    events, _ = read({**hook, "last_assistant_message": "Not logged in · Please run /login"})
    assert of(events, "error.classified")[0].payload["reason"] == "auth_error"
    events, _ = read({**hook, "error": "server_error", "error_details": "529 overloaded"})
    assert of(events, "error.classified")[0].payload["facts"]["message"] == "529 overloaded"


def test_a_limit_that_is_told_in_two_parts_is_one_text(read: Read) -> None:
    """The limit in one part of the message, and when it resets in the next one."""
    parts = ["You've hit your session limit", "· resets 11:50pm (America/Los_Angeles)"]
    message = {"model": "<synthetic>", "content": [{"type": "text", "text": part} for part in parts]}
    limited = {"type": "assistant", "uuid": "u9", "sessionId": "s", "timestamp": "2026-03-05T10:00:00Z"}
    events, _ = read({**limited, "isApiErrorMessage": True, "error": "rate_limit", "message": message})
    (told,) = of(events, "agent.exhausted")
    assert told.payload["reset_at"] == "2026-03-06T07:50:00Z"


def spent(message: str, tokens: int, hour: int = 0) -> dict[str, Any]:
    """The message of a reply with so many output tokens."""
    cache = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": hour}
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 40,
        "cache_read_input_tokens": 500,
        "cache_creation": cache,
        "output_tokens": tokens,
    }
    quoted = {"type": "text", "text": 'It said "usage":{"output_tokens":9}.'}
    said = {"type": "tool_use", "id": "toolu_1", "name": "Task", "input": {"usage": {"output_tokens": 7}}}
    return {"model": "claude-x", "id": message, "role": "assistant", "content": [quoted, said], "usage": usage}


def test_every_reply_tells_its_tokens_once_with_the_most_that_its_lines_say(read: Read) -> None:
    """Lines repeat a reply, and its tokens so far; prose, tools' input and what the program made up itself are none."""
    nested = {"message": {"type": "assistant", "message": spent("msg_03", 8)}, "type": "agent_progress"}
    empty = {"input_tokens": 0, "output_tokens": 0}
    events, rejects = read(
        record("assistant", message=spent("msg_01", 1)),
        record("assistant", message=spent("msg_01", 90, hour=40)),
        record("user", message={"role": "user", "content": []}, toolUseResult={"usage": {"output_tokens": 6}}),
        record("assistant", message=spent("other-2", 20), isSidechain=True),
        record("progress", data=nested),
        record("assistant", message={"id": "0a", "model": "<synthetic>", "usage": empty, "content": []}),
    )
    told = of(events, "usage.recorded")
    assert rejects == []
    kept = {"input_tokens": 3, "cache_read_tokens": 500, "cache_write_tokens": 40, "model": "claude-x"}
    assert [{key: each.payload.get(key) for key in kept} for each in told] == [kept] * 4
    main, part = "claude-code", "claude-code/subagent"
    assert [(each.payload["caller"], each.payload["request"], each.payload["output_tokens"]) for each in told] == [
        (main, "msg_01", 1),
        (main, "msg_01", 90),
        (part, "other-2", 20),
        (part, "msg_03", 8),
    ]
    assert [each.payload.get("cache_write_hour_tokens") for each in told] == [0, 40, 0, 0]
    counted = of(events, "session.observed")[-1].payload
    # What a progress record repeats is counted with the sub-agent's own file.
    assert (counted["requests"], counted["tools"]) == (1, {"Task": 3})
    assert all(each.occurred_at.isoformat().startswith("2026-11-03T10:00:") for each in told)


def test_the_lines_of_a_reply_give_the_same_events_in_pieces(read: Read) -> None:
    """A line that repeats the tokens of the line before it gives none, also where another ingest reads it."""
    records = [record("assistant", message=spent("msg_01", tokens)) for tokens in (1, 90, 90, 90)]
    records.append(record("assistant", message=spent("msg_02", 4)))
    whole, pieces = read(*records)[0], read(*records, split=3)[0]
    assert [each.payload["output_tokens"] for each in of(whole, "usage.recorded")] == [1, 90, 4]
    assert of(pieces, "usage.recorded") == of(whole, "usage.recorded")


@pytest.mark.parametrize("form", ["msg_01", "msg_bdrk_01", "msg_vrtx_01"])
def test_redaction_leaves_ids_of_replies_as_they_are(form: str) -> None:
    """A random id of a reply is never taken for a secret."""
    dice = random.Random(7)
    for _ in range(200):
        name = form + "".join(dice.choices(string.ascii_letters + string.digits, k=22))
        assert redact_value({"request": name}) == {"request": name}


def test_a_result_tells_what_its_run_took_by_model(read: Read) -> None:
    """Replies of a stream tell the tokens that they began with, so that its result alone counts."""
    used = {"inputTokens": 4, "outputTokens": 160, "cacheReadInputTokens": 9, "cacheCreationInputTokens": 0}
    events, _ = read(
        {"type": "system", "subtype": "init", "session_id": "s", "uuid": "t", "model": "claude-x"},
        {"type": "assistant", "session_id": "s", "uuid": "u", "message": spent("msg_01", 1)},
        {"type": "result", "session_id": "s", "modelUsage": {"claude-x": {**used, "costUSD": 0.25}, "claude-y": {}}},
    )
    (told,) = (event.payload for event in of(events, "usage.recorded"))
    assert (told["model"], told["whole_run"], told["output_tokens"], told["cost_usd"]) == ("claude-x", True, 160, 0.25)


def _print_run(*records: dict[str, object]) -> bytes:
    """What `claude -p --output-format stream-json` printed, with its session and an end that says success."""
    init = {"type": "system", "subtype": "init", "session_id": "s-1", "claude_code_version": "2.1.0"}
    end = {"type": "result", "subtype": "success", "is_error": False, "result": "", "session_id": "s-1"}
    return b"".join(json.dumps(each).encode() + b"\n" for each in (init, *records, end))


def _reply(number: int, *content: dict[str, object]) -> dict[str, object]:
    message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-x", "content": list(content)}
    return {"type": "assistant", "message": message, "session_id": "s-1"}


def _task(number: int, *, failed: bool) -> tuple[dict[str, object], ...]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Task", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "no", "is_error": failed}
    answer = {"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "s-1"}
    return _reply(number, call), answer


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ((), "no_answer"),
        ((_reply(1, {"type": "text", "text": "done"}),), None),
        ((*_task(1, failed=True), *_task(2, failed=True)), "dead_subagents"),
        ((*_task(1, failed=True), *_task(2, failed=False)), None),
    ],
)
def test_a_run_that_says_success_and_did_nothing_is_hollow(
    records: tuple[dict[str, object], ...], why: str | None, tmp_path: Path
) -> None:
    """Without an answer and a call, or where no sub-agent came back alive; the view `endings` has it."""
    (tmp_path / "run.jsonl").write_bytes(_print_run(*records))
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path)])
        ends = store.sql("select ending, detail from endings").rows()
    assert ends == ([] if why is None else [("hollow", why)])


@pytest.mark.parametrize(
    ("command", "printed", "seconds"),
    [
        ("make test", "Exit code 2", [90.5, None]),
        ("make test", "Exit code 1", [90.5, None]),
        ("cd src && grep -rn needle .", "Exit code 1", [None]),
    ],
)
def test_a_failed_command_has_its_head_and_the_seconds_since_its_call(
    read: Read, command: str, printed: str, seconds: list[float | None]
) -> None:
    """A result without its call in the log has neither, and an exit status that is an answer is no failure."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"description": "Look", "command": command}}
    results = [
        {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": printed, "is_error": True}
        for number in (1, 2)
    ]
    events, _ = read(
        {**record("assistant", message={"content": [call]}), "timestamp": "2026-02-03T10:00:00.000Z"},
        *(
            {**record("user", message={"content": [result]}), "timestamp": "2026-02-03T10:01:30.500Z"}
            for result in results
        ),
    )
    failed = [event.payload for event in of(events, "tool.failed")]
    assert [payload.get("duration_seconds") for payload in failed] == seconds
    assert [payload.get("command") for payload in failed] == [second and command for second in seconds]
    assert of(events, "session.observed")[0].payload["tools"] == {"Bash": 1}


def test_fields_of_unusual_types_cost_only_themselves(read: Read) -> None:
    """A line with them is no broken one: its tokens, its errors and the lines beside it count."""
    usage = {"input_tokens": 3, "output_tokens": 5}
    strange = [{"type": "tool_use", "id": "t", "name": "Bash", "input": "ls"}, 5]
    events, rejects = read(
        reply(message="msg_1"),
        record("user", message="go on", toolUseResult=[1]),
        record("assistant", message={"id": "msg_2", "model": "m", "usage": usage, "content": strange}),
        retry(1, message="later", version=5, cwd=["x"]),
        record("progress", data={"message": "half done"}),
        reply(message="msg_3"),
    )
    assert rejects == []
    assert [event.payload["request"] for event in of(events, "usage.recorded")] == ["msg_1", "msg_2", "msg_3"]
    assert len(of(events, "retry.scheduled")) == len(of(events, "retry.settled")) == 1
    assert of(events, "session.observed")[0].payload["requests"] == 3


def test_a_session_ends_with_its_own_last_record(read: Read) -> None:
    """A time inside the record, as of what a sub-agent did, is none of the session's."""
    nested = {"message": {"type": "assistant", "timestamp": "2026-11-03T09:00:00.000Z", "message": spent("msg_03", 8)}}
    last = record("progress", data=nested)
    (observed,) = of(read(reply(), last)[0], "session.observed")
    assert observed.payload["ended_at"] == last["timestamp"]


def test_a_failed_tool_is_named_by_a_call_on_the_same_line(read: Read) -> None:
    """Records on one line count in their order."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}
    glued = [record("assistant", message={"content": [call]}), record("user", message={"content": [result]})]
    events, _ = read(reply(), "".join(map(json.dumps, glued)))
    assert [event.payload["tool"] for event in of(events, "tool.failed")] == ["Write"]


def _asked(second: int, **usage: Any) -> dict[str, Any]:
    tokens = {"input_tokens": 3, "output_tokens": 50, **usage}
    message = {
        "id": f"msg_01A{second}",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": [],
        "usage": tokens,
    }
    return {
        "type": "assistant",
        "uuid": f"u{second}",
        "sessionId": "s",
        "timestamp": f"2026-03-05T10:00:{second:02}.000Z",
        "message": message,
    }


def test_usage_has_the_tier_the_searches_the_longest_prompt_and_an_advisors_tokens(read: Read) -> None:
    """Iterations of one reply are no long prompt; an advisor's are in no sum and have a model of their own."""
    parts = [
        {"type": "message", "input_tokens": 2, "cache_read_input_tokens": 109_000},
        {"type": "advisor_message", "model": "claude-fable-5", "input_tokens": 700, "output_tokens": 40},
        {"type": "message", "input_tokens": 2, "cache_read_input_tokens": 111_000},
    ]
    events, _ = read(
        _asked(1, speed="fast", service_tier="standard", inference_geo="us"),
        _asked(2, service_tier="batch", server_tool_use={"web_search_requests": 3}),
        _asked(3, cache_read_input_tokens=220_000, iterations=parts),
        _asked(4, service_tier="standard", speed="standard", inference_geo="global"),
    )
    names = ("model", "tier", "region", "web_searches", "longest_prompt", "output_tokens")
    assert [tuple(event.payload.get(name) for name in names) for event in of(events, "usage.recorded")] == [
        ("claude-opus-4-6", "fast", "us", None, None, 50),
        ("claude-opus-4-6", "batch", None, 3, None, 50),
        ("claude-opus-4-6", None, None, None, 111_002, 50),
        ("claude-fable-5", None, None, None, None, 40),
        ("claude-opus-4-6", None, None, None, None, 50),
    ]


def _system(second: int, subtype: str, **fields: Any) -> dict[str, Any]:
    common = {"uuid": f"u{second}", "sessionId": "s", "timestamp": f"2026-03-05T10:00:{second:02}.000Z"}
    return {"type": "system", "subtype": subtype, **common, **fields}


def test_a_fallback_to_another_model_and_a_refusal_are_failures_of_the_model_that_was_asked(read: Read) -> None:
    """Each counts once: failed attempts come before a fallback, and what is shown of a refusal repeats it."""
    models = {"originalModel": "claude-opus-5-5", "fallbackModel": "claude-sonnet-5-5"}
    refused = _asked(4)
    refused["message"]["stop_reason"] = "refusal"
    shown = {**_asked(5), "isApiErrorMessage": True}
    words = "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy"
    shown["message"] = {"model": "<synthetic>", "content": [{"type": "text", "text": words}]}
    events, _ = read(
        _system(1, "model_fallback", trigger="overloaded", content="Switched to Sonnet", **models),
        _asked(2),
        refused,
        refused,
        shown,
        _system(6, "model_refusal_fallback", content="refused", **models),
        _system(7, "api_error", retryAttempt=1, error={"status": 529}),
        _system(8, "model_fallback", trigger="overloaded", content="Switched to Sonnet", **models),
    )
    failures = [event.payload for event in of(events, "error.classified")]
    assert [(row["reason"], row.get("detail"), row["model"]) for row in failures] == [
        ("network_transient", "overloaded", "claude-opus-5-5"),
        ("validation", "content_policy", "claude-opus-4-6"),
        ("validation", "content_policy", "claude-opus-5-5"),
        ("network_transient", "overloaded", "claude-opus-4-6"),
    ]
    assert failures[0]["fallback_model"] == "claude-sonnet-5-5"


def test_a_refused_limit_names_the_reset_that_the_result_leaves_out(read: Read) -> None:
    """It stands in a record of its own before the result."""
    limit = {"status": "rejected", "resetsAt": 1_772_712_000, "rateLimitType": "five_hour"}
    words = "You've hit your session limit"
    events, _ = read(
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": [], "cwd": "/x"},
        {"type": "rate_limit_event", "rate_limit_info": limit, "session_id": "s", "uuid": "u1"},
        {"type": "result", "subtype": "success", "is_error": True, "result": words, "session_id": "s", "num_turns": 1},
    )
    assert of(events, "agent.exhausted")[0].payload["reset_at"] == "2026-03-05T12:00:00.000Z"
