"""Families of words for each cause: errors as many providers and agents write them.

`families.jsonl` holds two sets that one hand wrote before the rules. By what the first one (`open`) showed the rules
were mended; the second one (`held`) was looked at by its figures alone. Before, 50.0% and 48.4% were acceptable, 8.7%
and 7.1% wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.classifier import REASONS, classify

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("families.jsonl").read_text(encoding="utf-8").splitlines()
]
SETS = {name: [row for row in ROWS if row["id"].startswith(name)] for name in ("open", "held")}


def test_the_two_sets_are_as_large_and_have_all_reasons():
    """No text stands in both, and every reason is asked for in each."""
    assert len(SETS["open"]) == len(SETS["held"]) > 100
    assert len({json.dumps(row["input"], sort_keys=True) for row in ROWS}) == len(ROWS)
    for rows in SETS.values():
        assert {row["reason"] for row in rows} == set(REASONS)


@pytest.mark.parametrize("name", SETS)
def test_families_are_known(name):
    """Of each set nine in ten are judged acceptably, one in forty wrongly, and 95% retried as they should."""
    found = [(row, classify(row["input"])) for row in SETS[name]]
    right = sum(each.reason in row["acceptable"] for row, each in found)
    unknown = sum(each.reason == "unknown" and "unknown" not in row["acceptable"] for row, each in found)
    retried = sum(each.retryable == row["retryable"] for row, each in found)
    assert right >= 0.91 * len(found)
    assert len(found) - right - unknown <= 0.025 * len(found)
    assert retried >= 0.95 * len(found)


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
