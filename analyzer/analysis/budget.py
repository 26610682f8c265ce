"""A budget of US dollars a day: what is spent of it, and when it will be passed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from analyzer.analysis.observations import end_of, start_of
from analyzer.analysis.tables import Window, json_fields, table
from analyzer.errors import AnalyzerError
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.store import Store

NEAR = 0.8
"""The share of a budget from which on it is nearly spent."""


@frozen
class BudgetState:
    """A day's budget at a moment."""

    daily_usd: float
    spent_usd: float
    last_hour_usd: float
    requests: int
    unpriced: int
    """Requests of the day without a cost: the sum is at least `spent_usd`."""
    passes_at: datetime | None
    """When it is passed if each hour costs as much as the last one, naive UTC; None if not within the day, or if it is
    passed already."""
    last_at: datetime | None
    """The latest request of the day; None without any."""
    has_usage: bool = True
    """False if the store has no request at all, of any day, of what is selected."""

    @property
    def state(self) -> str:
        """Return `passed`, `near` (80 % is spent, or it is passed within the day at this pace) or `within`."""
        if self.spent_usd > self.daily_usd:
            return "passed"
        return "near" if self.passes_at or self.spent_usd >= NEAR * self.daily_usd else "within"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict, as `analyzer budget --json` prints it."""
        return {"schema": "analyzer.budget/1", "state": self.state, **json_fields(self)}


def budget_state(store: Store, daily_usd: float, at: datetime | None = None, timezone: str = "UTC") -> BudgetState:
    """Return what is spent of a daily budget at a moment (naive UTC; None: now), in the day of a time zone.

    Raises:
        AnalyzerError: a budget that is no positive number, or an unknown zone.
    """
    if not (math.isfinite(daily_usd) and daily_usd > 0):
        raise AnalyzerError(f"a budget of {daily_usd:g} dollars", "write a positive number, such as --daily 20")
    moment = at or now()
    today = Window(moment, None, timezone).first_day
    assert today is not None  # the window begins at the moment
    begin, end = start_of(today, timezone), end_of(today, timezone)
    (row,) = table(store, "cost-spent", Window(begin, moment, timezone)).frame.iter_rows(named=True)
    spent, pace, passes_at = row["cost_usd"], row["last_hour_usd"], None
    if pace > 0 and spent <= daily_usd:
        hours = (daily_usd - spent) / pace
        passes_at = moment + timedelta(hours=hours) if hours < (end - moment) / timedelta(hours=1) else None
    has_usage = row["requests"] > 0 or table(store, "cost-spent", Window()).frame["requests"][0] > 0
    return BudgetState(daily_usd, spent, pace, row["requests"], row["unpriced"], passes_at, row["last_at"], has_usage)
