"""Small made-up histories for the tests of detection."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from math import exp, log
from random import Random

import polars as pl

FIRST = date(2026, 3, 2)  # a Monday


def counts(rows: list[tuple[str, int, int, int, int, int]]) -> pl.DataFrame:
    """Rows of (caller, day index, sessions, unknown sessions, groups, unknown groups)."""
    return pl.DataFrame(
        [(caller, FIRST + timedelta(days=day), *values, values[2] * 3) for caller, day, *values in rows],
        schema={
            "caller": pl.String,
            "day": pl.Date,
            "sessions": pl.Int64,
            "unknown_sessions_replayed": pl.Int64,
            "groups": pl.Int64,
            "unknown_groups_replayed": pl.Int64,
            "events": pl.Int64,
        },
        orient="row",
    )


def templates(rows: list[tuple[str, int, str, int]] | None = None) -> pl.DataFrame:
    """Rows of (caller, day index, template, sessions)."""
    return pl.DataFrame(
        [(caller, FIRST + timedelta(days=day), template, sessions) for caller, day, template, sessions in rows or []],
        schema={"caller": pl.String, "day": pl.Date, "template": pl.String, "sessions": pl.Int64},
        orient="row",
    )


def constant(days: int = 84, callers: int = 1, sessions: int = 40, unknown: int = 3) -> pl.DataFrame:
    """The same figures every day."""
    return counts(
        [(f"c{i}", day, sessions, unknown, sessions * 2, unknown) for i in range(callers) for day in range(days)]
    )


def simulated(
    seed: int,
    share: Callable[[int], float] = lambda day: 0.05,
    *,
    days: int = 84,
    callers: int = 1,
    sessions: int = 40,
    day_noise: float = 0.25,
) -> pl.DataFrame:
    """Independent sessions of one or two groups; `share` is that of the first caller (others: of day 0)."""
    random = Random(seed)
    rows = []
    for index in range(callers):
        for day in range(days):
            base = share(day) if index == 0 else share(0)
            odds = exp(log(base / (1 - base)) + random.gauss(0, day_noise))
            today = max(1, round(random.gauss(sessions, sessions**0.5)))
            unknown = sum(random.random() < odds / (1 + odds) for _ in range(today))
            more = sum(random.random() < 0.1 for _ in range(unknown))
            rows.append((f"c{index}", day, today, unknown, 2 * today, unknown + more))
    return counts(rows)


def step(before: float, after: float, first: int, last: int = 10_000) -> Callable[[int], float]:
    """A share that is another one from `first` up to before `last`."""
    return lambda day: after if first <= day < last else before
