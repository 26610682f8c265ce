"""The rules file: every rule knows its own examples, and a broken file is refused with a reason."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import analyzer.classifier.rules.loading as rules_module
from analyzer.classifier import REASONS, classify, default_ruleset, load_ruleset
from analyzer.errors import RulesError
from tests import each_row, named

RULES = default_ruleset().rules
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{n}") for rule in RULES for n, example in enumerate(rule.examples)
]
COUNTERS = [
    pytest.param(rule, example, id=f"{rule.id}-{n}")
    for rule in RULES
    for n, example in enumerate(rule.counter_examples)
]


@each_row("rule, example", EXAMPLES)
def test_example_finds_its_rule_first(rule, example):
    """Each example of a rule is decided by exactly that rule."""
    found = classify(example)
    assert (found.rule, found.reason, found.detail) == (rule.id, rule.reason, rule.detail)


@each_row("rule, example", COUNTERS)
def test_counter_example_is_not_decided_by_its_rule(rule, example):
    """No counter-example of a rule is decided by that rule."""
    assert classify(example).rule != rule.id


@each_row("rule", RULES)
def test_rule_says_where_its_knowledge_comes_from(rule):
    """Every rule has a source, two examples and a counter-example."""
    assert rule.source
    assert len(rule.examples) >= 2
    assert rule.counter_examples


def test_all_reasons_have_a_rule():
    """Every reason of the taxonomy can be reached by some rule."""
    assert {rule.reason for rule in RULES} == set(REASONS)


def test_digest_names_content_not_layout(tmp_path):
    """Comments and blank lines do not change the name of a ruleset, a changed pattern does."""
    text = Path(rules_module.__file__).with_name("rules.toml").read_text(encoding="utf-8")
    same, other = tmp_path / "same.toml", tmp_path / "other.toml"
    same.write_text("# a comment\n\n" + text, encoding="utf-8")
    other.write_text(text.replace("ERR_HTTP2_STREAM_ERROR", "ERR_HTTP3_STREAM_ERROR", 1), encoding="utf-8")
    assert load_ruleset(same).digest == default_ruleset().digest
    assert load_ruleset(other).digest != default_ruleset().digest


def test_order_of_rules_is_part_of_the_digest():
    """The same rules in another order are another ruleset, because the first that holds wins."""
    first = {
        "id": "a",
        "reason": "unknown",
        "source": "s",
        "text": ["one"],
        "examples": ["x", "y"],
        "counter_examples": ["z"],
    }
    second = {**first, "id": "b", "text": ["two"]}
    build = rules_module.build_ruleset
    assert build({"rule": [first, second]}).digest != build({"rule": [second, first]}).digest


GOOD = (
    'id = "x"\nreason = "unknown"\nsource = "s"\ntext = ["abc"]\nexamples = ["abc", "xabc"]\ncounter_examples = ["d"]\n'
)


@pytest.mark.parametrize(
    ("text", "says"),
    named(
        {
            "empty": ("", "no rules"),
            "not-toml": ("[[rule]\n", "no valid TOML"),
            "no-id": ('[[rule]]\nreason = "unknown"\n', "no usable id"),
            "twice": ("[[rule]]\n" + GOOD + "[[rule]]\n" + GOOD, "stands twice"),
            "unknown-key": ("[[rule]]\n" + GOOD + 'colour = "red"\n', "unknown key"),
            "unknown-reason": ("[[rule]]\n" + GOOD.replace('"unknown"', '"unknwon"'), "unknown reason"),
            "bad-pattern": ("[[rule]]\n" + GOOD.replace('"abc"]\nexamples', '"a(b"]\nexamples'), "no RE2 pattern"),
            "matches-all": ("[[rule]]\n" + GOOD.replace('"abc"]\nexamples', '"a*"]\nexamples'), "matches everything"),
            "one-example": ("[[rule]]\n" + GOOD.replace('["abc", "xabc"]', '["abc"]'), "too few examples"),
            "no-evidence": ("[[rule]]\n" + GOOD.replace('text = ["abc"]\n', ""), "looks at nothing"),
            "no-source": ("[[rule]]\n" + GOOD.replace('source = "s"\n', ""), "no source"),
            "no-list": ("[[rule]]\n" + GOOD.replace('["abc"]\nex', '"abc"\nex'), "is no list"),
            "bad-status": ("[[rule]]\n" + GOOD + 'statuses = ["many"]\n', "holds 'many'"),
            "status-without-group": ('status_patterns = ["x"]\n[[rule]]\n' + GOOD, "one group"),
            "patterns-no-list": ('status_patterns = "x"\n[[rule]]\n' + GOOD, "no list of strings"),
            "disabled-alone": ("[[rule]]\n" + GOOD + "disabled = true\n", "no such rule below it"),
            "no-flag": ("[[rule]]\n" + GOOD + 'weak = "yes"\n', "is no flag"),
            "no-text": ("[[rule]]\n" + GOOD.replace('"s"', "1"), "is no text"),
            "number-for-a-pattern": ("[[rule]]\n" + GOOD.replace('["abc"]\nex', "[1]\nex"), "holds 1"),
            "month-13": ("[[rule]]\n" + GOOD + 'dated = "2026-13"\n', "is no date"),
            "huge": ("[[rule]]\n" + GOOD.replace('"abc"]\nex', '"(?:[a-z]{1,900}){1,900}"]\nex'), "RE2"),
            "rule-no-table": ("rule = 1\n", "no table"),
            "codes-no-tables": ("codes = 1\n[[rule]]\n" + GOOD, "no tables"),
            "version": ('version = "one"\n[[rule]]\n' + GOOD, "version is none"),
            "date": ('date = "today"\n[[rule]]\n' + GOOD, "date is none"),
            "sources": ("sources = []\n[[rule]]\n" + GOOD, "sources are none"),
            "unknown-key-of-the-file": ("colour = 1\n[[rule]]\n" + GOOD, "unknown key"),
        }
    ),
)
def test_broken_file_is_refused(tmp_path, text, says):
    """A rules file with a mistake raises RulesError that names the mistake."""
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RulesError, match=says):
        load_ruleset(path)


def test_missing_file_is_refused(tmp_path):
    """A path without a file raises RulesError with a hint."""
    with pytest.raises(RulesError) as caught:
        load_ruleset(tmp_path / "nowhere.toml")
    assert caught.value.hint


def test_unknown_reason_names_the_closest():
    """The hint for a misspelt reason names the one that was meant."""
    data = tomllib.loads("[[rule]]\n" + GOOD.replace('"unknown"', '"rate_limitd"'))
    with pytest.raises(RulesError) as caught:
        rules_module.build_ruleset(data)
    assert "rate_limited" in caught.value.hint


def test_own_ruleset_decides(tmp_path):
    """A ruleset that is handed in decides, and its digest stands on the classification."""
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\n" + GOOD.replace('"unknown"', '"validation"'), encoding="utf-8")
    own = load_ruleset(path)
    found = classify("abc", rules=own)
    assert (found.reason, found.rule, found.ruleset) == ("validation", "x", own.digest)
