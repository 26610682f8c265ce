"""A number with its noun, for every sentence that a person reads."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return the number with its noun: `1 session`, `1,234 sessions`, and with `many` an irregular plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
