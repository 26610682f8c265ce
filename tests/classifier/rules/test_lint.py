"""The lint: each rule finds its examples first, and what stands in the way is named."""

from __future__ import annotations

import pytest

from analyzer.classifier import default_ruleset
from analyzer.classifier.rules.lint import MAX_RULE_SIZE, lint
from analyzer.classifier.rules.loading import build_ruleset
from analyzer.classifier.rules.ruleset import Ruleset


def rule(name: str, pattern: str, **more: object) -> dict[str, object]:
    """An entry that is sound alone."""
    entry: dict[str, object] = {
        "id": name,
        "reason": "validation",
        "source": "a test",
        "text": [pattern],
        "examples": ["red paint", "red ink"],
        "counter_examples": ["blue paint"],
    }
    return {**entry, **more}


def rules(*entries: dict[str, object]) -> Ruleset:
    """A ruleset of these entries."""
    return build_ruleset({"rule": list(entries)})


def kinds(ruleset: Ruleset, *corpus: object) -> list[tuple[str, str]]:
    """Kind and rule of each finding."""
    return [(found.kind, found.rule) for found in lint(ruleset, corpus or None).findings]


def test_built_in_rules_are_clean():
    """The rules that come with the package have no findings, and every one of them was looked at."""
    report = lint(default_ruleset())
    assert report.findings == ()
    assert report.rules == len(default_ruleset().rules)
    assert report.examples >= 2 * report.rules
    assert report.counter_examples >= report.rules
    assert report.ruleset == default_ruleset().digest


def test_sound_rules_have_no_findings():
    """Two rules that keep out of each other's way are clean and do not overlap."""
    other = rule("b", "green", examples=["green a", "green b"])
    report = lint(rules(rule("a", "red"), other))
    assert (report.findings, report.overlaps) == ((), ())


def test_example_that_goes_elsewhere_is_a_finding():
    """An example that a rule above takes is named, with that rule and the example."""
    first = rule("a", "red ink", examples=["red ink", "more red ink"])
    (found,) = lint(rules(first, rule("b", "red"))).findings
    assert (found.kind, found.rule, found.example) == ("example", "b", "red ink")
    assert "goes to a" in found.message


def test_example_that_nothing_matches_is_a_finding():
    """An example that no rule matches says so."""
    (found,) = lint(rules(rule("a", "red", examples=["red ink", "crimson"]))).findings
    assert (found.kind, found.message) == ("example", "no rule matches its example")


def test_shadowed_rule_is_one_finding():
    """A rule whose every example goes to a rule above is shadowed, and not reported for each example again."""
    assert kinds(rules(rule("a", "red"), rule("b", "red p|red i"))) == [("shadowed", "b")]


def test_counter_example_that_matches_is_a_finding():
    """A rule that decides its own counter-example is reported with it."""
    (found,) = lint(rules(rule("a", "red|blue"))).findings
    assert (found.kind, found.example) == ("counter_example", "blue paint")


def test_overlap_is_no_finding():
    """A rule further down that matches an example too is named and counted, but order decides."""
    report = lint(rules(rule("a", "red"), rule("b", "paint|plaster", examples=["paint", "plaster"])))
    assert [found.kind for found in report.findings] == ["counter_example"]
    assert [(each.rule, each.other, each.examples) for each in report.overlaps] == [("a", "b", 1)]


def test_costly_pattern_is_a_finding_that_names_it():
    """Patterns that take too many instructions are reported with the worst of them."""
    (found,) = lint(rules(rule("a", r"red[^\n]{0,600}"))).findings
    assert found.kind == "cost"
    assert f"{MAX_RULE_SIZE:,}" in found.message
    assert "{0,600}" in found.message


def test_corpus_shows_rules_that_nothing_hits():
    """With a corpus, rules that none of its lines hits are findings; a rule that is hit but never first is none."""
    both = rules(rule("a", "red"), rule("b", "paint|glue", examples=["paint", "glue"], counter_examples=["x"]))
    assert kinds(both, "red paint") == []
    assert kinds(both, "glue") == [("never_hit", "a")]


def test_labelled_cases_are_read_by_their_input():
    """A corpus of labelled cases counts their inputs, not their labels."""
    report = lint(rules(rule("a", "red")), [{"input": {"message": "red"}, "reason": "validation"}])
    assert (report.findings, report.corpus_lines) == ((), 1)


def test_cause_counts_as_a_hit():
    """A rule that speaks on a cause is hit."""
    assert kinds(rules(rule("a", "red")), {"message": "failed", "cause": {"message": "red"}}) == []


@pytest.mark.parametrize("error", [None, 7, [], {}, "", b"\xff", {"cause": {"cause": {}}}])
def test_lint_takes_any_corpus_line(error):
    """Whatever stands in a corpus, the lint answers."""
    assert kinds(rules(rule("a", "red")), error) == [("never_hit", "a")]
