"""Bodies of errors, however they are wrapped: objects in objects, JSON in JSON in a message, Python reprs, HTML pages.

Invariant: reading is bounded in depth and in the number of values, and leaves out nothing that names the error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import re2

from analyzer.classifier.reading.draft import Draft, integer, plain, short_text
from analyzer.classifier.reading.flattening import unescaped
from analyzer.redaction import redact_value
from analyzer.redaction.automata import kept_until_fork

_MAX_TRIES = 3
_MAX_REPR_CHARS = 20_000
_MAX_JSON_CHARS = 4_000_000
_QUOTES = ('"', "'", "`", "b'", 'b"')
_DECODER = json.JSONDecoder(strict=False)


class _Patterns(NamedTuple):
    opening: Any
    """The start of a JSON value or a repr."""
    page: Any
    title: Any
    words: Any


@kept_until_fork
def _patterns() -> _Patterns:
    return _Patterns(
        re2.compile(rb"[\[{]\s*[\[{\"'\]}]"),
        re2.compile(rb"(?i)<!doctype html|<html[\s>]|<title>|<head[\s>]|<body[\s>]"),
        re2.compile(rb"(?i)<(?:title|h1)[^>]*>\s*([^<]+)"),
        re2.compile(rb"(?i)<(?:body|p|h2|center)[^>]*>\s*([^<\s][^<]+)"),
    )


def openings(text: str) -> Iterator[int]:
    """Yield the first positions in a text at which a JSON value or a Python repr may begin."""
    raw = text.encode("utf-8", "replace")
    for match in islice(_patterns().opening.finditer(raw), _MAX_TRIES):
        yield match.start() if len(raw) == len(text) else len(raw[: match.start()].decode("utf-8", "replace"))


def page_text(text: str) -> str:
    """Return the title, heading and first words of an HTML page; any other text unchanged."""
    patterns = _patterns()
    raw = text.encode("utf-8", "replace")
    page = patterns.page.search(raw)
    if page is None:
        return text
    headings: list[str] = []
    for pattern in (patterns.title, patterns.words):
        for match in islice(pattern.finditer(raw), 3):
            words = " ".join(match.group(1)[:800].decode("utf-8", "replace").split())[:200]
            if words and not any(words in heading for heading in headings):
                headings.append(words)
    before = raw[: page.start()].decode("utf-8", "replace").rstrip()
    return f"{before} {' · '.join(headings) or 'HTML page'}".strip()


def decode(text: str, start: int) -> tuple[object, int] | None:
    """Return the JSON value or Python literal that begins at a position,
    and the position of its end.
    """
    if len(text) - start > _MAX_JSON_CHARS:
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _literal(text, start)
    return (value, end) if isinstance(value, (dict, list)) and value else None


def _literal(text: str, start: int) -> tuple[object, int] | None:
    closing = "}" if text[start] == "{" else "]"
    end = text.rfind(closing) + 1
    if "'" not in text or end <= start or end - start > _MAX_REPR_CHARS:
        return None
    import ast  # only for reprs, which are rare

    try:
        value = ast.literal_eval(text[start:end])
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return (value, end) if isinstance(value, (dict, list)) and value else None


MAX_DEPTH = 10
MAX_VALUES = 400
_RESULT_LINES = 20


Reader = Callable[["_Walk", object, int], None]


class _Walk:
    """A reading of one body into a draft; `left` is the number of values that it may still look at."""

    __slots__ = ("draft", "left")

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.left = MAX_VALUES

    def value(self, value: object, depth: int) -> None:
        """Read a value of any type that is used as an error body."""
        self.left -= 1
        if depth <= 0 or self.left <= 0 or value is None:
            return
        if type(value) is dict or isinstance(value, Mapping):  # the test for an abstract class is slow
            self.mapping(value, depth)
        elif isinstance(value, (list, tuple)):
            for item in islice(value, 20):
                self.value(item, depth - 1)
        else:
            text = plain(value)
            if text is not None:
                self.text(text, depth)
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                self.draft.add_text(short_text(value))

    def mapping(self, body: Mapping[object, object], depth: int) -> None:
        """Read an object: its own names first, then nested ones, so that the innermost name stays."""
        nested: list[tuple[Reader, object]] = []
        has_known_key = False
        for key, value in islice(body.items(), 100):
            if value is None:
                continue
            if not isinstance(key, str):
                continue
            reader = _SCALARS.get(key)
            if reader is not None:
                has_known_key = True
                reader(self, value, depth)
                continue
            reader = _NESTED.get(key)
            if reader is not None:
                has_known_key = True
                nested.append((reader, value))
        for reader, value in nested:
            reader(self, value, depth - 1)
        if not has_known_key:
            self.leaves(body, depth - 1)

    def leaves(self, body: Mapping[object, object], depth: int) -> None:
        """Read an object without any known key: every text in it may be the message."""
        for value in islice(body.values(), 20):
            if isinstance(value, (str, bytes, Mapping, list)):
                self.value(value, depth)

    def text(self, text: str, depth: int) -> None:
        """Read a text.

        JSON, a Python repr or an HTML page inside it is read as a body, and replaced by its texts.
        """
        original = text
        if "\\" in text or text.startswith(_QUOTES):
            text = unescaped(text.strip())
        if depth > 0 and ("{" in text or "[" in text):
            text = self.opened(text, depth)
        if "<" in text:
            text = page_text(text)
        if text is original:
            self.draft.unread = text
        self.draft.add_text(text)

    def opened(self, text: str, depth: int) -> str:
        """Read the bodies embedded in a text into the draft, and return the text around them."""
        for start in openings(text):
            decoded = decode(text, start)
            if decoded is None:
                continue
            value, end = decoded
            inner = Draft()
            walk = _Walk(inner)
            walk.left = self.left
            # Escapes may have hidden the name of a secret when the text was redacted.
            walk.value(redact_value(value), depth - 1)
            self.left = walk.left - 1
            if not _has_evidence(inner):
                continue
            around = f"{text[:start].rstrip()} {' '.join(inner.texts)} {text[end:].lstrip(' ]')}"
            inner.texts = []
            _merge(self.draft, inner)
            return around
        return text


def read_body(draft: Draft, value: object, depth: int = MAX_DEPTH) -> None:
    """Read a body of any shape into the draft."""
    _Walk(draft).value(value, depth)


def read_text(draft: Draft, text: str) -> None:
    """Read a message into the draft; bodies inside it are opened."""
    _Walk(draft).text(text, MAX_DEPTH)


def read_output(draft: Draft) -> None:
    """Read the result event at the end of a failed command's stdout.

    stream-json prints it; it counts only if it reports a failure.
    """
    if not draft.exit_code or not draft.stdout:
        return
    for line in reversed(draft.stdout.rsplit("\n", _RESULT_LINES)[-_RESULT_LINES:]):
        line = line.strip()
        if not line.startswith("{") or '"result"' not in line:
            continue
        decoded = decode(line, 0)
        event = decoded[0] if decoded is not None else None
        if isinstance(event, dict) and event.get("type") == "result":
            if event.get("is_error") is True or str(event.get("subtype")).startswith("error_"):
                read_body(draft, redact_value(event))
            return


def _has_evidence(draft: Draft) -> bool:
    return bool(draft.texts or draft.code or draft.type or draft.status or draft.hints)


def _merge(outer: Draft, inner: Draft) -> None:
    if outer.status is None:
        outer.status = inner.status
    if outer.is_error is None:
        outer.is_error = inner.is_error
    for name in ("code", "type", "subtype", "terminal_reason"):
        if getattr(inner, name) is not None:
            setattr(outer, name, getattr(inner, name))
    for name in ("provider", "model", "exception_class", "failure_reason"):
        if getattr(outer, name) is None:
            setattr(outer, name, getattr(inner, name))
    for name, value in inner.hints.items():
        outer.hints.setdefault(name, value)
    if inner.headers:
        outer.take_headers(inner.headers)


def _status(walk: _Walk, value: object, depth: int) -> None:
    if type(value) is not int and isinstance(value, Mapping):
        walk.value(value, depth - 1)
    else:
        walk.draft.take_status(value)


def _code(walk: _Walk, value: object, depth: int) -> None:
    if isinstance(value, str) and integer(value) is None and " " in value.strip():
        walk.text(value, depth)
    else:
        walk.draft.take_code(value)


def _type(walk: _Walk, value: object, _depth: int) -> None:
    walk.draft.take_type(value)


def _aws_type(walk: _Walk, value: object, _depth: int) -> None:
    # "com.amazonaws.bedrock#ThrottlingException:http://…"
    if isinstance(value, str):
        walk.draft.take_type(value.rsplit("#", 1)[-1].split(":", 1)[0])


def _name(walk: _Walk, value: object, _depth: int) -> None:
    if isinstance(value, str) and walk.draft.exception_class is None and len(value) <= 200 and value != "Error":
        walk.draft.exception_class = value.strip() or None


def _subtype(walk: _Walk, value: object, _depth: int) -> None:
    if isinstance(value, str):
        walk.draft.subtype = value.strip() or None


def _terminal_reason(walk: _Walk, value: object, _depth: int) -> None:
    if isinstance(value, str):
        walk.draft.terminal_reason = value.strip() or None


def _failure_reason(walk: _Walk, value: object, _depth: int) -> None:
    walk.draft.take_failure_reason(value)


def _is_error(walk: _Walk, value: object, _depth: int) -> None:
    if isinstance(value, bool):
        walk.draft.is_error = value


def _reported(walk: _Walk, value: object, _depth: int) -> None:
    # Records that are no errors have `isApiErrorMessage: false` too; only true has a meaning.
    if value is True:
        walk.draft.is_error = True


def _text(walk: _Walk, value: object, depth: int) -> None:
    if isinstance(value, str):
        walk.text(value, depth)
    else:
        walk.value(value, depth - 1)


def _reason(walk: _Walk, value: object, depth: int) -> None:
    """Read `reason`, which is a name in errors of Google and a sentence elsewhere."""
    if isinstance(value, str) and value.isidentifier() and ("_" in value or not value[1:].islower()):
        walk.draft.take_code(value)
    else:
        _text(walk, value, depth)


def _error(walk: _Walk, value: object, depth: int) -> None:
    """Read `error`, which is an object, a sentence or a bare name."""
    if isinstance(value, str):
        if " " not in value.strip() and "_" in value:
            walk.draft.take_code(value)
        walk.text(value, depth)
    elif not isinstance(value, bool):
        walk.value(value, depth)


def _details(walk: _Walk, value: object, depth: int) -> None:
    """Read `details`. Only entries with an `@type` hold names; others are complaints about fields."""
    if not isinstance(value, (list, tuple)):
        walk.value(value, depth)
        return
    for item in islice(value, 20):
        if isinstance(item, Mapping) and "@type" not in item and "reason" not in item:
            text = item.get("msg") or item.get("message") or item.get("description")
            if isinstance(text, str):
                walk.text(text, depth - 1)
        else:
            walk.value(item, depth - 1)


def _headers(walk: _Walk, value: object, _depth: int) -> None:
    walk.draft.take_headers(value)


def _nested(walk: _Walk, value: object, depth: int) -> None:
    walk.value(value, depth)


def _hint(name: str) -> Reader:
    def read(walk: _Walk, value: object, _depth: int) -> None:
        walk.draft.add_hint(name, value)

    return read


def _provider(walk: _Walk, value: object, _depth: int) -> None:
    if isinstance(value, str) and walk.draft.provider is None:
        walk.draft.provider = value.strip()[:200] or None


def _base_resp(walk: _Walk, value: object, depth: int) -> None:
    """Read MiniMax's `base_resp`, the only place of its code; the code 0 means success."""
    if isinstance(value, Mapping) and value.get("status_code"):
        _provider(walk, "minimax", depth)
        walk.draft.take_code(value["status_code"])
        _text(walk, value.get("status_msg"), depth)


