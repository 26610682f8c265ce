"""The few fields of a record that a reader needs, decoded without the rest, which is checked to be JSON and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import msgspec

RAW = msgspec.Raw
"""The type of a field that is kept as it stands, to be decoded where it is asked for."""


def shape(names: str, **inner: Any) -> Any:
    """The type of an object of which these fields are decoded, those of `inner` by types of their own."""
    return TypedDict("Shape", {**dict.fromkeys(names.split(), Any), **inner}, total=False)  # type: ignore[operator]


def list_of(names: str) -> Any:
    """The type of a list of such objects."""
    return list[shape(names)]  # type: ignore[misc]


def glance(names: str, **inner: Any) -> Callable[[bytes | str], Mapping[str, Any]]:
    """What decodes these fields of a line, as `shape` says.

    It raises `msgspec.DecodeError` where the line is no JSON or a field has another type than it should have,
    `UnicodeDecodeError` and `RecursionError`.
    """
    decode: Callable[[bytes | str], Mapping[str, Any]] = msgspec.json.Decoder(shape(names, **inner)).decode
    return decode
