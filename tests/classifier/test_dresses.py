"""An error in any dress: a box, a log's line, a stack or a repr around a text changes neither verdict nor figures."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier import classify, default_ruleset
from analyzer.classifier.reading.flattening import flat, flat_output
from tests.classifier.wardrobe import DRESSES

AT = datetime(2027, 1, 2, 10, tzinfo=UTC)
RULES = Path(__file__).with_name("rules")
PROBES = [json.loads(line)["input"] for line in (RULES / "probes.jsonl").read_text("utf-8").splitlines()]
EXAMPLES = [each for rule in default_ruleset().rules for each in (*rule.examples, *rule.counter_examples)]
NO_ERRORS = (RULES / "no_api_errors.txt").read_text("utf-8").splitlines()
ERRORS = [*EXAMPLES, *PROBES, *NO_ERRORS]
MOST_CHANGED = 0.005
EXPLAINED = {
    "box-of-lines": "a table in a box is a box of its own: its rows are taken for lines",
    "box-with-title": "a table in a box is a box of its own: its rows are taken for lines",
    "box-double": "a table in a box is a box of its own: its rows are taken for lines",
    "wrapped-at-48-indented": "an address of 60 letters is wider than all other lines",
}
"""Dresses in which a text may be tried again that is not otherwise, or the other way round, and why."""


STRONG = {"PermissionError: [Errno 13] Permission denied: '/var/log/app.log'"}
"""Words of other trades that a rule still takes for those of a provider."""


def dressed(error: Any, dress: Any) -> Any:
    """The error with its text in a dress; None for one without a text."""
    if isinstance(error, str):
        return dress(error) if error else None
    text = error.get("message") if isinstance(error, dict) else None
    return {**error, "message": dress(text)} if isinstance(text, str) and text else None


def said(error: Any) -> tuple[Any, ...]:
    """What a verdict says: reason, detail, retry decision, when to come back, and the counts of tokens."""
    found = classify(error, at=AT)
    when = (found.retry_after_seconds, found.reset_at)
    return found.retryable, found.reason, found.detail, *when, found.current_tokens, found.max_tokens


@cache
def plain_verdicts() -> list[tuple[Any, ...]]:
    """Return what the verdicts on all errors say, without a dress."""
    return [said(error) for error in ERRORS]


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("name", DRESSES)
def test_a_dress_changes_nothing(name):
    """At most one verdict of two hundred changes, and no retry decision without a reason that is written down."""
    compared = [
        (error, before, said(worn))
        for error, before in zip(ERRORS, plain_verdicts(), strict=True)
        if (worn := dressed(error, DRESSES[name])) is not None
    ]
    assert len(compared) > 900
    changed = [error for error, before, after in compared if before != after]
    assert len(changed) <= MOST_CHANGED * len(compared), changed
    if name not in EXPLAINED:
        assert [error for error, before, after in compared if before[0] != after[0]] == []


def test_there_are_twenty_dresses():
    """Each of them makes another text of an error with quotes, blanks and two lines."""
    text = 'Error: the heron\'s "nest" ' + "is far away and " * 8 + "high\nand no further"
    assert len({dress(text) for dress in DRESSES.values()} - {text}) == len(DRESSES) >= 20


def test_errors_of_programs_are_no_errors_of_a_provider():
    """A bug in a script, a missing file or a failed test is no strong verdict about an API."""
    found = {text: classify(text) for text in NO_ERRORS}
    assert {text for text, each in found.items() if each.confidence == "strong" and each.detail != "aborted"} == STRONG


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit exceeded",
        "Windows path C:\\temp\\new is gone",
        "Prompt is too long: 210000 tokens > 200000 maximum",
        "a\nb",
        "The rate limit is hit.\nPlease wait until the next window begins",
    ],
)
def test_plain_texts_stay_as_they_are(text):
    """What wears no dress is read as it stands; a Windows path has no escapes that stand for anything else."""
    if "\\" not in text:
        assert flat(text) == text.encode()
    assert flat_output(text) == text.encode()


@given(st.text(max_size=200), st.sampled_from(sorted(DRESSES)))
def test_any_text_can_be_flattened(text, name):
    """Whatever comes in, UTF-8 comes out."""
    assert isinstance(flat(DRESSES[name](text)).decode("utf-8"), str)
    assert isinstance(flat_output(DRESSES[name](text)).decode("utf-8"), str)


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        ("Agent run failed: You're out of extra usage · resets 9pm", "rate_limited", "usage_limit"),
        ("OPENAI_RATE_LIMIT_EXCEEDED", "rate_limited", None),
        ("HeronRateLimitExceeded: try later", "rate_limited", None),
        ("2027-01-02 10:11:12 [ERROR] You've hit your session limit · resets 4:10pm", "rate_limited", "usage_limit"),
    ],
)
def test_prefixes_and_names_hide_nothing(text, reason, detail):
    """What an agent or a log puts before a limit's own line, or a product before a known name, decides nothing."""
    found = classify(text)
    assert (found.reason, found.detail) == (reason, detail)
