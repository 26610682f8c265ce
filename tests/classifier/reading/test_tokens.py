"""Token limits: the texts of providers are overflows, and their counts come out the right way round."""

from __future__ import annotations

import pytest

from analyzer.classifier import classify
from analyzer.classifier.reading import tokens
from analyzer.classifier.reading.tokens import token_counts
from tests import each_row
from tests.growth import assert_linear

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
WORDED = [
    # The complaint comes first, then the numbers: one of another, or side by side in either order.
    ("maximum context length exceeded: 9000 tokens of 8192", 9_000, 8_192),
    ("maximum context length exceeded: 9000 tokens out of 8192", 9_000, 8_192),
    ("maximum context length exceeded: 9000 tokens (limit 8192)", 9_000, 8_192),
    ("maximum context length exceeded (limit 8192): 9000 tokens", 9_000, 8_192),
    ("context window exceeded: 9,000 of 8,192 tokens used", 9_000, 8_192),
    ("context window exceeded: used 9_000 of 8_192 tokens", 9_000, 8_192),
    ("context window limit 8192 exceeded: 9000 tokens", 9_000, 8_192),
    ("context length exceeded: limit is 8192, requested 9000", 9_000, 8_192),
    ("context length exceeded: requested 9000, limit is 8192", 9_000, 8_192),
    ("token limit exceeded: 9000/8192", 9_000, 8_192),
    ("token limit exceeded: 9000 / 8192 tokens", 9_000, 8_192),
    ("token limit exceeded: maximum 8192, got 9000", 9_000, 8_192),
    ("token limit exceeded: got 9000, maximum 8192", 9_000, 8_192),
    ("200k token limit reached: 210k tokens in prompt", 210_000, 200_000),
    ("Conversation too long: 210K tokens (max: 200K)", 210_000, 200_000),
    ("prompt is too long: 1.2M tokens > 1M maximum", 1_200_000, 1_000_000),
    # A verb or a sign between them.
    ("context_length_exceeded: 9000 tokens exceeds maximum of 8192", 9_000, 8_192),
    ("limit of 8192 tokens exceeded by request with 9000 tokens", 9_000, 8_192),
    ("maximum context length of 8192 tokens is less than the 9000 tokens requested", 9_000, 8_192),
    ("8,192 < 9,000: the context window is too small for the prompt", 9_000, 8_192),
    ("prompt too long; exceeded max context length by 808 tokens (9000 vs 8192 max)", 9_000, 8_192),
    # The words before each, or behind it.
    ("9000 tokens were requested but the maximum context length is 8192", 9_000, 8_192),
    ("you requested 9000 tokens, maximum context length is 8192 tokens", 9_000, 8_192),
    ("8192 token context window, 9000 tokens given", 9_000, 8_192),
    ("Input is 9k tokens, but the model's context window is 8k", 9_000, 8_000),
    # Gemini, Bedrock, vLLM, llama.cpp, LM Studio, Moonshot, TGI, Mistral, proxies.
    ("The input token count of 9000 exceeds the maximum of 8192", 9_000, 8_192),
    ("input token count is 9000 but model only supports up to 8192. Reduce the input token count", 9_000, 8_192),
    ("Input is too long for requested model: 9000 total tokens > 8192 maximum", 9_000, 8_192),
    ("Too many input tokens. Max input tokens: 8192, request input token count: 9000", 9_000, 8_192),
    ("expected maxLength: 8192, actual: 9000, please reformat your input", 9_000, 8_192),
    ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 9_000, 8_192),
    ("The prompt (total length 9000) is too long to fit into the model (context length 8192).", 9_000, 8_192),
    ("the request exceeds the available context size\nn_prompt_tokens: 9000\nn_ctx: 8192", 9_000, 8_192),
    ("the request exceeds the available context size\nn_ctx: 512\nn_prompt_tokens: 1400", 1_400, 512),
    ("Requested tokens (9000) exceed context window of 8192", 9_000, 8_192),
    ("keep the first 9000 tokens; the model is loaded with context length of only 8192 tokens", 9_000, 8_192),
    ("Your request exceeded model token limit: 8192 (requested: 9000)", 9_000, 8_192),
    ("`inputs` must have less than 8192 tokens. Given: 9000", 9_000, 8_192),
    ("Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum", 9_000, 8_192),
    ("The model can handle at most 8192 tokens, your request has 9001", 9_001, 8_192),
    ("input tokens (9000) + output tokens (512) > context size 8192", 9_512, 8_192),
    # What the answer may take, a part, an excess, a status, a name: none of them is asked for or the limit.
    ("you requested 9512 tokens (9000 in the messages, 512 in the completion); the limit is 8192", 9_512, 8_192),
    ("requested 512 output tokens and 7681 input tokens, for a total of at least 8193; the limit: 8192", 8_193, 8_192),
    ("You passed 9000 input tokens and requested 512 output tokens; the context length is 8192", 9_000, 8_192),
    ("'max_tokens' is too large: 64000. The context length is 20000 and your prompt has 16614", 16_614, 20_000),
    ("Your input exceeds the context window by 808 tokens", None, None),
    ("size limit exceeded by 808 tokens. The limit for this model is 8192 tokens", None, 8_192),
    ("400 prompt is too long: 9000 tokens > 8192 maximum", 9_000, 8_192),
    ("Error code: 413 - the prompt is too long", None, None),
    ("request body size 41943040 exceeds the limit of 33554432 bytes", None, None),
    ("model atlas-9-2026-04-14: context window exceeded: prompt of 9000 tokens", 9_000, None),
    ("context length exceeded for atlas3 at 2026-11-21 08:15:30", None, None),
    ("Context window exceeded: requested 12000 tokens", 12_000, None),
    ("embedding input exceeds 8191 tokens", None, 8_191),
]


@each_row("text, current, most", WORDED)
def test_the_words_beside_a_number_say_what_it_is(text, current, most):
    """A number is what was asked for or the limit by the words and signs beside it, in either order."""
    assert token_counts(text) == (current, most)


@pytest.mark.parametrize("unit", ["9000 tokens of 8192, ", "9", "context ", "> 9000 "])
def test_numbers_without_end_are_read_in_linear_time(unit):
    """A text of nothing but numbers gives some answer, in time that grows with its length."""
    assert_linear(token_counts, unit * (40_000 // len(unit)), unit * (160_000 // len(unit)))


UNCOUNTED = [
    "prompt is too long",
    "context_length_exceeded",
    "Request too large",
    "Please reduce the length of the messages",
    "token limit exceeded",
    "context is too long",
]


@each_row("text, current, most", [row[1:] for row in COUNTED])
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


def test_words_are_read_once_for_texts_that_differ_in_an_id():
    """An id behind the words of a count does not make them new ones, and its digits are none."""
    text = "request {0}: prompt is too long: 210000 tokens > 200000 maximum (request id: {0})"
    assert token_counts(text.format("req_7f4c1000e9")) == (210_000, 200_000)
    before = tokens._from_after.cache_info().misses
    assert token_counts(text.format("req_55500000a1")) == (210_000, 200_000)
    assert tokens._from_after.cache_info().misses == before
