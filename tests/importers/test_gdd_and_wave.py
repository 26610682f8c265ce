"""GDD's telemetry and Wave's pipeline events."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.classifier import Facts, classify_facts
from tests import each_row
from tests.importers.conftest import Read

RELAY = [
    {
        "timestamp": "2026-11-03T10:00:00Z",
        "step_id": "implement",
        "state": "running",
        "message": "Context relay triggered at 82% utilization",
        "meta": {"token_usage_percent": 82, "strategy": "summarize_to_checkpoint"},
    },
    {
        "timestamp": "2026-11-03T10:00:20Z",
        "step_id": "implement",
        "state": "running",
        "message": "Summarizer checkpoint complete",
        "meta": {"checkpoint_tokens": 1200},
    },
    {
        "timestamp": "2026-11-03T10:00:25Z",
        "step_id": "implement",
        "state": "running",
        "message": "Resumed from relay checkpoint",
        "meta": {"relay_count": 1},
    },
]


def gdd(kind: str, /, **payload: Any) -> dict[str, Any]:
    """A line of GDD's telemetry."""
    return {"type": kind, "timestamp": "2026-11-03T10:00:00.000Z", "sessionId": "g-1", "payload": payload}


def wave(state: str, message: str, **keys: Any) -> dict[str, Any]:
    """A line of Wave's events."""
    base = {"timestamp": "2026-11-03T10:00:00.123456789+01:00", "pipeline_id": "p-9", "step_id": "plan"}
    return {**base, "state": state, "message": message, **keys}


def test_a_recorded_reason_is_taken_as_it_is(read: Read) -> None:
    """The line of the error-recovery document says a reason and no facts: nothing is made up."""
    (event,), _ = read(gdd("error.classified", reason="rate_limited", retryable=True, caller="figma-probe"))
    assert event.payload == {"reason": "rate_limited", "retryable": True, "caller": "figma-probe"}


def test_failures_with_raw_material_are_classified(read: Read) -> None:
    """Both shapes of `error`, and a failed peer call, give facts and a reason of ours."""
    events, _ = read(
        gdd("error", code="ECONNRESET", message="socket closed", kind="operation_failed"),
        gdd("error", level="error", msg="Too many requests", fields={"status": 429}),
        gdd("peer_call_failed", peer_id="figma", error_class="AuthenticationError", message="invalid api key"),
        gdd("hook.fired", hook="x", decision="allow"),
    )
    assert [event.payload["reason"] for event in events] == ["network_transient", "rate_limited", "auth_error"]
    assert events[2].payload["caller"] == "figma"
    assert all(event.payload["facts"] for event in events)


def test_retries_limits_and_compactions_are_translated(read: Read) -> None:
    """Declared types of GDD become ours."""
    events, _ = read(
        gdd("api.retry", provider="anthropic", attempt=2, delay_ms=400, reason="rate_limited"),
        gdd("rate_limit", provider="anthropic", reset_at="2026-11-03T11:00:00Z", remaining=0),
        gdd("compact.boundary", tokens_before=150_000, tokens_after=40_000),
    )
    assert [event.type for event in events] == ["retry.scheduled", "call.short_circuited", "relay.triggered"]
    assert events[0].payload["delay_seconds"] == 0.4
    assert events[2].payload["post_tokens"] == 40_000


def test_the_three_relay_lines_are_one_hand_off(read: Read) -> None:
    """Triggered, checkpointed, resumed share one relay."""
    events, _ = read(*RELAY)
    assert [event.type for event in events] == ["relay.triggered", "relay.checkpointed", "relay.resumed"]
    assert len({event.payload["relay"] for event in events}) == 1
    assert (events[0].payload["token_usage_percent"], events[1].payload["checkpoint_tokens"]) == (82, 1200)
    assert events[2].payload["relay_count"] == 1


def test_the_relay_lines_of_the_document_are_read_to_the_letter(read: Read) -> None:
    """Timestamps of three dots are no obstacle."""
    events, rejects = read(*[{**line, "timestamp": "..."} for line in RELAY])
    assert len(events) == 3
    assert {event.time_source for event in events} == {"file"}
    assert rejects == []


