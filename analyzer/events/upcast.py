"""Older versions of the payloads → the present one: pure functions from one version to the next, applied in a chain.

A line of an unknown version is kept as it is. Golden files hold what every version's lines become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analyzer.events.model import SCHEMA_VERSION

Upcaster = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Type and payload of version n → the payload of version n + 1. Pure; it may raise."""

UPCASTERS: dict[int, Upcaster] = {}
"""By the version that they start from. Version 1 is the first, and still the present one."""


def upcast(version: int, kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload as the present version writes it; unchanged where its version is not known.

    Raises:
        Exception: whatever an upcaster raises.
    """
    if any(step not in UPCASTERS for step in range(version, SCHEMA_VERSION)):
        return payload
    for step in range(version, SCHEMA_VERSION):
        payload = UPCASTERS[step](kind, payload)
    return payload
