"""Stored facts as JSON text, read without the cost of a frozen dataclass each.

Invariant: whatever decodes here has the fields and values that `Facts.from_dict` would have found, as far as a verdict
looks at them; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

ERRORS: tuple[type[Exception], ...] = (msgspec.DecodeError, RecursionError, UnicodeError)
"""What a decoder raises for texts that are no well-formed facts."""


class Stored(msgspec.Struct, gc=False):
    """The fields of `Facts` that a verdict looks at."""

    status: int | None = None
    code: str | None = None
    type: str | None = None
    subtype: str | None = None
    terminal_reason: str | None = None
    failure_reason: str | None = None
    is_error: bool | None = None
    message: str | None = None
    provider: str | None = None
    exception_class: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    cause: Stored | None = None


def decoder() -> Callable[[str], Stored]:
    """A function from JSON text to stored facts; it raises one of `ERRORS` for anything else."""
    return msgspec.json.Decoder(Stored).decode