def test_workers_of_a_matrix_relay_apart(read: Read) -> None:
    """Lines of two workers in turn make two hand-offs."""
    pairs = [{**line, "worker_id": worker} for line in RELAY for worker in ("a", "b")]
    events, _ = read(*pairs, split=1)
    by_worker = {
        worker: {event.payload["relay"] for event in events if event.payload["worker_id"] == worker} for worker in "ab"
    }
    assert len(by_worker["a"]) == len(by_worker["b"]) == 1
    assert by_worker["a"] != by_worker["b"]


def test_a_pipelines_compaction_is_a_relay(read: Read) -> None:
    """The count of tokens and the threshold stand in the message."""
    events, _ = read(
        wave("compacting", "Token threshold exceeded (141000 tokens, 70% threshold), triggering compaction"),
        wave("compacted", "Checkpoint written to /x/checkpoint.md (5120 chars)"),
    )
    assert [event.type for event in events] == ["relay.triggered", "relay.checkpointed", "relay.resumed"]
    assert (events[0].payload["pre_tokens"], events[0].payload["threshold_percent"]) == (141_000, 70.0)
    assert "checkpoint_tokens" not in events[1].payload


def test_a_failed_compaction_halts_the_relay(read: Read) -> None:
    """A summarizer that fails ends the hand-off."""
    events, _ = read(
        RELAY[0], {**RELAY[0], "state": "warning", "message": "relay compaction failed: cap reached", "meta": {}}
    )
    assert [event.type for event in events] == ["relay.triggered", "relay.halted"]
    assert events[0].payload["relay"] == events[1].payload["relay"]


def test_a_step_that_is_retried_and_then_fails_was_exhausted(read: Read) -> None:
    """Retries, the adapter's reason, and the end of the chain."""
    events, _ = read(
        wave("retrying", "attempt 2/3"),
        wave("warning", "adapter exited with code 1: rate_limit"),
        wave("retrying", "attempt 3/3"),
        wave("failed", "connection reset by peer", failure_class="transient"),
    )
    kinds = [event.type for event in events]
    assert kinds == ["retry.scheduled", "error.classified", "retry.scheduled", "error.classified", "retry.settled"]
    assert events[1].payload["reason"] == "rate_limited"
    assert (events[4].payload["outcome"], events[4].payload["attempts"]) == ("exhausted", 3)
    assert events[4].payload["reason"] == "network_permanent"


def test_a_step_that_is_retried_and_completes_has_recovered(read: Read) -> None:
    """Completion settles the chain."""
    events, _ = read(wave("retrying", "attempt 2/3"), wave("completed", "done"))
    assert events[-1].payload["outcome"] == "recovered"


def test_the_failure_before_the_first_retry_is_part_of_the_chain(read: Read) -> None:
    """Wave says `retrying` only after the failure that it retries."""
    events, _ = read(
        wave("warning", "adapter exited with code 1: rate_limit"),
        wave("retrying", "attempt 2/3"),
        wave("completed", "done"),
    )
    assert len({event.payload["operation"] for event in events}) == 1
    assert (events[1].payload["reason"], events[2].payload["reason"]) == ("rate_limited", "rate_limited")
    assert (events[2].payload["outcome"], events[2].payload["attempts"]) == ("recovered", 2)


def test_a_step_that_fails_at_once_was_surfaced(read: Read) -> None:
    """No chain, but a known outcome and the step's own word."""
    (event,), _ = read(wave("failed", "prompt is too long", failure_reason="context_exhaustion"))
    assert (event.payload["outcome"], event.payload["failure_reason"]) == ("surfaced", "context_exhaustion")
    assert event.payload["reason"] == "context_overflow"


def test_bad_lines_are_rejected(read: Read) -> None:
    """Neither importer hides what it cannot read."""
    _, rejects = read(*RELAY, "{", {**RELAY[0], "timestamp": "31.12.2026 8 o'clock"})
    assert [hit.why for hit in rejects] == ["torn", "bad_timestamp"]
    _, rejects = read(gdd("error", message="x"), "[]")
    assert [hit.why for hit in rejects] == ["not_an_object"]


