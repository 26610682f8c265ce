"""The tokens and the cost of requests, as each agent's log counts them: prompts without what a cache has, once each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from analyzer.events import Event
from tests import each_row
from tests.importers.conftest import Read

MS = 1_772_704_800_000
AT = "2026-03-05T10:00:0{}.000Z"
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd")


def _gemini(reply: int, **keys: Any) -> dict[str, Any]:
    return {
        "id": f"g{reply}",
        "timestamp": AT.format(reply),
        "type": "gemini",
        "content": "…",
        "model": "gemini-x",
        "tokens": {"input": 900, "output": 40, "cached": 700, "thoughts": 60, "tool": 5, "total": 1_005},
        **keys,
    }


def _qwen(reply: int, **usage: Any) -> dict[str, Any]:
    named = {"uuid": f"q{reply}", "sessionId": "s", "timestamp": AT.format(reply), "type": "assistant"}
    counts = {"promptTokenCount": 900, "candidatesTokenCount": 40, "cachedContentTokenCount": 700, **usage}
    return {**named, "cwd": "/x", "version": "0.1", "message": {"role": "model", "parts": []}, "usageMetadata": counts}


def _opencode(reply: int, **tokens: Any) -> dict[str, Any]:
    counts = {"input": 200, "output": 40, "reasoning": 60, "cache": {"read": 700, "write": 30}, **tokens}
    time = {"created": MS, "completed": MS + reply}
    named = {"id": f"msg_{reply}", "sessionID": "ses_1", "role": "assistant", "modelID": "m", "providerID": "p"}
    return {**named, "time": time, "tokens": counts, "cost": 0.25}


def _cline(number: int, **said: Any) -> dict[str, Any]:
    return {"ts": MS + number, "type": "say", "say": "api_req_started", "text": json.dumps({"request": "…", **said})}


def _copilot(kind: str, second: int, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"c{second}", "timestamp": AT.format(second), "parentId": None}


def _metrics(**usage: int) -> dict[str, Any]:
    return {"requests": {"count": 1}, "usage": usage}


def _span(named: dict[str, Any], used: dict[str, object], prefix: str) -> dict[str, Any]:
    attributes = {**named, **{prefix + key: value for key, value in used.items()}}
    held = {"resource": {"attributes": {"service.name": "shop"}}, "traceId": "t", "spanId": "s"}
    return {**held, "startTime": [MS // 1000, 0], "attributes": attributes}


HEADS: Mapping[str, list[dict[str, Any]]] = {
    "gemini": [{"sessionId": "s", "projectHash": "h", "startTime": AT.format(0)}],
    "copilot": [_copilot("session.start", 0, sessionId="s", context={"cwd": "/x"})],
    "kimi": [{"type": "metadata", "protocol_version": "1.5", "created_at": MS}],
}
COUNTED = {
    "gemini": ([_gemini(1)], (205, 100, 700, None, 60, None)),
    "qwen": ([_qwen(1, thoughtsTokenCount=60, totalTokenCount=1_000)], (200, 100, 700, None, 60, None)),
    "qwen without a total": ([_qwen(1)], (200, 40, 700, None, None, None)),
    "opencode": ([_opencode(1)], (200, 40, 700, 30, 60, 0.25)),
    "opencode with a total": ([_opencode(1, total=1_030)], (200, 100, 700, 30, 60, 0.25)),
    "cline of Anthropic": (
        [_cline(1, tokensIn=4, tokensOut=40, cacheReads=700, cacheWrites=30, cost=0.5)],
        (4, 40, 700, 30, None, 0.5),
    ),
    "cline of others": (
        [_cline(1, tokensIn=900, tokensOut=40, cacheReads=700, cacheWrites=0, cost=0)],
        (200, 40, 700, 0, None, None),
    ),
    "kimi": (
        [
            {
                "type": "usage.record",
                "model": "k",
                "usage": {"inputOther": 200, "output": 100, "inputCacheRead": 700, "inputCacheCreation": 30},
                "time": MS + 1,
            }
        ],
        (200, 100, 700, 30, None, None),
    ),
    "a span of the AI SDK": (
        [
            _span(
                {"ai.operationId": "ai.streamText.doStream"},
                {
                    "inputTokens": 900,
                    "outputTokens": 100,
                    "cachedInputTokens": 700,
                    "inputTokenDetails.cacheWriteTokens": 30,
                    "reasoningTokens": 60,
                },
                "ai.usage.",
            )
        ],
        (170, 100, 700, 30, 60, None),
    ),
    "a span of the AI SDK 6": (
        [
            _span(
                {"ai.operationId": "ai.streamText.doStream"},
                {"inputTokens": 900, "outputTokens": 100, "inputTokenDetails.cacheReadTokens": 700},
                "ai.usage.",
            )
        ],
        (200, 100, 700, 0, 0, None),
    ),
    "a span of pydantic-ai": (
        [
            _span(
                {"gen_ai.operation.name": "chat"},
                {"input_tokens": 900, "output_tokens": 100, "details.cached_tokens": 700},
                "gen_ai.usage.",
            )
        ],
        (200, 100, 700, 0, 0, None),
    ),
    "a span by the conventions": (
        [
            _span(
                {"gen_ai.operation.name": "chat"},
                {
                    "input_tokens": "900",
                    "output_tokens": 100,
                    "cache_read.input_tokens": 700,
                    "cache_write.input_tokens": 30,
                    "reasoning.output_tokens": 60,
                },
                "gen_ai.usage.",
            )
        ],
        (170, 100, 700, 30, 60, None),
    ),
    "langfuse": (
        [
            {
                "id": "o",
                "traceId": "t",
                "type": "GENERATION",
                "level": "DEFAULT",
                "startTime": AT.format(1),
                "usageDetails": {
                    "input": 170,
                    "input_cached_tokens": 700,
                    "cache_creation_input_tokens": 30,
                    "output": 40,
                    "output_reasoning_tokens": 60,
                },
                "totalCost": 0.5,
            }
        ],
        (170, 100, 700, 30, 60, 0.5),
    ),
    "langsmith": (
        [
            {
                "id": "r",
                "trace_id": "t",
                "run_type": "llm",
                "start_time": "2026-03-05T10:00:01",
                "prompt_tokens": 900,
                "completion_tokens": 100,
                "prompt_token_details": {"cache_read": 700, "cache_creation": 30},
                "completion_token_details": {"reasoning": 60},
                "total_cost": "0.5",
            }
        ],
        (170, 100, 700, 30, 60, 0.5),
    ),
    "openai_agents": (
        [
            {
                "object": "trace.span",
                "id": "s",
                "trace_id": "t",
                "span_data": {
                    "type": "response",
                    "usage": {
                        "input_tokens": 900,
                        "output_tokens": 100,
                        "input_tokens_details": {"cached_tokens": 700},
                        "output_tokens_details": {"reasoning_tokens": 60},
                    },
                },
            }
        ],
        (200, 100, 700, 0, 60, None),
    ),
    "weave": (
        [
            {
                "id": "c",
                "trace_id": "t",
                "project_id": "e/p",
                "op_name": "x",
                "started_at": AT.format(1),
                "attributes": {"weave": {"kind": "llm"}},
                "summary": {"usage": {"m": {"prompt_tokens": 900, "completion_tokens": 100}}},
            }
        ],
        (900, 100, 0, 0, 0, None),
    ),
    "copilot": (
        [
            _copilot(
                "session.shutdown",
                9,
                modelMetrics={
                    "gpt-x": _metrics(
                        inputTokens=900, outputTokens=100, cacheReadTokens=700, cacheWriteTokens=0, reasoningTokens=60
                    ),
                    "idle": _metrics(inputTokens=0, outputTokens=0),
                },
            )
        ],
        (200, 100, 700, 0, 60, None),
    ),
}


def _told(events: list[Event]) -> list[Event]:
    return [event for event in events if event.type == "usage.recorded"]


@each_row("name", COUNTED)
def test_a_request_tells_its_tokens(read: Read, name: str) -> None:
    """As the view counts them; a reply holds its reasoning, and what costs nothing states no cost."""
    records, expected = COUNTED[name]
    events, rejects = read(*HEADS.get(name.partition(" ")[0], []), *records)
    assert not rejects
    (told,) = _told(events)
    assert tuple(told.payload.get(key) for key in TOKENS) == expected
    assert told.payload["request"]


def test_a_reply_that_is_written_again_is_the_same_request(read: Read) -> None:
    """Its last, largest count is another event of the same request; a reply without a count tells nothing."""
    growing = [_gemini(1, tokens=None), _gemini(1, tokens={"input": 900, "output": 3}), _gemini(1), _gemini(2)]
    events, _ = read(*HEADS["gemini"], *growing)
    first, grown, other = _told(events)
    assert first.payload["request"] == grown.payload["request"] != other.payload["request"]
    assert first.id != grown.id
    assert grown.payload["output_tokens"] == 100


def test_the_end_of_a_resumed_session_tells_what_was_used_since_the_end_before(read: Read) -> None:
    """Copilot sums up the whole session again; a smaller sum was begun anew, and so is that of another session."""

    def ended(second: int, **models: tuple[int, int]) -> dict[str, Any]:
        metrics = {name: _metrics(inputTokens=used[0], outputTokens=used[1]) for name, used in models.items()}
        return _copilot("session.shutdown", second, modelMetrics=metrics)

    events, _ = read(
        *HEADS["copilot"],
        ended(1, a=(900, 10)),
        ended(2, a=(900, 10), b=(500, 7)),
        ended(3, a=(1000, 12), b=(500, 7)),
        ended(4, a=(300, 4)),
        _copilot("session.start", 5, sessionId="t", context={}),
        ended(6, a=(400, 5)),
        split=2,
    )
    told = [tuple(event.payload[key] for key in ("model", "input_tokens", "output_tokens")) for event in _told(events)]
    assert told == [("a", 900, 10), ("b", 500, 7), ("a", 100, 2), ("a", 300, 4), ("a", 400, 5)]


@pytest.mark.parametrize("split", [1, 9])
def test_what_a_broken_off_run_of_copilot_replied_counts(read: Read, split: int) -> None:
    """The end of the next run sums up only that run; a log that is read in parts tells the same."""
    rows = [
        _copilot("assistant.message", 1, outputTokens=100),
        _copilot("session.resume", 2),
        _copilot("assistant.message", 3, outputTokens=50),
        _copilot("session.shutdown", 4, modelMetrics={"m": _metrics(inputTokens=90, outputTokens=50)}),
    ]
    events, _ = read(*HEADS["copilot"], *rows, split=split)
    assert sum(event.payload["output_tokens"] or 0 for event in _told(events)) == 150


def test_what_a_compaction_of_copilot_took_is_a_request_of_its_own(read: Read) -> None:
    """It is in none of the sums that the session ends with, and names its own model."""
    used = {"inputTokens": 900, "outputTokens": 40, "cacheReadTokens": 700, "cacheWriteTokens": 0, "model": "small"}
    events, _ = read(
        *HEADS["copilot"],
        _copilot("session.compaction_complete", 1, success=True, compactionTokensUsed=used),
        _copilot("session.shutdown", 2, modelMetrics={"m": _metrics(inputTokens=90, outputTokens=10)}),
    )
    compaction, ended = _told(events)
    assert (compaction.payload["model"], *(compaction.payload[key] for key in TOKENS[:3])) == ("small", 200, 40, 700)
    assert (ended.payload["model"], ended.payload["input_tokens"]) == ("m", 90)


def _claude_with(strange: object) -> dict[str, object]:
    message = {"id": "msg_1", "model": "m", "role": "assistant", "usage": {"input_tokens": strange, "output_tokens": 4}}
    return {"type": "assistant", "uuid": "u", "sessionId": "s", "timestamp": AT.format(1), "message": message}


def _codex_with(strange: object) -> dict[str, object]:
    used = {"input_tokens": strange, "output_tokens": 40, "total_tokens": 44}
    info = {"last_token_usage": used, "total_token_usage": used}
    return {"timestamp": AT.format(1), "type": "event_msg", "payload": {"type": "token_count", "info": info}}


def _gemini_with(strange: object) -> dict[str, object]:
    return {
        "id": "m",
        "projectHash": "h",
        "sessionId": "s",
        "type": "gemini",
        "tokens": {"input": strange, "output": 4},
    }


def _amp_with(strange: object) -> dict[str, object]:
    message = {"role": "assistant", "messageId": 1, "usage": {"inputTokens": strange, "outputTokens": 4}}
    return {"id": "T-1", "created": 1, "messages": [message]}


WITH_COUNTS = [
    lambda strange: _copilot("session.shutdown", 2, modelMetrics={"m": _metrics(inputTokens=strange, outputTokens=4)}),
    lambda strange: {
        "type": "result",
        "subtype": "success",
        "session_id": "s",
        "modelUsage": {"m": {"inputTokens": strange, "outputTokens": 4}},
    },
    _claude_with,
    _codex_with,
    _gemini_with,
    _amp_with,
    lambda strange: _opencode(1, input=strange),
    lambda strange: _cline(2, tokensIn=strange, tokensOut=40, cost=1),
]


@each_row("make", WITH_COUNTS)
@each_row("strange", [-5, "7", [], {}, 10**15, 10**30, True])
def test_a_count_that_is_none_is_refused(read: Read, make: Callable[[object], object], strange: object) -> None:
    """Its line is in quarantine with the cause, and no usage is made of the request's other tokens."""
    events, (reject,) = read(make(strange))
    assert (reject.why, _told(events)) in [("bad_count", []), ("bad_number", [])]
    events, rejects = read(make(7))
    assert (len(_told(events)), rejects) == (1, [])
    events, rejects = read(make(None))
    assert (len(_told(events)), rejects) == (1, [])
