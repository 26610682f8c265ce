"""OpenTelemetry as agents, collectors and SDKs write it, with made-up values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.importers.shapes.documents import unfolded
from tests.importers.conftest import Read, of

BEGAN = 1_772_704_800_000_000_000
"""2026-03-05T10:00:00Z in nanoseconds."""


def wrapped(value: object) -> dict[str, Any]:
    """A value as OTLP wraps it; whole numbers as texts."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def attributes(**found: object) -> list[dict[str, Any]]:
    """Attributes by name, `__` for a dot."""
    return [{"key": key.replace("__", "."), "value": wrapped(value)} for key, value in found.items()]


def log(second: int, **found: object) -> dict[str, Any]:
    """A log record."""
    return {"timeUnixNano": str(BEGAN + second * 10**9), "attributes": attributes(**found)}


def span(
    number: int, *, failed: bool = False, thrown: dict[str, object] | None = None, **found: object
) -> dict[str, Any]:
    """A span that ended after so many seconds."""
    return {
        "traceId": "t1",
        "spanId": f"s{number}",
        "endTimeUnixNano": BEGAN + number * 10**9,
        "attributes": attributes(**found),
        "status": {"code": "STATUS_CODE_ERROR", "message": "failed"} if failed else {},
        "events": [{"name": "exception", "attributes": attributes(**thrown)}] if thrown else [],
    }


def request(service: str, *records: dict[str, Any], **resource: object) -> dict[str, Any]:
    """A request with the logs or spans of one resource."""
    held = {"resource": {"attributes": attributes(service__name=service, service__version="1.2.3", **resource)}}
    if "spanId" in records[0]:
        return {"resourceSpans": [{**held, "scopeSpans": [{"scope": {}, "spans": list(records)}]}]}
    return {"resourceLogs": [{**held, "scopeLogs": [{"scope": {}, "logRecords": list(records)}]}]}


def test_claude_code_tells_a_given_up_call_once(read: Read) -> None:
    """Two events tell it: the error with its calls, and the end of the retries with the waiting."""
    common = {"session__id": "s1", "model": "m", "error": "Overloaded", "status_code": 529}
    events, _ = read(
        request(
            "claude-code",
            log(1, event__name="api_request", session__id="s1", event__sequence=1),
            log(5, event__name="api_error", attempt=11, event__sequence=2, **common),
            log(5, event__name="api_retries_exhausted", total_retry_duration_ms="61500", event__sequence=3, **common),
            log(9, event__name="claude_code.api_error", attempt=1, event__sequence=4, **common),
        )
    )
    first, second = of(events, "error.classified")
    assert (first.payload["attempt"], second.payload["outcome"]) == (11, "surfaced")
    assert first.payload["facts"]["status"] == 529
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["attempts"], settled.payload["waited_seconds"]) == (11, 61.5)
    assert settled.payload["operation"] == first.payload["operation"]
    (seen,) = of(events, "session.observed")
    assert (seen.payload["requests"], seen.payload["agent_version"]) == (1, "1.2.3")


def test_the_end_of_a_chain_is_told_even_where_nothing_follows(read: Read) -> None:
    """The waiting is not told then, and the chain ends all the same, at the moment of its error."""
    lone = log(5, event__name="api_error", attempt=3, session__id="s1", error="x", event__sequence=2)
    (settled,) = of(read(request("claude-code", lone))[0], "retry.settled")
    assert (settled.payload["attempts"], settled.session_id) == (3, "s1")
    assert settled.occurred_at.isoformat() == "2026-03-05T10:00:05"


@pytest.mark.parametrize(
    ("said", "kinds"), [(True, ["relay.triggered", "relay.resumed"]), ("false", ["relay.triggered", "relay.halted"])]
)
def test_compactions_of_claude_code_are_relays(read: Read, said: object, kinds: list[str]) -> None:
    """Halted where the compaction failed; flags come as booleans and as texts."""
    found = log(
        1,
        event__name="compaction",
        session__id="s",
        success=said,
        pre_tokens="180000",
        post_tokens=9000,
        trigger="auto",
    )
    events = [event for event in read(request("claude-code", found))[0] if event.type.startswith("relay.")]
    assert [event.type for event in events] == kinds
    assert events[0].payload["pre_tokens"] == 180_000
    assert events[1].payload.get("post_tokens") == (9_000 if said is True else None)


def codex(second: int, attempt: int, status: int, **more: object) -> dict[str, Any]:
    """A call by Codex: its name is an attribute, `eventName` a place in its source, its own time 0."""
    named = {"event__name": "codex.api_request", "conversation__id": "c1", "attempt": attempt, "endpoint": "/responses"}
    found = log(second, http__response__status_code=status, **{**named, **more})
    observed = found.pop("timeUnixNano")
    return {**found, "timeUnixNano": "0", "observedTimeUnixNano": observed, "eventName": "event otel/src/x.rs:570"}


