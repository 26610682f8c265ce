"""One value of a result becomes what a person reads. A column's name carries its unit, and the unit decides the form.

Invariant: the texts are not escaped yet; each renderer does that for its own medium.
"""

from __future__ import annotations

from datetime import date, datetime

from analyzer.phrases import percent
from analyzer.redaction.homes import without_home

NOTHING = "–"
"""What stands for a value that the log does not say."""
_PATHS = frozenset({"source_path", "session", "cwd"})
"""Columns that hold paths, all or some of them."""


def heading(column: str) -> str:
    """`unknown_share` → `Unknown share`; times say their zone, units stand in brackets."""
    words = column.replace("_", " ")
    if column.endswith("_at"):
        words = f"{words.removesuffix(' at')} (UTC)"
    elif column.endswith("_seconds"):
        words = f"{words.removesuffix(' seconds')} (s)"
    elif column.endswith("_percent"):
        words = words.removesuffix(" percent")
    return words[:1].upper() + words[1:]


def shown(column: str, value: object) -> str:
    """A cell: thousands separated, shares in percent, times to the minute."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return minute(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        return _number(column, value)
    return without_home(str(value)) if column in _PATHS else str(value)


def count(number: int) -> str:
    """`1,234`."""
    return f"{number:,}"


def minute(moment: datetime) -> str:
    """`2026-11-21 08:15`, of a naive UTC moment."""
    return f"{moment:%Y-%m-%d %H:%M}"


def _number(column: str, value: float) -> str:
    if column == "share" or column.endswith("_share"):
        return percent(value)
    if column.endswith("_percent"):
        return f"{value:.1f}%"
    if column == "p_value":
        return f"{value:.2g}"
    if isinstance(value, int):
        return count(value)
    return f"{value:,.0f}" if column.endswith("_tokens") or abs(value) >= 1000 else f"{value:,.1f}"
