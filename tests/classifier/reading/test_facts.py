"""Facts: a stored event can be judged again exactly as it was judged live, and nothing that comes in can raise."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier import REASONS, RECOVERY, Facts, classify, classify_facts, extract

AT = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)

WORDS = st.sampled_from(
    [
        "rate limit exceeded",
        "prompt is too long: 9 tokens > 8 maximum",
        "API Error: 529",
        "You've hit your limit · resets 3pm (Asia/Tokyo)",
        "Claude AI usage limit reached|1790000000",
        '{"error":{"type":"overloaded_error","message":"x"}}',
        "{'error': {'code': 429}}",
        "Error code: 429 - ",
        "<!doctype html><title>502 Bad Gateway</title>",
        "password=hunter2secret",
        "sk-ant-api03-aaaaaaaaaaaaaaaa",
        "try again in 3s",
        "\x1b[31m",
        "\ud800",
        "\x00",
        "[[[",
        '{"a":',
        "余额不足",
    ]
)
TEXT = st.lists(st.one_of(WORDS, st.text(max_size=30)), max_size=6).map(" ".join) | st.text(max_size=60).map(
    lambda t: t * 100
)
KEYS = st.sampled_from(
    [
        "status",
        "code",
        "type",
        "message",
        "body",
        "headers",
        "exit_code",
        "stdout",
        "stderr",
        "exception_class",
        "provider",
        "model",
        "cause",
        "response",
        "timestamp",
        "subtype",
        "terminal_reason",
        "is_error",
        "result",
        "errors",
        "api_error_status",
        "error",
        "details",
        "reason",
        "retry_after",
        "resets_at",
        "connection",
        "metadata",
        "raw",
        "detail",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.binary(max_size=20))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
ERRORS = st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=8))
NAMES = st.none() | st.text(max_size=20)
FACTS = st.recursive(
    st.builds(Facts),
    lambda inner: st.builds(
        Facts,
        status=st.none() | st.integers(),
        code=NAMES,
        type=NAMES,
        subtype=NAMES,
        terminal_reason=NAMES,
        is_error=st.none() | st.booleans(),
        message=st.none() | TEXT,
        provider=NAMES,
        model=NAMES,
        exception_class=NAMES,
        exit_code=st.none() | st.integers(),
        stdout=st.none() | TEXT,
        stderr=st.none() | TEXT,
        headers=st.none() | st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3),
        cause=st.none() | inner,
    ),
    max_leaves=4,
)


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@given(FACTS)
def test_round_trip(facts):
    """Any facts come back equal from their own JSON."""
    assert Facts.from_dict(facts.to_dict()) == facts
    assert Facts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@given(ERRORS)
def test_replay_gives_the_same_classification(error):
    """Stored facts, judged again by the same ruleset, give the very same classification."""
    live = classify(error, at=AT)
    stored = Facts.from_dict(json.loads(json.dumps(live.facts.to_dict())))
    assert classify_facts(stored, at=AT) == live


@given(ERRORS)
def test_classify_is_total_and_deterministic(error):
    """Whatever comes in, one classification of the taxonomy comes out, and the same one again."""
    found = classify(error, at=AT)
    assert found.reason in RECOVERY
    assert found.reason in REASONS
    assert classify(error, at=AT) == found
    json.dumps(found.to_dict(), allow_nan=False)


@given(FACTS)
def test_any_facts_can_be_judged(facts):
    """Facts that nobody normalised can be judged too."""
    assert classify_facts(facts, at=AT).reason in REASONS


@given(ERRORS)
def test_facts_are_capped(error):
    """No facts hold more than their caps, however much came in."""
    facts = extract(error)
    depth = 0
    while facts is not None:
        assert len(facts.message or "") <= 2_000
        assert len(facts.stdout or "") <= 4_000
        assert max(map(len, (facts.code or "", facts.type or "", facts.provider or ""))) <= 200
        facts, depth = facts.cause, depth + 1
    assert depth <= 6


@pytest.mark.parametrize(
    "stored", [None, 3, "x", [], {"status": "many", "headers": 3, "cause": "x", "is_error": 1}, {1: 2}]
)
def test_from_dict_is_total(stored):
    """Stored objects of the wrong shape give facts without what was wrong."""
    assert Facts.from_dict(stored) == Facts()


def test_absent_fields_are_left_out():
    """The stored form holds only what is known."""
    assert Facts(status=429).to_dict() == {"status": 429}
    assert Facts(cause=Facts(code="X"), headers={}).to_dict() == {"headers": {}, "cause": {"code": "X"}}


def test_long_output_keeps_head_and_tail():
    """Output beyond the cap keeps its head and its tail and says how much went."""
    facts = extract({"exit_code": 1, "stdout": "HEAD " + "x" * 50_000 + " TAIL"})
    assert facts.stdout is not None
    assert facts.stdout.startswith("HEAD")
    assert facts.stdout.endswith("TAIL")
    assert "characters cut" in facts.stdout


def test_secrets_go_before_the_cut():
    """A secret that the cut would split is redacted whole."""
    secret = "sk-ant-api03-" + "a1B2" * 20
    for pad in (1_400, 1_470, 1_490):
        assert "a1B2a1B2" not in (extract({"message": "x " * (pad // 2) + secret + " y" * 900}).message or "")


def test_classification_prints_the_documented_keys():
    """The printed form has exactly the documented keys, in order."""
    assert list(classify("x").to_dict()) == [
        "reason",
        "detail",
        "retryable",
        "action",
        "party",
        "rule",
        "ruleset",
        "confidence",
        "retry_after_seconds",
        "reset_at",
        "current_tokens",
        "max_tokens",
        "provider",
        "model",
    ]


def test_equal_keys_of_other_types_are_not_mixed_up():
    """True and 1 are different evidence, whichever was seen first."""
    assert extract({"status": 500, "is_error": True}).is_error is True
    assert extract({"status": 500, "is_error": 1}).is_error is None