def test_retries_of_a_provider_are_a_chain_for_as_long_as_the_attempt_goes_up(read: Read) -> None:
    """Two runs of one session are two operations, across reads too."""
    lines = [
        {**gdd("api.retry", provider="p", attempt=attempt), "timestamp": f"2026-11-03T10:00:0{number}.000Z"}
        for number, attempt in enumerate([1, 2, 1, 2, 3])
    ]
    events, _ = read(*lines, split=1)
    operations = [event.payload["operation"] for event in events]
    assert operations[0] == operations[1] != operations[2] == operations[3] == operations[4]


def test_a_failure_that_a_step_went_on_from_is_no_chain(read: Read) -> None:
    """Without a retry there is nothing that could have recovered."""
    events, _ = read(wave("warning", "adapter exited with code 1: timeout"), wave("completed", "done"))
    assert [event.type for event in events] == ["error.classified"]


@each_row(
    "message, keys, reason, detail",
    [
        ("The step did not finish", {"failure_reason": "context_exhaustion"}, "context_overflow", "prompt_too_long"),
        ("context deadline exceeded", {"failure_reason": "context_exhaustion"}, "context_overflow", "prompt_too_long"),
        ("The step did not finish", {"failure_reason": "timeout"}, "network_transient", "timeout"),
        ("signal: killed", {"failure_reason": "timeout"}, "network_transient", "timeout"),
        ("The step did not finish", {"failure_reason": "rate_limit"}, "rate_limited", None),
        ("", {"failure_reason": "timeout"}, "network_transient", "timeout"),
        ("The step did not finish", {"failure_reason": "general_error"}, "unknown", None),
        ("401 invalid x-api-key", {"failure_reason": "general_error"}, "auth_error", None),
        ("prompt is too long", {"failure_reason": "timeout"}, "context_overflow", "prompt_too_long"),
        ("", {"failure_reason": "general_error"}, "unknown", "no_detail"),
    ],
)
def test_the_recorded_failure_decides_where_the_text_says_nothing(
    read: Read, message: str, keys: dict[str, str], reason: str, detail: str | None
) -> None:
    """Wave's failure reason is a fact behind the message, and a replay of the facts gives the same answer."""
    (event,), _ = read(wave("failed", message, **keys))
    assert (event.payload["reason"], event.payload.get("detail")) == (reason, detail)
    again = classify_facts(Facts.from_dict(event.payload["facts"]))
    assert (again.reason, again.detail, again.rule) == (reason, detail, event.payload["rule"])


@pytest.mark.parametrize(
    ("word", "reason"),
    [("context_exhaustion", "context_overflow"), ("timeout", "network_transient"), ("general_error", "unknown")],
)
def test_the_adapters_word_in_a_warning_is_a_fact_too(read: Read, word: str, reason: str) -> None:
    """The message stays as Wave wrote it; the word behind the exit code decides."""
    message = f"adapter exited with code 1: {word}"
    (event,), _ = read(wave("warning", message))
    assert (event.payload["reason"], event.payload["failure_reason"]) == (reason, word)
    assert event.payload["facts"] == {"message": message, "exit_code": 1, "failure_reason": word}


def test_a_failures_tokens_and_remediation_are_kept(read: Read) -> None:
    """What a failed step used stands in the event, and its own advice above the table's."""
    used = {"tokens_used": 184_000, "tokens_in": 180_000, "tokens_out": 4_000}
    (event,), _ = read(wave("failed", "odd", remediation="Split the step", **used))
    known = {key: event.payload[key] for key in ("tokens_used", "input_tokens", "output_tokens", "remediation")}
    assert known == {
        "tokens_used": 184_000,
        "input_tokens": 180_000,
        "output_tokens": 4_000,
        "remediation": "Split the step",
    }
    (event,), _ = read(wave("failed", "odd", tokens_used="many"))
    assert "tokens_used" not in event.payload
    assert event.payload["remediation"]