def test_codex_tells_each_call_and_the_next_one_says_that_it_is_a_retry(read: Read) -> None:
    """Attempts count from 0; a catalogue of models is no call."""
    calls = [codex(1, 0, 503), codex(2, 1, 429), codex(4, 2, 200), codex(5, 0, 500, endpoint="/v1/models")]
    events, _ = read(request("codex_cli_rs", *calls))
    assert [event.payload["attempt"] for event in of(events, "error.classified")] == [1, 2]
    assert [event.occurred_at.second for event in of(events, "error.classified")] == [1, 2]
    assert [event.payload["attempt"] for event in of(events, "retry.scheduled")] == [1, 2]
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["outcome"], settled.payload["attempts"]) == ("recovered", 3)
    assert {event.payload["caller"] for event in of(events, "error.classified")} == {"codex"}


def test_codex_over_a_socket_tells_its_failures_by_a_flag(read: Read) -> None:
    """`success` comes as a text; an answered event counts as a request."""
    common = {"conversation__id": "c1"}
    events, _ = read(
        request(
            "codex_exec",
            log(1, event__name="codex.websocket_request", success="false", error__message="closed", **common),
            log(2, event__name="codex.websocket_request", success="true", **common),
            log(3, event__name="codex.sse_event", event__kind="response.completed", **common),
            log(4, event__name="codex.sse_event", event__kind="response.failed", error__message="overloaded", **common),
        )
    )
    assert len(of(events, "error.classified")) == 2
    assert of(events, "session.observed")[0].payload["requests"] == 1


def test_gemini_tells_an_error_twice_and_it_counts_once(read: Read) -> None:
    """The twin under the conventions' name is the same failure; waits are told apart, replies end a chain."""
    common = {"session__id": "g1", "model": "m"}
    events, _ = read(
        request(
            "gemini-cli",
            log(1, event__name="gemini_cli.api_error", error__message="quota", status_code="429", **common),
            log(1, event__name="gen_ai.client.operation.exception", exception__message="quota", **common),
            log(1, event__name="gemini_cli.network_retry_attempt", attempt=1, max_attempts=3, delay_ms=2500, **common),
            log(4, event__name="gemini_cli.api_response", status_code=200, **common),
            log(6, event__name="gemini_cli.chat_compression", tokens_before=900, tokens_after=100, **common),
        )
    )
    (error,), (again,) = of(events, "error.classified"), of(events, "retry.scheduled")
    assert (error.payload["facts"]["status"], again.payload["delay_seconds"]) == (429, 2.5)
    assert error.payload["operation"] == again.payload["operation"]
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["outcome"], settled.payload["attempts"]) == ("recovered", 2)
    assert of(events, "relay.resumed")[0].payload["post_tokens"] == 100


def test_other_programs_tell_exceptions_by_the_conventions(read: Read) -> None:
    """What is a twin with Gemini CLI is the only word of others."""
    found = log(1, event__name="gen_ai.client.operation.exception", exception__message="boom", error__type="503")
    (error,) = of(read(request("my-agent", found))[0], "error.classified")
    assert (error.payload["caller"], error.payload["facts"]["status"]) == ("my-agent", 503)


@pytest.mark.parametrize(
    "mark",
    [{"gen_ai__operation__name": "chat"}, {"openinference__span__kind": "LLM"}, {"llm__request__type": "chat"}],
)
def test_a_models_span_that_failed_is_an_error(read: Read, mark: dict[str, object]) -> None:
    """By the three conventions; the exception says more than the status."""
    thrown: dict[str, object] = {"exception__type": "RateLimitError", "exception__message": "slow down"}
    calls = [span(1, failed=True, thrown=thrown, http__response__status_code=429, **mark), span(2, **mark)]
    events, _ = read(request("app", *calls, session__id="s1"))
    (error,) = of(events, "error.classified")
    assert error.payload["facts"]["message"] == "slow down"
    assert error.payload["facts"]["status"] == 429
    assert of(events, "session.observed")[0].payload["requests"] == 2


@pytest.mark.parametrize("operation", ["execute_tool", "invoke_agent", "permission", "embeddings"])
def test_spans_of_tools_and_of_agents_are_no_errors(read: Read, operation: str) -> None:
    """An error climbs up to them from the call inside; a tool's failure is the model's to read."""
    found = span(1, failed=True, gen_ai__operation__name=operation)
    assert of(read(request("github-copilot", found))[0], "error.classified") == []


def shapes() -> list[tuple[str, bytes]]:
    """The same failed call in the four shapes, and as an array."""
    whole = request("app", span(1, failed=True, gen_ai__operation__name="chat"))
    resource = whole["resourceSpans"][0]
    pretty = "".join(json.dumps(resource, indent=2) + "\n" for _ in range(2))
    lines = [("line", whole), ("envelope", {"path": "/v1/traces", "body_json": whole}), ("listed", {"data": whole})]
    return [
        *((name, json.dumps(record).encode() + b"\n") for name, record in lines),
        ("pretty", unfolded(pretty.encode()) + b"\n"),
        ("array", unfolded(json.dumps([whole, whole], indent=1).encode()) + b"\n"),
    ]


