"""Who answered a request, as logs state it: its id, the models that were asked and answered, tier and effort."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.importers.telemetry.stated import stated
from analyzer.store import Store

AT = "2026-03-05T10:00:0{}.000Z"
ID = "req_011C2fUyLw3VnB9sTd4X000{}"
OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"
USAGE = "select model, asked_model, served_model, is_swapped, service_tier, effort, request_id from usage order by all"


def _claude(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    named = {"uuid": f"u{second}", "sessionId": "s", "timestamp": AT.format(second), "requestId": ID.format(second)}
    return {"type": kind, **named, **fields}


def _reply(second: int, model: str) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 9, "service_tier": "standard"}
    message = {"id": f"msg_01{second:022}", "model": model, "role": "assistant", "content": [], "usage": usage}
    return _claude(second, "assistant", message=message)


def _read(memory: Store, folder: Path, *records: dict[str, Any]) -> None:
    path = folder / "log.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    memory.ingest([str(path)])


def test_replies_of_a_fallback_were_asked_of_another_model_until_a_third_one_answers(
    memory: Store, tmp_path: Path
) -> None:
    """Each request keeps its id and its tier; a model that the user chose later is no swap."""
    fallback = _claude(2, "system", subtype="model_fallback", originalModel=OPUS, fallbackModel=SONNET)
    answers = [_reply(3, SONNET), _reply(4, SONNET), _reply(5, OPUS), _reply(6, SONNET)]
    _read(memory, tmp_path, _reply(1, OPUS), fallback, *answers)
    swapped = (SONNET, OPUS, SONNET, True, "standard", None)
    own = {model: (model, None, None, None, "standard", None) for model in (OPUS, SONNET)}
    rows = [(*own[OPUS], ID.format(1)), (*own[OPUS], ID.format(5))]
    rows += [(*swapped, ID.format(3)), (*swapped, ID.format(4)), (*own[SONNET], ID.format(6))]
    assert memory.sql(USAGE).rows() == rows
    assert memory.sql("select asked_model, served_model from errors").rows() == [(OPUS, SONNET)]


@pytest.mark.parametrize(
    ("error", "request_id"),
    [
        ({"error": {"status": 529, "requestID": "req_in_a_field"}, "requestId": None}, "req_in_a_field"),
        (
            {"error": {"status": 529, "headers": {"request-id": "req_in_a_header"}}, "requestId": None},
            "req_in_a_header",
        ),
        ({"error": {"status": 529, "message": "busy (request id: 4f-56-78)"}, "requestId": None}, "4f-56-78"),
        ({"error": {"status": 529, "message": "ask with req_011CQxyz"}, "requestId": None}, "req_011CQxyz"),
        ({"error": {"status": 529, "message": "your request identity"}, "requestId": None}, None),
    ],
)
def test_an_error_has_the_id_of_its_request(
    memory: Store, tmp_path: Path, error: dict[str, Any], request_id: str | None
) -> None:
    """Its record, its headers or its words state it."""
    _read(memory, tmp_path, _claude(1, "system", subtype="api_error", retryAttempt=1, **error))
    assert memory.sql("select request_id from errors").rows() == [(request_id,)]


@pytest.mark.parametrize(
    ("asked", "served", "is_swapped"),
    [
        ("gpt-6-astra", "gpt-5.6-luna", True),
        ("gpt-6-astra", "gpt-6-astra-2026-09-01", False),
        ("openai/gpt-6-astra", "gpt-6-astra", False),
        ("astra-latest", "gpt-6-astra", False),
        ("gpt-6-astra", None, None),
        (None, "gpt-6-astra", None),
    ],
)
def test_a_date_a_maker_or_an_alias_is_no_swap(
    memory: Store, tmp_path: Path, asked: str | None, served: str | None, is_swapped: bool | None
) -> None:
    """Only another model is one, and only if the log states both."""
    said = {"gen_ai.request.model": asked, "gen_ai.response.model": served, "gen_ai.usage.input_tokens": 9}
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.reasoning_effort": "high", **said}
    span = {"resource": {"attributes": {"service.name": "shop"}}, "traceId": "t", "spanId": "s"}
    _read(memory, tmp_path, {**span, "startTime": [1_772_704_800, 0], "attributes": attributes})
    assert memory.sql(USAGE).rows() == [(asked or served, asked, served, is_swapped, None, "high", None)]


def test_what_was_said_or_done_states_nothing() -> None:
    """Only names of fields around a request count, the outermost one first, and only values that are names."""
    done = {"content": [{"request_id": "no"}], "input": {"effort": "no"}, "usage": {"service_tier": "fast"}}
    record = {"requestId": "yes", "message": {**done, "request_id": "no"}, "effort": "some words", "model": "m"}
    assert stated(record) == {"request_id": "yes", "service_tier": "fast"}
