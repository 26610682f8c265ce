"""Any object into facts: mappings, texts, results of commands, foreign exceptions.

Invariant: every input gives facts, and no exception of the object gets through. Secrets are redacted before values
are taken out, because a value that is taken out loses the name that marks it as a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from analyzer.classifier.reading import exceptions
from analyzer.classifier.reading.bodies import read_body, read_output, read_text
from analyzer.classifier.reading.draft import Draft, integer, plain
from analyzer.classifier.reading.facts import MAX_CAUSES, Facts
from analyzer.redaction import redact, redact_value

_CACHED_CHARS = 2_000
# Cached types other than str. Without bool and float, because 1, 1.0 and True are one key of a cache.
_FLAT = frozenset((int, type(None)))


def extract(error: object) -> Facts:
    """Return the normalised, redacted and capped facts of an exception, a mapping, a text or any object.

    Never raises.
    """
    if type(error) is Facts:
        return error
    try:
        if type(error) is dict and len(error) <= 8 and _is_small(error):
            return _extract_flat(tuple(error.items()))
        return _extract(error, MAX_CAUSES)
    except Exception:  # noqa: BLE001  # a foreign object may do anything when it is read
        return Facts(exception_class=type(error).__name__[:200])


def described(error: object, status: int | None, exit_code: int | None) -> object:
    """Return an error together with its status and exit code.

    With an exit code a text is a command's output.
    """
    extra = {
        name: value
        for name, value in (("status", status), ("exit_code", exit_code))
        if isinstance(value, int) and not isinstance(value, bool)
    }
    if not extra:
        return error
    if isinstance(error, str):
        return {"stdout" if "exit_code" in extra else "message": error, **extra}
    if isinstance(error, Mapping):
        return {**error, **extra}
    return extract(error)._replace(**extra)  # type: ignore[arg-type]


def _is_small(error: dict[object, object]) -> bool:
    length = 0
    for value in error.values():
        kind = type(value)
        if kind is str:
            length += len(value)  # type: ignore[arg-type]  # a str, as the line above says
        elif kind not in _FLAT:
            return False
    return length < _CACHED_CHARS


@lru_cache(maxsize=1_024)
def _extract_flat(items: tuple[tuple[object, object], ...]) -> Facts:
    """Read a flat object, and cache the result: the same errors come again and again."""
    return _extract(dict(items), MAX_CAUSES)


def _extract(error: object, causes: int) -> Facts:
    draft = Draft()
    if error is None:
        return draft.finish()
    if issubclass(type(error), BaseException):
        return exceptions.read(error, causes)
    text = plain(error)
    if text is not None:
        read_text(draft, redact(text))
    elif type(error) is dict or isinstance(error, Mapping):
        _read_mapping(draft, redact_value(error), causes)
    elif isinstance(error, (list, tuple)) and len(error) == 2 and type(error[0]) is int and 100 <= error[0] < 600:
        # A status with its body, as many clients return an answer.
        status, body = error
        key = "body" if isinstance(body, Mapping) else "message"
        _read_mapping(draft, redact_value({"status": status, key: body}), causes)
    elif isinstance(error, (list, tuple, int, float)):
        read_body(draft, redact_value(error))
    else:
        return exceptions.read(error, causes)
    return draft.finish()


_OF_CALLERS = frozenset(
    (
        *("exit_code", "exitCode", "returncode", "stdout", "output", "stderr", "exception_class", "cause", "caused_by"),
        *("connection", "timestamp", "stack", "traceback"),
    )
)
"""Keys that only a caller sets; all others belong to a body."""


def _read_mapping(draft: Draft, error: Mapping[object, object], causes: int) -> None:
    """Read an object as `analyzer classify -` does:
    first the keys that only a caller sets, the rest as a body.
    """
    rest: dict[object, object] = {}
    for key, value in error.items():
        if value is None:
            continue
        if key not in _OF_CALLERS:
            rest[key] = value
            continue
        match key:
            case "exit_code" | "exitCode" | "returncode":
                draft.exit_code = integer(value) if not isinstance(value, str) else draft.exit_code
            case "stdout" | "output":
                draft.stdout = _stream(value)
            case "stderr":
                draft.stderr = _stream(value)
            case "exception_class":
                draft.exception_class = value.strip() or None if isinstance(value, str) else None
            case "cause" | "caused_by":
                draft.cause = _cause(value, causes)
            case "connection" if isinstance(value, Mapping) and draft.cause is None:
                draft.cause = _cause(value, causes)
            case "connection":
                rest[key] = value
    read_output(draft)
    if rest:
        read_body(draft, rest)
        if draft.cause is None:
            draft.cause = _nested_cause(rest, causes)


def _cause(value: object, causes: int) -> Facts | None:
    if causes <= 0:
        return None
    facts = _extract(value, causes - 1)
    return facts if facts != Facts() else None


def _nested_cause(body: Mapping[object, object], causes: int) -> Facts | None:
    """Read the cause in the object under `error`, in records that hold the whole error object."""
    inner = body.get("error")
    if isinstance(inner, Mapping):
        for key in ("cause", "connection"):
            if isinstance(inner.get(key), Mapping):
                return _cause(inner[key], causes)
    return None


def _stream(value: object) -> str | None:
    if isinstance(value, (list, tuple)):
        return "\n".join(text for text in map(plain, value) if text is not None) or None
    return plain(value)
