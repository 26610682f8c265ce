"""Lines of a block are counted by two ways that agree, whichever one is quicker for it."""

from __future__ import annotations

import json
import random
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.importers import BY_NAME, Source, base, block_of, newlines
from tests import LONG_RUNS
from tests.shown_formats import LOGS

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


STRANGE: tuple[Any, ...] = (None, 5, -1, 1e300, True, "x", "", "9" * 400, [], [1], ["a"], [[]], {}, {"type": [5]})
PLACES: tuple[Any, ...] = ([], ["messages"], [["a"], 1, "x"], ["messages", None, []], ["sessions", {}, "x"])


def _strange(value: Any, chance: random.Random) -> Any:
    """The value with some of its members missing, and others of another kind."""
    if chance.random() < 0.12:
        return chance.choice(STRANGE)
    if isinstance(value, list):
        return [_strange(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _strange(inner, chance) for key, inner in value.items() if chance.random() > 0.03}
    return {**found, "$row": chance.choice(PLACES)} if chance.random() < 0.03 else found


@pytest.mark.parametrize("name", sorted(LOGS))
def test_nothing_raises_whatever_a_record_holds(name: str) -> None:
    """Events or not, the reader goes on, and its state can be kept."""
    make = BY_NAME[name].reader
    assert make is not None
    for seed in range(60 * LONG_RUNS):
        chance = random.Random(seed)
        records = [_strange(record, chance) for record in LOGS[name] if isinstance(record, dict)]
        reader = make(Source("log", datetime(2026, 3, 5)), {})
        for record in records:
            assert all(hit.length for hit in reader.read(block_of(json.dumps(record).encode() + b"\n")))
        list(reader.finish())
        json.dumps(reader.state())
