"""Facts: everything the classifier may look at, flat and ready for JSON.

Invariant: facts that `extract` made are normalised, redacted and capped, and `from_dict(to_dict(f)) == f` holds for any
facts, so that a stored event can be judged again exactly as it was judged live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MESSAGE_CHARS = 2_000
STREAM_CHARS = 4_000
NAME_CHARS = 200
HEADER_CHARS = 300
MAX_HEADERS = 24
MAX_CAUSES = 5

_TEXTS = (
    "code",
    "type",
    "subtype",
    "terminal_reason",
    "message",
    "provider",
    "model",
    "exception_class",
    "stdout",
    "stderr",
)
_ORDER = (
    "status",
    "code",
    "type",
    "subtype",
    "terminal_reason",
    "is_error",
    "message",
    "provider",
    "model",
    "exception_class",
    "exit_code",
    "stdout",
    "stderr",
    "headers",
    "cause",
)
# Far beyond what `extract` makes, and far below what would exhaust the stack on a hand-written file.
_MAX_STORED_CAUSES = 50


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one error. Every field may be missing."""

    status: int | None = None
    """HTTP status."""
    code: str | None = None
    """Machine code: a provider's code, an errno name, an MCP number as text."""
    type: str | None = None
    """The provider's error type, or the built-in family of an exception."""
    subtype: str | None = None
    """Subtype of a stream-json result event."""
    terminal_reason: str | None = None
    is_error: bool | None = None
    message: str | None = None
    """Text of the error; the texts of nested bodies follow on lines of their own."""
    provider: str | None = None
    model: str | None = None
    exception_class: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    headers: Mapping[str, str] | None = field(default=None, hash=False)
    """Lower-case names; retry, rate-limit-reset and request-id headers only."""
    cause: Facts | None = None
    """What this error was raised from."""

    def to_dict(self) -> dict[str, object]:
        """JSON-ready; fields that are None are left out."""
        out: dict[str, object] = {}
        for name in _ORDER:
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
    def from_dict(cls, d: Mapping[str, object]) -> Facts:
        """Facts out of a stored object; values of the wrong type count as missing, nothing raises."""
        return _from_dict(d, _MAX_STORED_CAUSES) or cls()


def _from_dict(d: object, depth: int) -> Facts | None:
    if not isinstance(d, Mapping):
        return None
    values: dict[str, object] = {}
    for name in _TEXTS:
        value = d.get(name)
        if isinstance(value, str):
            values[name] = value
    for name in ("status", "exit_code"):
        value = d.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            values[name] = value
    if isinstance(d.get("is_error"), bool):
        values["is_error"] = d["is_error"]
    headers = d.get("headers")
    if isinstance(headers, Mapping):
        values["headers"] = {k: v for k, v in headers.items() if isinstance(k, str) and isinstance(v, str)}
    if depth > 0 and isinstance(d.get("cause"), Mapping):
        values["cause"] = _from_dict(d["cause"], depth - 1)
    return Facts(**values)  # type: ignore[arg-type]  # every value was checked against its field above


def cap(text: str, limit: int) -> str:
    """At most `limit` characters: head and tail, with a note between them that says how many went. Idempotent."""
    if len(text) <= limit:
        return text
    room = limit - 40
    head = room * 3 // 4
    tail = room - head
    return f"{text[:head]}\n[… {len(text) - room} characters cut …]\n{text[len(text) - tail :]}"
