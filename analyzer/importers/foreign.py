"""What foreign records say, as events hold it: errors classified, with their facts; numbers of sane size."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack

from analyzer.classifier import Classification, classify
from analyzer.events import error_payload
from analyzer.events.payloads import ErrorClassified

LARGEST = 10**15
"""Larger numbers are nonsense in a log, and do not fit where they are added up."""


def classify_foreign(
    error: Mapping[str, Any] | str, at: datetime, **known: Unpack[ErrorClassified]
) -> tuple[Classification, dict[str, Any]]:
    """The classification of a foreign error and its payload; `at` (naive UTC) is the moment of the record."""
    verdict = classify(error, at=at)
    return verdict, dict(error_payload(verdict, **known))


def number(value: object) -> int | None:
    """A count as an int, where the record holds a number of sane size; booleans and texts are none."""
    amount = quantity(value)
    return None if amount is None else int(amount)


def quantity(value: object) -> float | None:
    """A number of sane size, where the record holds one; booleans, texts, NaN and the like are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -LARGEST < value < LARGEST else None


def digits(found: str) -> int | None:
    """Digits of a message as a number of sane size."""
    return int(found) if len(found) <= 15 else None
