"""Families of words for each cause: errors as many providers and agents write them.

`families.jsonl` holds two sets that one hand wrote before the rules. By what the first one (`open`) showed the rules
were mended; the second one (`held`) was looked at by its figures alone. Before, 50.0% and 48.4% were acceptable, 8.7%
and 7.1% wrong.
"""

from __future__ import annotations

import json

import pytest

from analyzer.classifier import REASONS, classify
from tests.classifier.rules.labelled import judged, labelled

SETS = labelled("families.jsonl", "open", "held")


def test_the_two_sets_are_as_large_and_have_all_reasons():
    """No text stands in both, and every reason is asked for in each."""
    assert len(SETS["open"]) == len(SETS["held"]) > 100
    assert len({json.dumps(row["input"], sort_keys=True) for rows in SETS.values() for row in rows}) == sum(
        map(len, SETS.values())
    )
    for rows in SETS.values():
        assert {row["reason"] for row in rows} == set(REASONS)


@pytest.mark.parametrize("name", SETS)
def test_families_are_known(name):
    """Of each set nine in ten are judged acceptably, one in forty wrongly, and 95% retried as they should."""
    found = judged(SETS[name])
    assert found.right >= 0.91 * found.texts
    assert found.wrong <= 0.025 * found.texts
    assert found.retried >= 0.95 * found.texts


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("You've hit your usage limit. Purchase more credits or try again at 4:10 PM.", "rate_limited"),
        ("Kimi: weekly limit reached, upgrade for more, resets in 3 days", "rate_limited"),
        ("MCP server heron: program not found; Connection closed", "tool_not_found"),
        ("We are temporarily limiting requests (not your usage limit)", "network_transient"),
        ("API Error: Repeated 529 Overloaded errors", "network_transient"),
        ("SyntaxError: unexpected EOF while parsing", "unknown"),
        ("bash: line 3: unexpected EOF while looking for matching `\"'", "unknown"),
        ("cp: error writing 'b': Disk quota exceeded", "unknown"),
        ("File content (47840 tokens) exceeds maximum allowed tokens (25000).", "unknown"),
        ({"exit_code": 1, "stdout": "the log said: Claude AI usage limit reached|1999999999"}, "unknown"),
    ],
)
def test_the_cause_comes_before_the_symptom_and_other_trades_decide_nothing(error, reason):
    """Waits that end are waits, an inner cause beats its wrapper, and words of shells and tools are no provider's."""
    found = classify(error)
    assert found.reason == reason
    if reason == "unknown":
        assert (found.current_tokens, found.max_tokens, found.reset_at) == (None, None, None)