def _model(walk: _Walk, value: object, _depth: int) -> None:
    if isinstance(value, str) and walk.draft.model is None and value != "<synthetic>":
        walk.draft.model = value.strip()[:200] or None


_STATUS_KEYS = (
    "status", "status_code", "statusCode", "http_status", "httpStatus", "httpStatusCode", "HTTPStatusCode",
    "api_error_status", "apiErrorStatus", "error_status", "errorStatus", "upstream_status",
)  # fmt: skip
_CODE_KEYS = ("code", "Code", "error_code", "errorCode", "err_code", "errno_code")
_TYPE_KEYS = ("type", "error_type", "errorType", "error_category", "finish_reason", "stop_reason", "kind")
_TEXT_KEYS = (
    "message", "msg", "Message", "errorMessage", "error_message", "error_description", "description", "formatted",
    "result", "title", "text", "userMessage", "fault", "faultstring",
)  # fmt: skip
_NESTED_KEYS = (
    "errors", "Error", "err", "body", "data", "payload", "response", "content", "metadata", "raw", "last_error",
    "lastError", "$metadata", "ResponseMetadata", "rateLimits", "quotaLimits", "incomplete_details", "violations",
    "connection", "exception", "responseBody", "error_data",
)  # fmt: skip
_HINT_KEYS = {
    "retryDelay": "retryDelay", "retry_delay": "retryDelay", "retry_after": "retry_after", "retryAfter": "retry_after",
    "retry_after_seconds": "retry_after", "retryAfterSeconds": "retry_after", "retry_after_ms": "retry_after_ms",
    "retryAfterMs": "retry_after_ms", "resets_at": "resets_at", "resetsAt": "resets_at", "reset_at": "resets_at",
    "resets_in_seconds": "resets_in_seconds", "quotaResetDelay": "quotaResetDelay",
    "quotaResetTimeStamp": "quotaResetTimeStamp", "quotaId": "quotaId", "quota_limit": "quota_limit",
    "n_prompt_tokens": "n_prompt_tokens", "n_ctx": "n_ctx", "current_tokens": "current_tokens",
    "rateLimitType": "rateLimitType",
}  # fmt: skip

_SCALARS: dict[str, Reader] = {
    **dict.fromkeys(_STATUS_KEYS, _status),
    **dict.fromkeys(_CODE_KEYS, _code),
    **dict.fromkeys(_TYPE_KEYS, _type),
    **{key: _hint(name) for key, name in _HINT_KEYS.items()},
    "__type": _aws_type,
    "name": _name,
    "subtype": _subtype,
    "terminal_reason": _terminal_reason,
    "failure_reason": _failure_reason,
    "failureReason": _failure_reason,
    "is_error": _is_error,
    "isError": _is_error,
    "isApiErrorMessage": _reported,
    "provider": _provider,
    "providerID": _provider,
    "provider_name": _provider,
    "model": _model,
    "modelID": _model,
    "headers": _headers,
    "HTTPHeaders": _headers,
}
_NESTED: dict[str, Reader] = {
    **dict.fromkeys(_TEXT_KEYS, _text),
    **dict.fromkeys(_NESTED_KEYS, _nested),
    "base_resp": _base_resp,
    "reason": _reason,
    "error": _error,
    "detail": _details,
    "details": _details,
    "errorDetails": _details,
}
