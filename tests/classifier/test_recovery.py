"""The recovery table: one row a reason, and the details that overrule it."""

from __future__ import annotations

import re

import pytest

from analyzer.classifier import REASONS, RECOVERY, classify
from tests import named

TABLE = [
    ("rate_limited", True, "wait_then_retry", 3, {"status": 429}),
    ("context_overflow", True, "compress_then_retry", 2, {"status": 413}),
    ("auth_error", False, "surface", 1, {"status": 401}),
    ("network_transient", True, "retry", 3, {"code": "ECONNRESET"}),
    ("network_permanent", False, "surface", 1, {"code": "ENOTFOUND"}),
    ("tool_not_found", False, "surface", 1, "Unknown tool: recolour"),
    ("validation", False, "surface", 1, {"status": 422}),
    ("unknown", False, "surface", 1, "it went wrong"),
]


@pytest.mark.parametrize(("reason", "retryable", "action", "attempts", "error"), TABLE, ids=[row[0] for row in TABLE])
def test_row(reason, retryable, action, attempts, error):
    """An error of each reason carries its row of the table."""
    row, found = RECOVERY[reason], classify(error)
    assert (row.retryable, row.action, row.max_attempts) == (retryable, action, attempts)
    assert (found.reason, found.retryable, found.action, found.remediation) == (
        reason,
        retryable,
        action,
        row.remediation,
    )


def test_table_has_the_eight_reasons_in_order():
    """The table has exactly the eight reasons, in the order of the taxonomy."""
    assert tuple(RECOVERY) == REASONS
    assert len(REASONS) == 8


def test_remediations_are_one_line_each():
    """Every remediation is one line of its own."""
    lines = [row.remediation for row in RECOVERY.values()]
    assert all(line and "\n" not in line for line in lines)
    assert len(set(lines)) == 8


@pytest.mark.parametrize("reason", REASONS)
def test_a_person_reads_what_happened_and_what_to_do(reason):
    """One sentence in two halves, other than what the program is told."""
    row = RECOVERY[reason]
    assert re.fullmatch(r"[^.:]{15,}: [^.:]{15,}\.", row.advice)
    assert row.advice != row.remediation
    assert [each.reason for each in RECOVERY.values() if each.advice == row.advice] == [reason]


@pytest.mark.parametrize(
    ("error", "detail"),
    named(
        {
            "billing": ({"status": 402}, "billing"),
            "hard-quota": ({"status": 429, "code": "insufficient_quota"}, "hard_quota"),
        }
    ),
)
def test_money_is_never_retryable(error, detail):
    """Billing and hard quotas are never retryable."""
    found = classify(error)
    assert (found.detail, found.retryable, found.action) == (detail, False, "surface")


def test_abort_is_recorded():
    """A user's own abort is written down, not surfaced."""
    found = classify(KeyboardInterrupt())
    assert (found.reason, found.detail, found.action, found.retryable) == ("unknown", "aborted", "record", False)
