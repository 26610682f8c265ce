"""Rules of one's own extend, replace and disable the built-in ones; a mistake is named by file, line and id."""

from __future__ import annotations

from pathlib import Path

import pytest

import analyzer.classifier.rules.loading as rules_module
from analyzer.classifier import classify, default_ruleset
from analyzer.classifier.rules.explain import explain
from analyzer.classifier.rules.lint import lint
from analyzer.classifier.rules.loading import ruleset_for
from analyzer.errors import RulesError
from tests import REPOSITORY, each_row, named

NEW = """
[[rule]]
id = "house_quota"
reason = "rate_limited"
detail = "usage_limit"
text = ['house quota']
source = "our gateway"
examples = ["House quota reached", { status = 400, message = "house quota spent" }]
counter_examples = ["the house is big"]
"""
OVERRIDE = """
[[rule]]
id = "server_status"
reason = "unknown"
statuses = [599]
source = "we never retry"
examples = [{ status = 599 }, "HTTP 599: no"]
counter_examples = [{ status = 500 }]
"""
DISABLE = '\n[[rule]]\nid = "server_status"\ndisabled = true\n'


@pytest.fixture
def write(tmp_path):
    """Writes a rules file, and gives its path."""

    def put(text: str, name: str = "mine.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return put


def test_no_file_means_the_built_in_rules():
    """Without a path the built-in ruleset itself comes back, and a loaded ruleset is itself."""
    assert ruleset_for(None) is default_ruleset()
    assert ruleset_for(default_ruleset()) is default_ruleset()


def test_new_rule_stands_first_and_the_rest_stays(write):
    """A rule of one's own wins over the built-in ones, which still decide everything else."""
    own = ruleset_for(write(NEW))
    assert [rule.id for rule in own.rules] == ["house_quota", *(rule.id for rule in default_ruleset().rules)]
    assert classify({"status": 400, "message": "house quota spent"}, rules=own).rule == "house_quota"
    assert classify({"status": 529}, rules=own).reason == "network_transient"
    assert lint(own).findings == ()


def test_override_takes_the_place_of_the_built_in_rule(write):
    """A rule with a built-in id replaces it where it stands, so that the order of evidence stays."""
    own = ruleset_for(write(OVERRIDE))
    assert [rule.id for rule in own.rules] == [rule.id for rule in default_ruleset().rules]
    assert classify({"status": 599}, rules=own).reason == "unknown"
    assert classify({"status": 598}, rules=own).rule != "server_status"


def test_disabled_rule_is_gone(write):
    """A built-in rule can be taken out by its id alone."""
    own = ruleset_for(write(DISABLE))
    assert "server_status" not in {rule.id for rule in own.rules}
    assert classify({"status": 598}, rules=own).rule == "none"


def test_digest_names_the_combined_content(write):
    """Another rule is another ruleset; a comment, or a copy of a built-in rule, is not."""
    assert ruleset_for(write(NEW)).digest != default_ruleset().digest
    assert ruleset_for(write(NEW)).digest == ruleset_for(write("# house\n" + NEW, "other.toml")).digest
    text = Path(rules_module.__file__).with_name("rules.toml").read_text("utf-8")
    copied = text[text.index('[[rule]]\nid = "run_budget"') : text.index('[[rule]]\nid = "output_retries"')]
    assert ruleset_for(write(copied, "copy.toml")).digest == default_ruleset().digest


def test_same_content_is_read_once(write):
    """The ruleset of an unchanged file is the same object; a changed file gives another one."""
    path = write(NEW)
    first = ruleset_for(path)
    assert ruleset_for(path) is first
    path.write_text(NEW.replace("house quota'", "house cap'").replace("ouse quota ", "ouse cap "), "utf-8")
    assert ruleset_for(path).digest != first.digest


def test_shared_patterns_are_added(write):
    """`status_patterns` of a file extend the built-in ones, even without any rule."""
    own = ruleset_for(write("status_patterns = ['\\bstate=([345]\\d\\d)\\b']\n"))
    assert classify("state=413", rules=own).rule == "payload_status"
    assert classify("HTTP 413: no", rules=own).rule == "payload_status"


def test_a_named_list_stands_for_its_patterns(write):
    """`@name` among the patterns of a rule is the list of that name in its file; a name of no list is refused."""
    lists = "[lists]\nours = ['\\bhouse cap\\b', '\\bhouse fund\\b']\n"
    named = NEW.replace("text = [", "not_text = ['@ours', '[@]other']\ntext = [")
    own = ruleset_for(write(lists + named))
    assert next(rule for rule in own.rules if rule.id == "house_quota").not_text == (
        *("\\bhouse cap\\b", "\\bhouse fund\\b"),
        "[@]other",
    )
    assert classify("House quota spent, no house fund", rules=own).rule != "house_quota"
    with pytest.raises(RulesError, match=r":8: unknown list of patterns in rule 'house_quota': '@our'") as said:
        ruleset_for(write(lists + named.replace("@ours", "@our")))
    assert "did you mean '@ours'" in said.value.hint
    with pytest.raises(RulesError, match="no lists of patterns"):
        ruleset_for(write("lists = 1\n" + NEW))


def test_place_of_each_rule_is_known(write):
    """A ruleset says in which file and line each of its rules stands."""
    path = write(NEW)
    own = ruleset_for(path)
    assert own.places["house_quota"] == f"{path}:2"
    assert own.places["server_status"].startswith("analyzer/classifier/rules/rules.toml:")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    named(
        {
            "reason": (NEW.replace("rate_limited", "rate_limitd"), 4, "'house_quota'"),
            "pattern": (NEW.replace("'house quota'", "'house (quota'"), 6, "no RE2 pattern"),
            "look-ahead": (NEW.replace("'house quota'", "'(?=house)'"), 6, "no RE2 pattern"),
            "everything": (NEW.replace("'house quota'", "'h*'"), 6, "matches everything"),
            "key": (NEW + "colour = 1\n", 10, "unknown key"),
            "twice": (NEW + NEW, 11, "stands twice"),
            "flag": (NEW + "symptom = 1\n", 10, "no flag"),
            "number": (NEW + "exit_codes = [true]\n", 10, "holds True"),
            "id": (NEW.replace('"house_quota"', '"a b"'), 3, "no usable id"),
            "source": (NEW.replace('source = "our gateway"\n', ""), 2, "no source"),
            "examples": (NEW.replace('"House quota reached", ', ""), 8, "too few examples"),
            "disabled-what": (DISABLE.replace("server_status", "server_state"), 3, "unknown built-in rule"),
            "disabled-more": (DISABLE + 'source = "s"\n', 2, "still has 'source'"),
            "toml": (NEW + "[[rule]\n", 10, "no valid TOML"),
        }
    ),
)
def test_mistake_names_file_line_and_rule(write, text, line, says):
    """An error in a rules file begins with `file:line:` and says what is wrong."""
    path = write(text)
    with pytest.raises(RulesError) as caught:
        ruleset_for(path)
    assert caught.value.message.startswith(f"{path}:{line}: ")
    assert says in caught.value.message
    assert caught.value.hint


