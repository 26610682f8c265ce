"""Lines of a block are counted by two ways that agree, whichever one is quicker for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.importers import base, block_of, newlines

_LINES = st.lists(
    st.sampled_from([b"{}", b"{x}", b"", b"}", b"{", b"x" * 70, b"{" + b"y" * 300 + b"}", b"{" + b"z" * 40 + b"}"]),
    max_size=60,
)


@given(_LINES, st.integers(0, 400), st.integers(0, 4000))
def test_every_newline_is_counted_once(texts: list[bytes], start: int, end: int) -> None:
    """Wherever windows begin and lines are long or short; a block is uniform where each line is `{…}`."""
    data = b"".join(text + b"\n" for text in texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_WINDOW", 128)
        patch.setattr(base, "_FEW", 4)
        assert newlines(data, start, min(end, len(data))) == data.count(b"\n", start, min(end, len(data)))
        block = block_of(data)
    whole = all(text[:1] == b"{" and text[-1:] == b"}" for text in texts)
    assert block.lines == len(texts)
    assert block.uniform is (bool(texts) and whole)
