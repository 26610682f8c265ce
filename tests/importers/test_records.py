"""Lines of a block are found, and nothing that a record holds makes a reader raise."""

from __future__ import annotations

import json
import random
from datetime import datetime
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.importers import BY_NAME, Source, block_of
from tests import LONG_RUNS, each_row
from tests.importers.new_kinds.cases import CASES
from tests.shown_formats import LOGS, PATHS

_LINES = st.lists(
    st.sampled_from([b"{}", b"{x}", b"", b"}", b"{", b"x" * 70, b"{" + b"y" * 300 + b"}", b"{" + b"z" * 40 + b"}"]),
    max_size=60,
)


@given(_LINES)
def test_every_line_of_a_block_has_its_number(texts: list[bytes]) -> None:
    """Lines are told by their newlines; a block is uniform where each line is `{…}`."""
    block = block_of(b"".join(text + b"\n" for text in texts))
    begins = accumulate((len(text) + 1 for text in texts), initial=0)
    assert [block.number(offset) for offset in begins][:-1] == list(range(1, len(texts) + 1))
    assert len(block.ends) == len(texts)
    whole = all(text[:1] == b"{" and text[-1:] == b"}" for text in texts)
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


@each_row("name", sorted(LOGS))
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


_SAID_LAST = {
    "antigravity": {
        "step_index": 9,
        "source": "SYSTEM",
        "type": "SYSTEM_MESSAGE",
        "created_at": "2026-03-05T11:00:00Z",
    },
    "codex": {"type": "event_msg", "timestamp": "2026-03-05T11:00:00Z", "payload": {"type": "agent_message"}},
    "copilot": {"type": "hook.end", "timestamp": "2026-03-05T11:00:00Z", "data": {}, "parentId": None},
    "gemini_chat": {"type": "user", "id": "last", "timestamp": "2026-03-05T11:00:00Z", "content": "bye"},
    "pi": {"type": "message", "id": "last", "timestamp": "2026-03-05T11:00:00Z", "message": {"role": "bashExecution"}},
}
"""A last record of some kinds, of which nothing is read."""


@pytest.mark.parametrize("name", _SAID_LAST)
def test_a_session_lasts_until_its_last_record(name: str) -> None:
    """Also where that is no reply and no failure."""
    reader = BY_NAME[name].reader
    assert reader is not None
    made = reader(Source(PATHS.get(name, "log"), datetime(2026, 3, 5)), {})
    records = [*LOGS[name], _SAID_LAST[name]]
    list(made.read(block_of(b"".join(json.dumps(record).encode() + b"\n" for record in records))))
    (seen,) = made.finish()
    assert seen.payload["ended_at"] == "2026-03-05T11:00:00.000Z"


_GLANCING = [name for name in sorted(LOGS) if getattr(BY_NAME[name].reader, "glance", None) is not None]


@pytest.mark.parametrize("name", _GLANCING)
def test_a_glance_gives_the_events_of_the_whole_record(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a few fields suffice the rest changes nothing, however strange some values are."""
    reader: Any = BY_NAME[name].reader
    logs: list[list[object]] = [LOGS[name], *([*case.records] for case in CASES if case.format == name)]
    for seed in range(20 * LONG_RUNS):
        chance = random.Random(seed)
        records = [item if seed == 0 else _strange(item, chance) for log in logs for item in log]
        block = block_of(b"".join(json.dumps(record).encode() + b"\n" for record in records))
        found = []
        for glance in (reader.glance, None):
            monkeypatch.setattr(reader, "glance", glance)
            made = reader(Source(PATHS.get(name, "task/log"), datetime(2026, 3, 5)), {})
            found.append(([repr(hit) for hit in made.read(block)], [*made.finish()]))
            monkeypatch.undo()
        assert found[0] == found[1]


def test_a_line_that_no_glance_can_read_is_told_with_what_is_wrong() -> None:
    """A record that breaks off is in quarantine, wherever it stands, and the ones beside it are read."""
    reply = {
        "type": "message",
        "id": "e",
        "message": {"role": "assistant", "stopReason": "stop", "usage": {"input": 7}},
    }
    lines = [b'{"type": "message", "message": {"role": "toolResult", "content": "\xff}', json.dumps(reply).encode()]
    reader = BY_NAME["pi"].reader
    assert reader is not None
    hits = list(reader(Source("log", datetime(2026, 3, 5)), {}).read(block_of(b"\n".join(lines) + b"\n")))
    assert [(hit.why, len(hit.events)) for hit in hits] == [("invalid_utf8", 0), ("", 1)]
