"""Nights that are made by hand, for tests of what is done with them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from analyzer.analysis import Finding, Night

DAY = date(2026, 11, 9)


def night_of(*findings: Finding, **fields: Any) -> Night:
    """Return a night of one caller with these findings; `fields` replace those of `Night`."""
    usual = {"day": DAY, "timezone": "UTC", "judged_at": datetime(2026, 11, 10), "ruleset": None, "since": None}
    return Night(**{**usual, "caller_days": 1, "callers": 1, "findings": findings, **fields})
