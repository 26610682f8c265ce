"""Probe errors, written by hand from what providers, clients and shells really print: how general the rules are.

The floors are a little below what the rules reach, so that a rule may lose a case to a better one, but not many.
"""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path

import pytest

from analyzer.classifier import REASONS, classify, default_ruleset
from analyzer.classifier.recovery_table import RECOVERY
from analyzer.classifier.rules.scoring import backtest, label

LINES = Path(__file__).with_name("probes.jsonl").read_text("utf-8").splitlines()
PROBES = [found for number, line in enumerate(LINES, 1) if (found := label(json.loads(line), number)) is not None]

REPORTS = [
    "Fixed the retry handling so that 429 responses back off with jitter.",
    "Here is the plan:\n1. Catch the rate limit\n2. Sleep until the limit resets\n3. Try the request again",
    "I've updated the error table: 401 means the key is wrong, 429 means slow down, 503 means overloaded.",
    "| code | meaning |\n| --- | --- |\n| 429 | rate limit exceeded |\n| 401 | unauthorized |",
    "This commit maps connection refused and an expired certificate to one exception.",
    "本次修改了限流逻辑,并补充了超时测试。",
]


@pytest.fixture(scope="module")
def score():
    """How the built-in rules answer the probes."""
    return backtest(PROBES, default_ruleset(), default_ruleset()).after


def test_every_probe_is_a_labelled_error():
    """Each line of the file is a case with a known reason, and no two ask the same."""
    assert len(PROBES) == len(LINES)
    assert len({json.dumps(json.loads(line)["input"], sort_keys=True) for line in LINES}) == len(LINES)
    assert {case.reason for case in PROBES} == set(REASONS)


@pytest.mark.parametrize(
    ("name", "floor"),
    [("clear.share", 0.97), ("acceptable.share", 0.97), ("retry.share", 0.98), ("macro_recall", 0.96)],
)
def test_rules_hold_their_floor(score, name, floor):
    """The built-in rules do not fall below the stated share of the probes."""
    figure = attrgetter(name)(score)
    assert figure is not None
    assert figure >= floor


@pytest.mark.parametrize("reason", REASONS)
def test_no_reason_is_left_behind(score, reason):
    """Each reason finds at least nine tenths of its clear probes."""
    share = score.recall[reason].share
    assert share is not None
    assert share >= 0.9


@pytest.mark.parametrize("text", REPORTS)
def test_talk_about_errors_is_no_error(text):
    """A report that speaks of errors stays unknown, as a message and as output, and is never tried again."""
    for error in (text, {"exit_code": 0, "stdout": text}, {"exit_code": 1, "stdout": text}):
        found = classify(error)
        assert found.reason == "unknown", (error, found.rule, found.matched)
        assert found.retryable is RECOVERY["unknown"].retryable
