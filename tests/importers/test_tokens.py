"""Tokens in the places where producers keep them, beside those of replies themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.store import open_store
from tests.importers.conftest import Read, of

_AT = "2026-03-05T10:00:{:02d}.000Z"
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def _spent(read: Read, *records: object, split: int = 1_000) -> list[tuple[Any, ...]]:
    events, _ = read(*records, split=split)
    return [tuple(event.payload.get(name) for name in _COUNTS) for event in of(events, "usage.recorded")]


def _span(number: int, parent: int | None = None, began: int = 0, ended: int = 9, **attributes: Any) -> dict[str, Any]:
    kinds = {int: "intValue", str: "stringValue"}
    listed = [
        {"key": key.replace("__", "."), "value": {kinds[type(value)]: value}} for key, value in attributes.items()
    ]
    ids = {"traceId": "t", "spanId": f"s{number}"} | ({"parentSpanId": f"s{parent}"} if parent is not None else {})
    times = {"startTimeUnixNano": f"17727048{began:02}000000000", "endTimeUnixNano": f"17727048{ended:02}000000000"}
    return {**ids, **times, "name": "chat", "attributes": listed, "status": {}}


def _spans(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [*spans]}]}]}


@pytest.mark.parametrize(
    ("read_key", "written_key"),
    [
        ("gen_ai__usage__cache_read_input_tokens", "gen_ai__usage__cache_creation_input_tokens"),
        ("gen_ai__usage__details__cache_read_tokens", "gen_ai__usage__details__cache_write_tokens"),
        ("gen_ai__usage__cache_read__input_tokens", "gen_ai__usage__cache_creation__input_tokens"),
    ],
)
def test_caches_of_each_instrumentation_are_parts_of_the_prompt(read: Read, read_key: str, written_key: str) -> None:
    """OpenLLMetry's names, pydantic-ai's, and those of the conventions."""
    counts = {"gen_ai__usage__input_tokens": 130_213, "gen_ai__usage__output_tokens": 10}
    call = {"gen_ai__operation__name": "chat", read_key: 128_955, written_key: 1_253}
    assert _spent(read, _spans(_span(1, **counts, **call))) == [(5, 10, 128_955, 1_253)]


_CALL = {"openinference__span__kind": "LLM", "llm__token_count__prompt": 580, "llm__token_count__completion": 40}


@pytest.mark.parametrize(
    ("spans", "calls"),
    [
        ([_span(1, **_CALL), _span(2, 1, 1, 8, **_CALL)], 1),
        ([_span(2, 1, 1, 8, **_CALL), _span(1, **_CALL)], 1),
        ([_span(1, 0, **_CALL), _span(3, 2, 2, 7, **_CALL)], 1),
        ([_span(1, 0, **_CALL), _span(2, 0, 1, 8, **_CALL)], 2),
        ([_span(1, 0, 0, 4, **_CALL), _span(2, 7, 5, 9, **_CALL)], 2),
        ([_span(1, **_CALL), _span(2, 1, 1, 8, **{**_CALL, "llm__token_count__prompt": 581})], 2),
    ],
    ids=["inner later", "inner first", "with a span between", "side by side", "one after the other", "other tokens"],
)
def test_two_instrumentations_of_one_call_count_once(read: Read, spans: list[dict[str, Any]], calls: int) -> None:
    """A span around another one with the same tokens is the same call."""
    assert len(_spent(read, _spans(*spans))) == calls


def test_a_gateways_own_cache_asks_no_provider(read: Read) -> None:
    """LiteLLM states tokens and costs of each call, and repeats them for answers out of its cache."""
    call = {"id": "r1", "trace_id": "t", "call_type": "acompletion", "status": "success", "model": "gpt-4o"}
    call |= {"startTime": 1_772_704_800.0, "endTime": 1_772_704_801.0, "custom_llm_provider": "openai"}
    call |= {"prompt_tokens": 1_000, "completion_tokens": 100, "response_cost": 0.0035, "cache_hit": False}
    details = {"metadata": {"usage_object": {"prompt_tokens_details": {"cached_tokens": 300}}}}
    events, _ = read({**call, **details}, {**call, "id": "r2", "cache_hit": True, "response_cost": 0.0})
    (spent,) = of(events, "usage.recorded")
    assert [spent.payload.get(name) for name in (*_COUNTS[:3], "cost_usd")] == [700, 100, 300, 0.0035]


def _copilot(second: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"e{second}", "parentId": None, "timestamp": _AT.format(second), "data": data}


def _ended(second: int, output: int) -> dict[str, Any]:
    usage = {"inputTokens": output * 2, "outputTokens": output, "cacheReadTokens": output}
    return _copilot(second, "session.shutdown", modelMetrics={"m": {"usage": usage}})


_STARTED = _copilot(0, "session.start", sessionId="c-1", selectedModel="m")


@pytest.mark.parametrize(("second_sum", "output"), [(1_400, 1_400), (900, 1_400)], ids=["goes on", "began anew"])
def test_the_sums_of_a_resumed_session_go_on_or_begin_anew(read: Read, second_sum: int, output: int) -> None:
    """Its messages tell which of both Copilot did."""
    rows = _spent(
        read,
        _STARTED,
        _copilot(1, "assistant.message", model="m", outputTokens=500),
        _ended(2, 500),
        _copilot(3, "session.resume"),
        _copilot(4, "assistant.message", model="m", outputTokens=900),
        _ended(5, second_sum),
    )
    assert sum(row[1] for row in rows) == output


@pytest.mark.parametrize("split", [1, 2, 100])
def test_replies_count_before_the_end_of_their_session(read: Read, split: int) -> None:
    """With the tokens that are known; the end adds only what they lack, however the log was read."""
    replies = [_copilot(at, "assistant.message", model="m", outputTokens=300) for at in (1, 2)]
    assert sum(row[1] for row in _spent(read, _STARTED, *replies, split=split)) == 600
    rows = _spent(read, _STARTED, *replies, _ended(3, 600), split=split)
    assert sum(row[1] for row in rows) == 600
    assert sum(row[2] or 0 for row in rows) == 600


def test_the_model_is_the_one_that_was_chosen(read: Read) -> None:
    """Copilot's choice of it is no model."""
    events, _ = read(
        _copilot(0, "session.start", sessionId="c-1", selectedModel="auto"),
        _copilot(1, "session.model_change", newModel="auto"),
        _copilot(2, "session.auto_mode_resolved", chosenModel="claude-haiku-4.5"),
        _copilot(3, "session.error", errorType="query", message="500 upstream", statusCode=500),
    )
    assert of(events, "error.classified")[0].payload["model"] == "claude-haiku-4.5"


