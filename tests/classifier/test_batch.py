"""Batches: stored facts, many at a time, come to the very answers that each would come to alone."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier import Facts, classify, classify_facts, default_ruleset, extract
from analyzer.classifier import batch as batch_module
from analyzer.classifier.batch import classify_batch, judge_json
from analyzer.classifier.rules import deciding
from analyzer.classifier.rules.deciding import judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.loading import ruleset_for
from analyzer.classifier.rules.ruleset import ascii_matcher, utf8_matcher
from tests import each_row

RULES = default_ruleset()
SAMPLES = [sample for rule in RULES.rules for sample in (*rule.examples, *rule.counter_examples)]
STORED = [extract(sample) for sample in SAMPLES]
MESSAGES = [facts.message or facts.stderr or facts.stdout for facts in STORED]


def one_of(values):
    """Any of many values; a `sampled_from` would print all of them."""
    return st.integers(min_value=0, max_value=len(values) - 1).map(lambda number: values[number])


NAMES = st.none() | one_of([name for rule in RULES.rules for name in (*rule.names, *rule.types)]) | st.text()
WORDS = one_of([message for message in MESSAGES if message]) | st.text(max_size=30)
TEXTS = st.none() | st.lists(WORDS, max_size=4).map(" ".join) | st.lists(WORDS, max_size=30).map("\n".join)
FACTS = st.recursive(
    st.builds(
        Facts,
        status=st.none() | st.integers() | st.sampled_from([400, 401, 402, 403, 404, 413, 429, 500, 503, 529]),
        code=NAMES,
        type=NAMES,
        subtype=st.sampled_from([None, "success", "error_max_turns", ""]),
        terminal_reason=st.sampled_from([None, "completed", "prompt_too_long"]),
        is_error=st.none() | st.booleans(),
        message=TEXTS,
        provider=st.sampled_from([None, "anthropic", "OpenAI", "google", ""]),
        exception_class=NAMES,
        exit_code=st.none() | st.integers(min_value=-2, max_value=200),
        stdout=TEXTS,
        stderr=TEXTS,
        headers=st.none() | st.dictionaries(st.sampled_from(["retry-after", "x-reset"]), st.text(max_size=9)),
    ),
    lambda inner: st.builds(Facts, message=TEXTS, type=NAMES, exception_class=NAMES, cause=inner),
    max_leaves=5,
)


def answer(facts):
    """What a batch says, from a single classification."""
    found = classify_facts(facts)
    return (found.reason, found.detail, found.retryable, found.action, found.rule, found.confidence)


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@given(st.lists(FACTS, max_size=4))
def test_batch_and_single_agree(many):
    """Facts, mappings and JSON texts in a batch get the answers of `classify_facts`, in order."""
    expected = [answer(facts) for facts in many]
    assert classify_batch(many) == expected
    assert classify_batch([facts.to_dict() for facts in many]) == expected
    assert judge_json([json.dumps(facts.to_dict()) for facts in many], default_ruleset()) == expected
    assert (
        judge_json([json.dumps(facts.to_dict(), ensure_ascii=False) for facts in many], default_ruleset()) == expected
    )


@each_row("sample", SAMPLES)
def test_batch_and_single_agree_on_every_example(sample):
    """Every example and counter-example of the rules gets the same answer in a batch."""
    facts = extract(sample)
    assert judge_json([json.dumps(facts.to_dict())], default_ruleset()) == [answer(facts)]


def test_without_msgspec_the_answers_are_the_same(monkeypatch):
    """The forgiving decoder comes to the same answers as the fast one."""
    texts = [json.dumps(facts.to_dict()) for facts in STORED]
    fast = judge_json(texts, default_ruleset())
    monkeypatch.setattr(batch_module, "_decoder", lambda: batch_module._decode)
    assert judge_json(texts, default_ruleset()) == fast


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "429", "type": "overloaded_error"}',
        '{"status": 429.0, "message": null, "headers": 3}',
        '{"status": true, "cause": [], "message": "fetch failed"}',
        '{"cause": {"status": "many", "code": "ENOTFOUND"}, "more": 1}',
        '{"message": "\\ud800 fetch failed"}',
        '{"exit_code": 99999999999999999999, "is_error": 0}',
        '{"message": NaN, "status": 503}',
        "[]",
        "3",
    ],
)
def test_stored_values_of_the_wrong_type_count_as_missing(text):
    """A stored object with wrong values is judged by what is right in it, as `Facts.from_dict` reads it."""
    assert judge_json([text], default_ruleset()) == [answer(Facts.from_dict(json.loads(text)))]


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000, '{"cause":' * 5_000, "\ud800"])
def test_no_stored_text_stops_a_batch(text):
    """A text that is no JSON has an answer too, and so have its neighbours."""
    nothing = answer(Facts())
    known = answer(Facts(status=503))
    assert judge_json(['{"status": 503}', text, '{"status": 503}'], default_ruleset()) == [known, nothing, known]


def test_a_batch_follows_the_rules_of_a_file(tmp_path):
    """Rules of a file decide in a batch as they do alone."""
    path = tmp_path / "own.toml"
    path.write_text(
        'status_patterns = []\n[[rule]]\nid = "rehydrating"\nreason = "network_transient"\nsource = "a test"\n'
        'text = ["being rehydrated"]\nexamples = ["x is being rehydrated", "y is being rehydrated"]\n'
        'counter_examples = ["rehydrated"]\n',
        encoding="utf-8",
    )
    [found] = judge_json(['{"message": "snapshot 4 is being rehydrated"}'], ruleset_for(str(path)))
    assert found == ("network_transient", None, True, "retry", "rehydrating", "strong")
    assert classify_batch([Facts(message="snapshot 4 is being rehydrated")], rules=ruleset_for(path)) == [found]


def test_a_batch_can_go_to_another_process():
    """The function of the pool can be pickled."""
    assert pickle.loads(pickle.dumps(judge_json)) is judge_json


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@given(st.lists(WORDS, max_size=6).map("\n".join))
def test_both_automata_give_the_same_answer(text):
    """On ASCII texts the automaton for ASCII finds what the one for UTF-8 finds."""
    raw = text.encode("ascii", "ignore")
    index = index_of(RULES)
    assert sorted(index.match_ascii(raw) or ()) == sorted(index.match(raw) or ())


def test_characters_beyond_ascii_mean_the_same_to_both_automata():
    """Patterns with other characters, in classes, optional or by number, match ASCII texts alike."""
    patterns = ["[’']x", "秒?y", "a[^—]b", "[ -’]z", "caf[ée]", r"\p{Greek}*w"]
    for text in (b"'x", b"y", b"a-b", b" z", b"cafe", b"w", b"x"):
        assert sorted(ascii_matcher(patterns)(text) or ()) == sorted(utf8_matcher(patterns)(text) or ())
    assert ascii_matcher([r"a\x{2019}?b"])(b"ab") == [0]


@given(FACTS)
def test_a_decision_is_the_first_rule_that_its_mask_holds(facts):
    """Judging is a pure function: the same facts come to the same decision on the same level again."""
    index = index_of(RULES)
    decision, level, timely, confidence = judge(facts, index)
    again = judge(Facts.from_dict(facts.to_dict()), index)
    assert (again[0], again[1] == level, *again[2:]) == (decision, True, timely, confidence)


def test_errors_of_which_the_same_is_said_are_judged_once():
    """An id in a text makes no new kind; a status, a name and another provider do, and what is kept is bounded."""
    index = Index(RULES)
    kinds = [
        [Facts(message=f"Overloaded, request {number}") for number in range(5)],
        [Facts(message="API Error: 503 from 1"), Facts(message="API Error: 503 from 2")],
        [Facts(message="API Error: 404 from 1")],
        [Facts(message="HeronError: 1")],
        [Facts(code="1002", provider="minimax")],
        [Facts(code="1002", provider="zhipu")],
    ]
    for count, kind in enumerate(kinds, 1):
        assert len({judge(facts, index)[0].answer for facts in kind}) == 1
        assert len(index.judged) == count
    minimax, zhipu = (judge(kind[0], index)[0].answer[0] for kind in kinds[-2:])
    assert (minimax, zhipu) == ("rate_limited", "auth_error")


def test_what_is_kept_of_kinds_is_bounded(monkeypatch):
    """Hostile errors of ever new kinds cost no more memory than the bound, and are judged as in a fresh process."""
    monkeypatch.setattr(deciding, "_MOST_KINDS", 3)
    index = Index(RULES)
    for number in range(10):
        facts = Facts(code=f"heron_{number}", message="Overloaded")
        assert judge(facts, index)[0].answer == judge(facts, Index(RULES))[0].answer
        assert 1 <= len(index.judged) <= 3


@each_row("sample", SAMPLES[::5])
def test_copies_know_what_was_matched(sample):
    """A pickled or copied classification is equal and still says what the rule matched on."""
    found = classify(sample)
    for other in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        assert other == found
        assert other.matched == found.matched


def test_facts_are_frozen():
    """Nothing can be written into facts, and facts with headers can be keys as others can."""
    made = Facts(429, None, "x", headers={"retry-after": "1"})
    assert {made: 1}[Facts(429, None, "x", headers={"retry-after": "1"})] == 1
    with pytest.raises(AttributeError):
        made.status = 1


@pytest.mark.parametrize(
    "text",
    [
        "rate limit exceeded, try again in 5ſ",
        "rate limit exceeded, resets ſep 3, 5pm",
        "rate limit exceeded, resets 13pm",
        f"rate limit exceeded, try again in {'9' * 400}s",
        f"rate limit exceeded, resets_at: {'9' * 13}",
        "prompt is too long: 9K tokens > 8ſ maximum",
    ],
)
def test_odd_digits_and_letters_in_times_do_not_raise(text):
    """RE2 folds a long s into an s; no unit and no month is written with one."""
    assert classify(text).to_dict()["reason"] in {"rate_limited", "context_overflow", "unknown"}


def test_hostile_texts_cost_no_more_than_others():
    """Texts made to keep many gaps open at once are judged, times and counts included."""
    for words in ("maximum context requested has ", "rate limit exceed token quota ", "resets try again in 1 "):
        facts = extract({"status": 400, "message": words * 40_000})
        assert classify_facts(facts).reason
