"""Facts: everything that the classifier may look at, flat and ready for JSON.

Invariant: facts that `extract` made are normalised, redacted and capped, and `from_dict(to_dict(f)) == f` holds for any
facts, so that a stored event can be judged again exactly as it was judged live.

They are a named tuple: it is made fast, and a process that classifies one error does not pay the 17 ms that importing
dataclasses takes. A replay of stored facts makes none (`batch`).
"""

from collections.abc import Mapping
from typing import NamedTuple

MESSAGE_CHARS = 2_000
STREAM_CHARS = 4_000
NAME_CHARS = 200
HEADER_CHARS = 300
MAX_HEADERS = 24
MAX_CAUSES = 5

# Far beyond what `extract` makes, and far below what would exhaust the stack on a hand-written file.
_MAX_STORED_CAUSES = 50


class Facts(NamedTuple):
    """The evidence about one error. Every field may be missing."""

    status: int | None = None
    """HTTP status."""
    code: str | None = None
    """Machine code: a provider's code, an errno name, an MCP number as text."""
    type: str | None = None
    """The provider's error type, or the built-in family of an exception."""
    subtype: str | None = None
    """Subtype of a stream-json result event."""
    terminal_reason: str | None = None
    failure_reason: str | None = None
    """A supervisor's word for the failure of the step, such as `timeout` or `context_exhaustion`."""
    is_error: bool | None = None
    message: str | None = None
    """The text of the error; the texts of nested bodies follow on lines of their own."""
    provider: str | None = None
    model: str | None = None
    exception_class: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    headers: Mapping[str, str] | None = None
    """Lower-case names; retry, rate-limit-reset and request-id headers only."""
    cause: "Facts | None" = None
    """The facts of the error that this one was raised from."""

    def __hash__(self) -> int:
        return hash((*self[:-2], self.cause))  # headers are a dictionary

    def to_dict(self) -> dict[str, object]:
        """Return the facts ready for JSON, without fields that are None."""
        out: dict[str, object] = {}
        for name in _NAMES:
            value = getattr(self, name)
            if value is None:
                continue
            if name == "headers":
                value = dict(value)
            elif name == "cause":
                value = value.to_dict()
            out[name] = value
        return out

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> "Facts":
        """Make facts from a stored object. Values of the wrong type count as missing.

        Nothing raises.
        """
        return _from_dict(d, _MAX_STORED_CAUSES) or cls()


_NAMES = Facts._fields
_TYPES: dict[object, type] = {
    **dict.fromkeys(_NAMES, str),
    "status": int,
    "exit_code": int,
    "is_error": bool,
    "headers": Mapping,
    "cause": Mapping,
}


def _from_dict(d: object, depth: int) -> Facts | None:
    if not isinstance(d, Mapping):
        return None
    values: dict[str, object] = dict.fromkeys(_NAMES)
    for name, value in d.items():
        wanted = _TYPES.get(name)
        if wanted is type(value):
            values[name] = value
        elif wanted is not None and isinstance(value, wanted):
            values[name] = _checked(name, value, depth)
    return Facts._make(values.values())


def _checked(name: str, value: object, depth: int) -> object:
    """Return the value of a field if it may have it; None otherwise."""
    if name == "headers" and isinstance(value, Mapping):
        return {k: v for k, v in value.items() if isinstance(k, str) and isinstance(v, str)}
    if name == "cause":
        return _from_dict(value, depth - 1) if depth > 0 else None
    return None if isinstance(value, bool) else value


def cap(text: str, limit: int) -> str:
    """Cut a text to `limit` characters: head, a note that says how many are cut, tail. Idempotent."""
    if len(text) <= limit:
        return text
    room = limit - 40
    head = room * 3 // 4
    tail = room - head
    return f"{text[:head]}\n[… {len(text) - room} characters cut …]\n{text[len(text) - tail :]}"
