"""Rulesets against labelled errors with dates: what each half-year says of them."""

from __future__ import annotations

import pytest

from analyzer.classifier import default_ruleset
from analyzer.classifier.rules.scoring import KINDS, dated, score_stream

STREAM = (
    {"date": "2025-12-31", "status": 429, "message": "slow down", "expected": "rate_limited"},
    {"date": "2026-01-01", "input": {"status": 500}, "reason": "network_transient"},
    {"date": "2026-06-30", "message": "the heron sat", "expected": "auth_error", "acceptable": ["unknown"]},
    {"date": "2026-07-01", "message": "the heron sat", "expected": "auth_error"},
    {"date": "2026-07-02", "status": 401, "expected": "validation"},
    {"date": "2026-07-03", "code": "ECONNRESET", "expected": "validation"},
    {"date": "soon", "status": 401, "expected": "auth_error"},
    {"status": 401, "expected": "auth_error"},
    {"date": "2026-07-03", "expected": "auth_error"},
)


def test_a_stream_is_scored_by_half_year() -> None:
    """Right, acceptable, unknown, weak and wrong are told apart; what is no dated error is left out."""
    rows = [row for record in STREAM if (row := dated(record)) is not None]
    assert len(rows) == 6
    halves = score_stream(rows, default_ruleset())
    assert {each.half: [each.counts[kind] for kind in KINDS] for each in halves} == {
        "2025-2": [1, 0, 0, 0, 0],
        "2026-1": [1, 1, 0, 0, 0],
        "2026-2": [0, 0, 1, 1, 1],
        "all": [2, 1, 1, 1, 1],
    }
    assert halves[-1].good_share == 0.5


@pytest.mark.parametrize("record", [None, ["x"], {"date": 7, "status": 401, "expected": "auth_error"}])
def test_what_is_no_dated_error_is_none(record: object) -> None:
    """Values of another shape, and days that are no texts."""
    assert dated(record) is None
