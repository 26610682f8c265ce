"""A foreign failure → the payload of `error.classified`: the shared classifier judges it, and it keeps its facts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack

from analyzer.classifier import Classification, classify
from analyzer.events import error_payload
from analyzer.events.payloads import ErrorClassified


def judge(
    error: Mapping[str, Any] | str, at: datetime, **known: Unpack[ErrorClassified]
) -> tuple[Classification, dict[str, Any]]:
    """The classification of a foreign error and its payload; `at` (naive UTC) is the moment of the record."""
    verdict = classify(error, at=at)
    return verdict, dict(error_payload(verdict, **known))


def number(value: object) -> int | None:
    """A count as an int, where the record holds a number; booleans and texts are none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def text(value: object) -> str | None:
    """A text that says something, or None."""
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> Mapping[str, Any]:
    """The object under a key, or an empty one: foreign records change their shapes between versions."""
    return value if isinstance(value, Mapping) else {}
