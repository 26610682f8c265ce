"""Values out of foreign records, which change their shapes between versions: the wanted shape, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 10**12
"""A larger count of tokens is nonsense, and the store keeps none."""


def mapping(value: object) -> Mapping[str, Any]:
    """The object under a key; an empty one where there is none."""
    # A dict, mostly; to ask an abstract class takes longer than all that is done with it.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def text(value: object) -> str | None:
    """A text that says something, or None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A whole number that is no nonsense, or None."""
    return value if type(value) is int and 0 <= value < MOST else None
