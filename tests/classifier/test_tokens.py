"""Token limits: the texts of providers are overflows, and their counts come out the right way round."""

from __future__ import annotations

import pytest

from analyzer.classifier import classify

COUNTED = [
    ("anthropic", "prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
    ("thousands", "prompt is too long: 1,250,000 tokens > 1,000,000 maximum", 1_250_000, 1_000_000),
    (
        "openai-requested",
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
        9_000,
        8_192,
    ),
    (
        "openai-resulted",
        "maximum context length is 4097 tokens. However, your messages resulted in 5012 tokens.",
        5_012,
        4_097,
    ),
    ("sum", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 210_000, 200_000),
    ("llama-cpp", "request (9100 tokens) exceeds the available context size (8192 tokens)", 9_100, 8_192),
    (
        "google",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)",
        1_100_000,
        1_048_576,
    ),
    ("openrouter", "The input (9100 tokens) is longer than the model's context length (8192 tokens).", 9_100, 8_192),
    ("window", "Model context window is 128k tokens, you requested 256k tokens", 256_000, 128_000),
    ("comparison", "context length exceeded: 250000 > 200000", 250_000, 200_000),
    ("n-keep", "n_keep (9100) >= n_ctx (8192)", 9_100, 8_192),
    ("input-length", "Input length 9100 exceeds the maximum allowed input length of 8192 tokens.", 9_100, 8_192),
    ("prompt-length", "This model's maximum prompt length is 8192 but the request contains 9100 tokens.", 9_100, 8_192),
    ("only-maximum", "maximum context length is 4096 tokens", None, 4_096),
]
UNCOUNTED = [
    "prompt is too long",
    "context_length_exceeded",
    "Request too large",
    "Please reduce the length of the messages",
    "token limit exceeded",
    "context is too long",
]


@pytest.mark.parametrize(("text", "current", "most"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_counts(text, current, most):
    """An overflow text with counts gives current and maximum, whichever comes first."""
    found = classify({"status": 400, "message": text})
    assert (found.reason, found.current_tokens, found.max_tokens) == ("context_overflow", current, most)


@pytest.mark.parametrize("text", UNCOUNTED)
def test_without_counts(text):
    """An overflow text without counts is an overflow with both counts open."""
    found = classify(text)
    assert (found.reason, found.current_tokens, found.max_tokens) == ("context_overflow", None, None)


@pytest.mark.parametrize("code", ["context_length_exceeded", "token_limit_exceeded"])
@pytest.mark.parametrize(
    "wrap", [lambda b: b, lambda b: {"error": b}, lambda b: {"data": b}], ids=["flat", "error", "data"]
)
def test_codes(code, wrap):
    """The known codes mean an overflow at any of the places where clients put them."""
    assert classify(wrap({"code": code})).reason == "context_overflow"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: {"message": text},
        lambda text: {"error": {"message": text}},
        lambda text: {"data": {"message": text}},
        lambda text: {"data": {"error": {"message": text}}},
        lambda text: {"payload": {"whatever": text}},
    ],
    ids=["message", "error", "data", "data-error", "anywhere"],
)
def test_places(wrap):
    """The text is found wherever a client nests it, with provider and model beside it."""
    error = {**wrap(COUNTED[0][1]), "providerID": "atlas", "modelID": "atlas-9"}
    found = classify(error)
    assert (found.current_tokens, found.max_tokens) == (210_000, 200_000)
    assert (found.provider, found.model) == ("atlas", "atlas-9")


def test_other_errors_have_no_counts():
    """Numbers in other errors are no token counts."""
    found = classify({"status": 429, "message": "Limit 30000 tokens per min, Requested 42000"})
    assert (found.reason, found.current_tokens, found.max_tokens) == ("rate_limited", None, None)
