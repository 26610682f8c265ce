"""Halves of UTF-16 pairs: escaped in JSON or in a text, each that stands alone is U+FFFD."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from analyzer.redaction.unfolding import mended, readable

PIECES = st.lists(st.sampled_from(["\ud83d", "\ude00", "\U0001f600", "\\", '"', "u", "\\ud83d", "a", "\0"]))


@given(PIECES)
def test_json_says_what_utf_8_can_hold_of_a_text(pieces: list[str]) -> None:
    """Two halves that belong together are one character; a line keeps its length, and a whole one is unchanged."""
    text = "".join(pieces)
    line = json.dumps(text).encode()
    assert json.loads(mended(line)) == readable(text)
    assert len(mended(line)) == len(line)
    assert (mended(line) is line) is ("\ufffd" not in readable(text))
