"""The first texts and values of a process are searched by other means, and with the same answers."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.redaction import engine, walk
from analyzer.redaction.engine import _Prefilter, prefilter_with
from analyzer.redaction.families import FAMILIES
from analyzer.redaction.places import PLACES
from tests import each_row, reference
from tests.needed_words import needed_words
from tests.redaction.contexts import PASSWORD, texts

MANY = prefilter_with()


@functools.cache
def words_of_all() -> list[frozenset[str]]:
    """The words of each pattern, worked out here."""
    return [needed_words(each, over_bytes=True) for each in engine._traces()]


def few(data: bytes) -> bool:
    """What a prefilter says that has not seen many texts."""
    return bool(_Prefilter().match(data))


def forms(text: str) -> list[bytes]:
    """A text as it is, in capitals, and in two ways as JSON."""
    return [each.encode() for each in (text, text.upper(), json.dumps(text), json.dumps({"a": [text]}, indent=1))]


def test_trace_words_are_current():
    """`python -m tests.reference` would change nothing."""
    assert Path(engine.WORDS_FILE).read_text("utf-8") == reference.trace_words()


@each_row("row", [*FAMILIES, *PLACES])
def test_examples_are_found_alike(row):
    """The example of each row is suspicious both ways, in every form that the automaton finds it in."""
    text = row.example.replace("⟨", "").replace("⟩", "")
    assert few(text.encode())
    assert [few(data) for data in forms(text)] == [bool(MANY(data)) for data in forms(text)]


def test_all_places_are_found_alike():
    """Every place that a password may stand in is suspicious both ways, and so is none that only one way finds."""
    data = [each for text in texts() for each in forms(text)]
    assert len(data) > 200
    assert [each for each in data if few(each) != bool(MANY(each))] == []


@pytest.mark.no_cover  # making texts of patterns is no work of what is measured
@given(st.data())
def test_what_a_trace_finds_has_one_of_its_words(data):
    """A text made after a pattern of the prefilter is suspicious both ways."""
    trace = data.draw(st.sampled_from(engine._traces()))
    text = data.draw(st.from_regex(trace.replace("(?i)", "").encode()))
    assert few(text) == bool(MANY(text))
    if MANY(text):
        assert any(not known or any(word.encode() in text.lower() for word in known) for known in words_of_all())


def test_a_prefilter_changes_to_the_automaton():
    """After the first texts, and at once for a long one, it is the automaton that answers; no answer changes."""
    prefilter = _Prefilter()
    before = prefilter.match
    texts = [
        f"password={number}{PASSWORD}" if number % 3 else f"line {number}"
        for number in range(engine._TEXTS_BEFORE_AUTOMATON + 4)
    ]
    assert [bool(prefilter.match(text.encode())) for text in texts] == [bool(MANY(text.encode())) for text in texts]
    assert prefilter.match != before
    other = _Prefilter()
    assert other.match(b"x" * engine._MAX_SHORT_TEXT + b" password=" + PASSWORD.encode())
    assert other.match != before


def test_words_of_other_patterns_are_not_used(tmp_path, monkeypatch):
    """Words that were worked out for other patterns, or cannot be read, leave the search to the automaton."""
    assert engine.words_of_traces(("another",)) == []
    monkeypatch.setattr(engine, "WORDS_FILE", str(tmp_path / "none.json"))
    engine.words_of_traces.cache_clear()
    try:
        assert few(f"password={PASSWORD}".encode())
        assert not few(b"nothing")
    finally:
        engine.words_of_traces.cache_clear()


def test_first_values_are_encoded_without_msgspec(monkeypatch):
    """Values with and without a secret are told alike before and after the quick library is loaded."""
    values = [
        {"password": PASSWORD},
        {"a": ["token", PASSWORD]},
        {"message": "page 7 of 9"},
        {"api_key": f"é{PASSWORD}"},
    ]
    quick = [walk.redact_value(value) for value in values]
    monkeypatch.setattr(walk, "_json", walk._Encoding())
    monkeypatch.setattr("sys.modules", {name: each for name, each in walk.sys.modules.items() if name != "msgspec"})
    assert [walk.redact_value(value) for value in values] == quick
    assert walk._json._left == walk._FEW - len(values)
    assert [value == given for value, given in zip(quick, values, strict=True)] == [False, False, True, False]
