"""What a person reads first of an error's text."""

from __future__ import annotations

import json

import pytest

from analyzer.readable import gist

SENTENCE = 'The "small" model is full; try again in a moment.'
BODY = json.dumps({"error": {"code": 503, "message": SENTENCE, "status": "UNAVAILABLE"}}, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"ServiceError: upstreamException - {BODY.encode()!r}",
        f"API Error: 503 {BODY}",
        json.dumps({"body": BODY}),
        json.dumps(json.dumps({"body": BODY})),
        str({"error": {"message": SENTENCE}}),
    ],
    ids=["body", "repr", "prefix", "nested", "nested twice", "mapping"],
)
def test_a_message_inside_of_a_body_is_the_gist(text: str) -> None:
    """In whatever notation the body stands, its message is shown as its author wrote it."""
    assert gist(text) == SENTENCE


@pytest.mark.parametrize("text", ["connection reset by peer", '{"message": ""}', "no message: none was given"])
def test_a_text_without_a_body_is_its_own_gist(text: str) -> None:
    """An empty message of a body is no gist either."""
    assert gist(text) == text


def test_a_gist_is_one_line() -> None:
    """Line breaks, written or escaped, become spaces; a body that was cut before its end is shown as far as it goes."""
    assert gist("first\n  second\\nthird") == "first second third"
    assert gist('{"message": "cut off in the mid') == "cut off in the mid"
