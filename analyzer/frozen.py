"""A decorator for classes of values, which are made once and never changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a dataclass whose fields can neither be set nor added after it is made."""
    return dataclass(frozen=True, slots=True)(cls)