@pytest.mark.parametrize(("name", "data"), shapes(), ids=[name for name, _ in shapes()])
def test_every_shape_gives_the_same_event(read: Read, name: str, data: bytes) -> None:
    """Whoever wrapped the request, its span is the same; and told twice it has the same id."""
    events, rejects = read(*data.strip().split(b"\n"))
    assert not rejects
    assert {event.id for event in of(events, "error.classified")} == {
        event.id for event in of(read(shapes()[0][1].strip())[0], "error.classified")
    }, name


def test_objects_of_the_sdk_are_read_as_their_events(read: Read) -> None:
    """Times are seconds and nanoseconds, the resource is a list of pairs."""
    record = {
        "hrTime": [BEGAN // 10**9, 5_000_000],
        "resource": {"_rawAttributes": [["service.name", "gemini-cli"], ["service.version", "0.9"]]},
        "attributes": {"event.name": "gemini_cli.api_error", "session.id": "g", "error": "x", "status_code": 500},
    }
    data = unfolded(json.dumps(record, indent=2).encode())
    (error,) = of(read(*data.strip().split(b"\n"))[0], "error.classified")
    assert error.occurred_at.isoformat() == "2026-03-05T10:00:00.005000"
    assert (error.session_id, error.payload["facts"]["status"]) == ("g", 500)


THROWN = {"name": "exception", "attributes": {"exception.type": "Error", "exception.message": "401 Invalid key"}}
CALLED = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "session.id": "f"}


def test_spans_that_fragola_writes_a_line_each_are_read(read: Read) -> None:
    """Its calls of a model are told by their name, the session is the agent's id; the run round a call is no call."""
    told = {"fragola.agent.id": "f", "fragola.agent.model": "m", "service.name": "shop"}
    ends = {"startTime": [BEGAN // 10**9, 0], "endTime": [BEGAN // 10**9 + 2, 5_000_000], "attributes": told}
    failed = {"events": [{**THROWN, "time": [1, 2]}], "status": {"code": 2, "message": "401 Invalid key"}}
    events, rejects = read(
        {"name": "fragola.agent.modelInvocation", "traceId": "t1", "spanId": "s1", **ends, **failed},
        {"name": "fragola.agent.modelInvocation", "traceId": "t2", "spanId": "s2", **ends, "status": {"code": 0}},
        {"name": "fragola.agent.run", "traceId": "t3", "spanId": "s3", **ends, **failed},
    )
    (error,), (seen,) = of(events, "error.classified"), of(events, "session.observed")
    assert (error.session_id, error.payload["reason"], error.payload["caller"]) == ("f", "auth_error", "shop")
    assert error.occurred_at.isoformat() == "2026-03-05T10:00:02.005000"
    assert (seen.payload["requests"], error.payload["model"], rejects) == (2, "m", [])


@pytest.mark.parametrize("service", [{}, {"service.name": "unknown_service:node"}])
def test_spans_as_the_console_prints_them_are_read(read: Read, service: dict[str, str]) -> None:
    """Times are microseconds, the span's id is `id`; a program without a name has that of its instrumentation."""
    printed = {
        "resource": {"attributes": service},
        "instrumentationScope": {"name": "fragola-agent", "version": "1"},
        "traceId": "t1",
        "parentSpanContext": {"traceId": "t1", "spanId": "s0", "traceFlags": 1},
        "name": "chat m",
        "id": "s1",
        "kind": 2,
        "timestamp": BEGAN // 1_000,
        "duration": 1_500_000.25,
        "attributes": CALLED,
        "status": {"code": 2, "message": "401 Invalid key"},
        "events": [THROWN],
        "links": [],
    }
    (error,) = of(read(printed)[0], "error.classified")
    assert (error.session_id, error.payload["reason"], error.payload["caller"]) == ("f", "auth_error", "fragola-agent")
    assert error.occurred_at.isoformat() == "2026-03-05T10:00:01.500000"


@pytest.mark.parametrize(
    "attribute",
    [
        {"key": 1},
        {"key": "a", "value": {"intValue": "x" * 99}},
        [1, 2, 3],
        {"value": {"arrayValue": {"values": 3}}},
        None,
    ],
)
def test_strange_attributes_are_no_attributes(read: Read, attribute: object) -> None:
    """Nothing of a record raises."""
    found = {"timeUnixNano": "9" * 40, "attributes": [attribute, *attributes(event__name="claude_code.api_error")]}
    events, rejects = read(request("claude-code", found))
    assert (len(of(events, "error.classified")), rejects) == (1, [])
    assert events[0].time_source == "file"


def test_reading_line_by_line_gives_the_same(read: Read) -> None:
    """Chains go on over the end of what was there."""
    lines = [request("codex_exec", codex(second, second, 503)) for second in range(3)]
    at_once, in_pieces = read(*lines)[0], read(*lines, split=1)[0]
    plain = [event for event in at_once if event.type != "session.observed"]
    assert plain == [event for event in in_pieces if event.type != "session.observed"]