def test_a_checkpoint_of_a_chat_has_messages_that_no_line_has(read: Read) -> None:
    """And repeats those that have one."""
    head = {"sessionId": "g-1", "projectHash": "x", "startTime": _AT.format(0)}
    replies = [
        {
            "id": f"m{at}",
            "type": "gemini",
            "timestamp": _AT.format(at),
            "model": "m",
            "tokens": {"input": 9, "output": at},
        }
        for at in range(1, 100)
    ]
    rows = _spent(read, head, replies[0], {"$set": {"messages": replies}}, {"$set": {"lastUpdated": _AT.format(9)}})
    assert sum(row[1] for row in set(rows)) == sum(range(1, 100))
    events, _ = read(head, {"$set": {"messages": replies}}, {"$set": {"messages": replies}}, split=2)
    assert of(events, "session.observed")[-1].payload["requests"] == 99


def test_an_exported_session_of_goose_is_read_with_the_sums_that_it_states(read: Read) -> None:
    """It is one document, with its messages."""
    failed = {"type": "text", "text": "Ran into this error: Server error (503)"}
    message = {"role": "assistant", "created": 1_772_704_801, "content": [failed]}
    session = {"id": "g-1", "working_dir": "/x", "message_count": 1, "conversation": [message]}
    sums = {"accumulated_input_tokens": 900, "accumulated_output_tokens": 80}
    events, _ = read({**session, **sums})
    assert {event.session_id for event in events} == {"g-1"}
    assert len(of(events, "error.classified")) == 1
    assert [tuple(event.payload.get(name) for name in _COUNTS[:2]) for event in of(events, "usage.recorded")] == [
        (900, 80)
    ]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_with_a_mark_is_read(tmp_path: Path, encoding: str) -> None:
    """PowerShell 5 writes what a program prints in it."""
    usage = {"input_tokens": 3, "output_tokens": 50}
    message = {"id": "msg_01Aa", "role": "assistant", "model": "claude-sonnet-4-5", "content": "€", "usage": usage}
    record = {"type": "assistant", "uuid": "u", "sessionId": "s", "timestamp": _AT.format(1), "message": message}
    text = "\ufeff" + json.dumps(record, ensure_ascii=False) + "\r\n"
    (tmp_path / "run.jsonl").write_bytes(text.encode(encoding))
    with open_store(":memory:", writable=True) as store:
        store.ingest(str(tmp_path))
        assert store.sql("select output_tokens from usage").rows() == [(50,)]
