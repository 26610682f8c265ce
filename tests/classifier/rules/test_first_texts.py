"""The first texts of a process are matched without the automaton of all patterns, and with its answers."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier import classify, default_ruleset
from analyzer.classifier.rules.index import MOST, Index, first_texts
from analyzer.classifier.rules.ruleset import ascii_matcher, utf8_matcher, without_old_letters
from benchmarks import workload
from tests import REPOSITORY, each_row
from tests.needed_words import needed_words

RULES = default_ruleset()
INDEX = Index(RULES)
FIRST = first_texts(INDEX.patterns, RULES.compiled.words)
MANY = utf8_matcher([pattern.text for pattern in INDEX.patterns])
PROBES = (REPOSITORY / "tests/classifier/rules/probes.jsonl").read_text("utf-8").splitlines()


def texts_of(value: object) -> list[str]:
    """All texts in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_of(each)]
    return [text for each in value for text in texts_of(each)] if isinstance(value, (list, tuple)) else []


def same(text: str) -> bool:
    """Whether both ways find the same patterns in a text."""
    raw = text.encode("utf-8", "replace")
    return FIRST(raw) == sorted(MANY(raw) or ())


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("rule", RULES.rules)
def test_examples_of_rules_match_alike(rule):
    """The examples of a rule and its counter-examples, in any case, match the same patterns both ways."""
    texts = texts_of([rule.examples, rule.counter_examples])
    assert [text for text in texts if not (same(text) and same(text.upper()) and same(f"Error: {text}\n"))] == []


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
def test_probes_and_workload_match_alike():
    """So do real-looking errors, in one language and another."""
    texts = [text for line in PROBES for text in texts_of(json.loads(line))]
    texts += [text for number in range(300) for text in texts_of(workload.mapping(number))]
    assert len(texts) > 1_500
    assert [text for text in texts if not same(text)] == []


@given(st.data())
def test_what_a_part_finds_has_one_of_its_words(data):
    """A text made after a part of a pattern is found by that pattern, whatever stands around it."""
    pattern = data.draw(st.sampled_from(INDEX.patterns))
    part = data.draw(st.sampled_from(pattern.parts))
    try:
        text = data.draw(st.from_regex(f"(?i){part}"))
    except Exception:  # what Python's `re` reads otherwise, hypothesis cannot make
        text = part
    assert same(text)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("rate limit", {"rate limit"}),
        ("(?:Rate|usage) limits?", {" limit"}),
        ("too (?:long|large)x?", {"too l"}),
        ("(?:quota|credit)+ [a-z]*", {"quota", "credit"}),
        ("(?:quota|[a-z]{3})", set()),
        ("(?:quota)?", set()),
        ("[[:alpha:]]abc", set()),
        ("余额", {"余额"}),
        ("über", {"\x80"}),
        ("ошибка", {"\x80"}),
        ("(?:a|b)", set()),
    ],
)
def test_words_of_a_pattern(pattern, words):
    """What may be missing in a match is never among the words; where nothing is sure, there are none."""
    assert needed_words(pattern) == words


@pytest.mark.parametrize(
    ("text", "plain"),
    [("TOO MANY REQUE\u017fT\u017f", "too many requests"), ("to\u212aen has expired", "token has expired")],
)
def test_letters_that_re2_takes_for_others(text, plain):
    """A long s is an s, and a kelvin sign a k: they are when a text is flattened, and no pattern looks for them."""
    assert classify(text).rule == classify(plain).rule != "none"
    assert same(text)


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("ask", "a(?-i:[Ss])(?-i:[Kk])"),
        (r"\bS\s\x6b\pS[[:space:]k]?", r"\b(?-i:[Ss])\s\x6b\pS[[:space:]k]?"),
        ("(?s:k)(?P<ask>[]s^])", "(?s:(?-i:[Kk]))(?P<ask>[]s^])"),
        ("(?-i:ask) me", "(?-i:ask) me"),
        (r"\Qask\E", r"\Qask\E"),
    ],
)
def test_letters_of_patterns_have_two_cases(pattern, plain):
    """Only the letters that stand for themselves are named by their two cases."""
    assert without_old_letters(pattern) == plain


def test_an_index_changes_to_the_automata():
    """After the first texts both matchers are the automata, and no answer changes."""
    index = Index(RULES)
    texts = [f"HTTP {400 + number} Too Many Requests ({number})".encode() for number in range(MOST + 3)]
    found = [sorted(index.match_ascii(text) or ()) for text in texts]
    assert found == [sorted(MANY(text) or ()) for text in texts]
    assert index.match_ascii is not index.match
    assert sorted(index.match("Zu viele Anfragen: überlastet".encode())) == sorted(
        MANY("Zu viele Anfragen: überlastet".encode())
    )


def test_both_automata_are_one_to_the_first_texts():
    """For ASCII texts the smaller automaton says the same as well."""
    match = ascii_matcher([pattern.text for pattern in INDEX.patterns])
    texts = islice((text for line in PROBES for text in texts_of(json.loads(line)) if text.isascii()), 300)
    assert all(sorted(match(text.encode()) or ()) == FIRST(text.encode()) for text in texts)


IDS = ("9c4e1b7a20d85f36", "req_011CQ2xV7b9kD3", "4b1f0c9e-77aa-4d2e-9b1c-5d0e8f3a6c21", "d3adb33f0042")


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("name", IDS)
def test_ids_match_alike(name):
    """An id in a text is not looked into, and what the patterns find around it is the same."""
    texts = [f"{text} ({name})" for line in PROBES for text in texts_of(json.loads(line)["input"])]
    raws = [text.encode("utf-8", "replace") for text in texts]
    assert [raw for raw in raws if sorted(INDEX.numbers_in(raw)) != FIRST(raw)] == []


@pytest.mark.parametrize("text", ["resets in 1d10h20m30s", "try again in 100h20m30s", "wait 5m30s, then retry"])
def test_a_duration_is_no_id(text):
    """Letters between digits that are units of time are read as they stand."""
    assert classify(f"429 Too Many Requests: {text}").retry_after_seconds


def test_rules_of_a_user_are_matched_alike(tmp_path):
    """A ruleset whose words nobody has worked out has the automata at once."""
    own = tmp_path / "own.toml"
    own.write_text(
        '[[rule]]\nid = "own"\nreason = "unknown"\nsource = "s"\ntext = ["flurb"]\n'
        'examples = ["flurb", "a flurb"]\ncounter_examples = ["d"]\n'
    )
    assert classify("flurb", rules=own).rule == "own"
    own.write_text(own.read_text().replace("flurb", "job 9c4e1b7a20d8"))
    assert classify("lost job 9c4e1b7a20d8 again", rules=own).rule == "own"
    assert classify("429 Too Many Requests", rules=own).rule == classify("429 Too Many Requests").rule