def test_header_in_a_text_is_no_rule(write):
    """`[[rule]]` inside a multi-line string does not move the lines of the rules below it."""
    text = NEW.replace('"our gateway"', "'''our\n[[rule]]\ngateway'''") + NEW.replace('"house_quota"', '"x y"')
    path = write(text)
    with pytest.raises(RulesError) as caught:
        ruleset_for(path)
    assert caught.value.message.startswith(f"{path}:14: ")


def test_all_rules_disabled_is_refused(write):
    """A file that leaves no rule is refused."""
    every = "".join(f'[[rule]]\nid = "{rule.id}"\ndisabled = true\n' for rule in default_ruleset().rules)
    with pytest.raises(RulesError, match="no rules are left"):
        ruleset_for(write(every))


def test_unreadable_file_is_refused(tmp_path):
    """A path without a file, or with a NUL in it, is an error with a hint."""
    for path in (str(tmp_path / "none.toml"), "a\0b"):
        with pytest.raises(RulesError, match="cannot read rules"):
            ruleset_for(path)


def test_worked_example_of_the_documentation_is_clean(write):
    """The rules file in docs/how-to/rules.md extends the built-in rules without a finding."""
    page = (REPOSITORY / "docs" / "how-to" / "rules.md").read_text("utf-8")
    for block in page.split("```toml\n")[1:]:
        text = block.split("```")[0]
        if "[[rule]]\nid" in text:
            assert lint(ruleset_for(write(text))).findings == ()


def test_explanation_names_winner_rivals_and_guards():
    """Every rule with evidence is listed in order, with what it matched on, and with the guard that held it back."""
    found = explain({"status": 429, "message": "Rate limit exceeded: prompt is too long"})
    winner = [match for match in found.matches if match.decides]
    assert [match.rule for match in winner] == [found.classification.rule] == ["rate_limit_text"]
    held = {match.rule: match.held_back for match in found.matches}
    assert held["context_text"] is not None and held["context_text"].startswith("not_text")
    assert held["rate_limit_status"] is None
    assert [match.position for match in found.matches] == sorted(match.position for match in found.matches)
    assert "comes before" in found.why[0]


def test_explanation_says_why_a_cause_decides():
    """Where a symptom gives way, the cause's rule wins, and the explanation says so."""
    found = explain({"message": "fetch failed", "cause": {"code": "CERT_HAS_EXPIRED"}})
    assert found.classification.rule == "tls_certificate"
    assert [match.level for match in found.matches if match.decides] == [1]
    assert any("cause decides" in sentence for sentence in found.why)


@pytest.mark.parametrize(
    ("error", "says"),
    named(
        {
            "success": ({"exit_code": 0, "stdout": "rate limit exceeded"}, "went well"),
            "prose": ("Fixed the rate limit exceeded error", "report of work"),
            "long": ("x " * 400 + "rate limit exceeded", "longer than 600"),
            "unknown": ("flurb", "No rule knows"),
        }
    ),
)
def test_explanation_says_why_nothing_was_heard(error, says):
    """An unknown error comes with the reason why no rule spoke."""
    found = explain(error)
    assert found.classification.rule == "none"
    assert any(says in sentence for sentence in found.why)


@each_row("rule", default_ruleset().rules)
def test_explanation_agrees_with_the_classifier(rule):
    """For every example the deciding match is the rule that `classify` names."""
    for error in (*rule.examples, *rule.counter_examples):
        found = explain(error)
        deciding = [match.rule for match in found.matches if match.decides]
        assert (deciding or ["none"]) == [classify(error).rule]
