"""Sanitizing: two roads with one meaning, and no value of a host's that is too much for it."""

from __future__ import annotations

from collections import UserDict
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.events import EventLog, sanitize
from analyzer.events.sanitize import MAX_TEXT, payload_json
from tests.events.disk import read_back
from tests.growth import assert_takes
from tests.redaction.test_text import CORPUS

sanitized = sanitize.sanitize


class Colour(IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")


class Unruly:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Endless(dict[str, Any]):
    def items(self) -> Any:
        """Items without an end."""
        number = 0
        while True:
            yield str(number), number
            number += 1


texts = st.one_of(
    st.text(max_size=12), st.sampled_from([*CORPUS, "password", "--token", "hunter2 x", "\ud800", "x" * 300])
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**63 - 2, 2**64 + 2),
    st.floats(),
    texts,
    st.binary(max_size=8),
    st.datetimes(),
    st.sampled_from([Colour.RED, Text("sub"), Decimal("1.5"), Unruly(), 1j, frozenset({1}), Path("/a"), 10**4_000]),
)
keys = st.one_of(texts, st.integers(), st.none(), st.booleans(), st.floats(), st.binary(max_size=3))
payloads = st.dictionaries(
    keys,
    st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.tuples(inner, inner)
            | st.dictionaries(keys, inner, max_size=4)
            | st.dictionaries(texts, inner, max_size=2).map(UserDict)
        ),
        max_leaves=12,
    ),
    max_size=5,
)


@example({"n": [2**64, -(2**63) - 1]})
@given(payloads)
def test_the_fast_road_gives_what_the_slow_one_gives(payload: dict[Any, Any]) -> None:
    """Encoded at once or walked: the same bytes."""
    assert payload_json(payload) == msgspec.json.encode(sanitized(payload))


secret_names = st.sampled_from(["token", "password", "api_key", "cookie", "auth", "name", "value", "a"])
telling = st.sampled_from(["", "a", "12", "hunter2x", "correct-horse", "token", "value", "--password", "-u", "curl"])
under_names = st.dictionaries(
    secret_names,
    st.recursive(
        st.one_of(telling, st.integers(-5, 10**6), st.none(), st.booleans(), st.floats(width=16)),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(secret_names, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)


@example({"token": [1, "hunter2x"]})
@example({"token": ["", "hunter2x"]})
@example({"password": [[], {}, "hunter2x"]})
@example({"a": -0.0})
@given(under_names)
def test_the_fast_road_leaves_no_secret_behind(payload: dict[str, Any]) -> None:
    """Whatever stands before it in a list under a secret's name."""
    assert payload_json(payload) == msgspec.json.encode(sanitized(payload))


@given(payloads)
def test_sanitizing_twice_is_sanitizing_once(payload: dict[Any, Any]) -> None:
    """What stands on the log changes no more when it is ingested."""
    once = msgspec.json.decode(payload_json(payload))
    assert sanitized(once) == once


def test_clean_payloads_take_the_fast_road(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary event is not walked, an event with a secret is."""
    walked: list[object] = []
    monkeypatch.setattr(sanitize, "sanitize", lambda value: walked.append(value) or {})
    payload_json({"caller": "a", "max_tokens": 5, "facts": {"message": "slow", "headers": [1, None, float("nan")]}})
    assert not walked
    payload_json({"password": "hunter2x"})
    assert len(walked) == 1


def test_long_texts_are_cut_after_redaction() -> None:
    """A secret across the cut is gone, the text says how much is missing, and its length is bounded."""
    secret = "ghp_" + "a1B2c3D4" * 5
    for before in range(MAX_TEXT - 60, MAX_TEXT + 1):
        clean = sanitized("x" * before + " " + secret + "y" * 9_000)
        assert "a1B2" not in clean
        assert len(clean) <= MAX_TEXT
        assert clean.endswith(" characters cut]")


def loop() -> dict[str, Any]:
    """A container that holds itself twice: walked without a bound, it has 2 ** 32 leaves."""
    value: dict[str, Any] = {}
    value["a"], value["b"], value["c"] = value, value, [value, value]
    return value


def shared() -> dict[str, Any]:
    """No cycle, and all the same 2 ** 30 leaves."""
    value: Any = "leaf"
    for _ in range(30):
        value = [value, value]
    return {"v": value}


def deep() -> dict[str, Any]:
    """A hundred thousand levels."""
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return {"v": value}


@pytest.mark.parametrize(
    "make",
    [
        loop,
        shared,
        deep,
        lambda: {"v": "x" * 50_000_000},
        lambda: {"v": b"\xff" * 20_000_000},
        lambda: {"v": "password=" * 1_000_000},
        lambda: {"v": 10**100_000},
        lambda: {"v": list(range(1_000_000))},
        lambda: {str(n): "token=abc " * 1_000 for n in range(1_000)},
        lambda: {"v": Endless(a=1)},
        lambda: {Unruly(): Unruly()},
    ],
    ids=["loop", "shared", "deep", "long", "bytes", "dense", "number", "items", "many", "endless", "unruly"],
)
def test_a_monstrous_payload_is_an_event_within_seconds(tmp_path: Path, make: Any) -> None:
    """Whatever a host passes is written in some form, in bounded time and as a line of bounded length."""
    payload = make()
    log = EventLog(tmp_path)
    assert_takes(lambda: log.append("a.b", payload), 5)
    events = read_back(tmp_path)
    assert events
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1_100_000 * len(events)


def test_types_become_what_a_reader_expects() -> None:
    """The table of replacements."""
    assert sanitized(
        {
            "time": datetime(2026, 11, 1, 2, 3, 4, 567_000),
            "bytes": b"ab\xff",
            "nan": float("nan"),
            "set": {1},
            "enum": Colour.RED,
            "huge": 2**64,
            "surrogate": "a\udcff",
            3: Decimal("1.50"),
            "unruly": Unruly(),
            "sub": Text("sub"),
            "argv": ["--password", "hunter2x", "--max-tokens", "4096"],
        }
    ) == {
        "time": "2026-11-01T02:03:04.567Z",
        "bytes": "ab\ufffd",
        "nan": None,
        "set": [1],
        "enum": 1,
        "huge": "18446744073709551616",
        "surrogate": "a\ufffd",
        "3": "1.50",
        "unruly": "[unreadable Unruly]",
        "sub": "sub",
        "argv": ["--password", "[REDACTED:argument:53adcb89]", "--max-tokens", "4096"],
    }
