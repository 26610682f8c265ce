"""A draft of facts: evidence is added outermost first; `finish` normalises, redacts and caps it.

Invariant: everything that leaves a draft has gone through all three, in this order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import re2

from analyzer.classifier.reading.facts import (
    HEADER_CHARS,
    MAX_HEADERS,
    MESSAGE_CHARS,
    NAME_CHARS,
    STREAM_CHARS,
    Facts,
    cap,
)
from analyzer.redaction import redact
from analyzer.redaction.automata import kept_until_fork
from analyzer.redaction.unfolding import readable

_ANSI = rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_CONTROL = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}
_MAX_TEXTS = 30
# Names that only say "this is an envelope".
_ENVELOPES = frozenset(
    (
        "",
        "error",
        "result",
        "response",
        "response.failed",
        "assistant",
        "system",
        "failed",
        "none",
        "null",
        "text",
        "object",
    )
)
# A name of an error is one word; anything else in such a field is text.
_NAME = rb"[A-Za-z0-9_$][A-Za-z0-9_.$:/\-]{0,119}"
_RETRY_HEADERS = frozenset(("retry-after", "retry-after-ms", "x-should-retry"))


@kept_until_fork
def _regex(pattern: bytes) -> Any:
    return re2.compile(pattern)


class Draft:
    """A collection of evidence that becomes `Facts`. Values of the wrong type are dropped."""

    __slots__ = (
        "cause",
        "code",
        "exception_class",
        "exit_code",
        "failure_reason",
        "headers",
        "hints",
        "is_error",
        "model",
        "provider",
        "status",
        "stderr",
        "stdout",
        "subtype",
        "terminal_reason",
        "texts",
        "type",
        "unread",
    )

    def __init__(self) -> None:
        self.status: int | None = None
        self.code: str | None = None
        self.type: str | None = None
        self.subtype: str | None = None
        self.terminal_reason: str | None = None
        self.failure_reason: str | None = None
        self.is_error: bool | None = None
        self.texts: list[str] = []
        self.unread: str | None = None
        """The last text without a body in it, as it was after redaction."""
        self.hints: dict[str, str] = {}
        self.provider: str | None = None
        self.model: str | None = None
        self.exception_class: str | None = None
        self.exit_code: int | None = None
        self.stdout: str | None = None
        self.stderr: str | None = None
        self.headers: dict[str, str] | None = None
        self.cause: Facts | None = None

    def take_status(self, value: object) -> None:
        """Take an HTTP status, as number or text.

        A name such as UNAVAILABLE is taken as a type. The outermost number stays.
        """
        number = integer(value)
        if number is not None:
            if self.status is None and 100 <= number <= 999:
                self.status = number
        elif isinstance(value, str):
            self.take_type(value)

    def take_code(self, value: object) -> None:
        """Take a machine code. A number in the range of HTTP statuses is taken as one. The innermost name stays."""
        number = integer(value)
        if number is not None:
            if 100 <= number <= 599:
                if self.status is None:
                    self.status = number
                return
            if self.code is None:
                self.code = str(number)
            return
        name = _as_name(value)
        if name is not None:
            self.code = name
        elif isinstance(value, str) and value.strip():
            self.add_text(value)

    def take_type(self, value: object) -> None:
        """Take an error type. Names of envelopes, such as `error`, are dropped. The innermost name stays."""
        name = _as_name(value)
        if name is not None:
            self.type = name

    def take_failure_reason(self, value: object) -> None:
        """Take a supervisor's word for the failure of a step.

        A sentence is taken as a text. The outermost word stays.
        """
        name = _as_name(value)
        if name is None:
            if isinstance(value, str):
                self.add_text(value)
        elif self.failure_reason is None:
            self.failure_reason = name

    def add_text(self, text: str) -> None:
        """Take a text about the error. A part of a text already taken adds nothing."""
        text = text.strip()
        if not text or len(self.texts) >= _MAX_TEXTS or any(text in earlier for earlier in self.texts):
            return
        self.texts = [earlier for earlier in self.texts if earlier not in text]
        self.texts.append(text)

    def add_hint(self, name: str, value: object) -> None:
        """Take a number or a moment that a body has under a known key, such as `retryDelay`."""
        if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(self.hints) >= 12:
            return
        if isinstance(value, float) and not math.isfinite(value):
            return
        text = short_text(value)
        if 0 < len(text) <= 100 and "\n" not in text:
            self.hints.setdefault(name, text)

    def take_headers(self, value: object) -> None:
        """Take headers, a mapping or pairs; names in any case. Only retry, reset and request-id headers stay."""
        for name, text in _header_pairs(value):
            if _is_kept_header(name):
                if self.headers is None:
                    self.headers = {}
                if len(self.headers) < MAX_HEADERS:
                    self.headers.setdefault(name, text)

    def finish(self) -> Facts:
        """Make the facts: normalised, redacted and capped."""
        texts = self.texts
        if self.hints:
            texts = [*texts, *(f"{name}: {value}" for name, value in self.hints.items())]
        message = "\n".join(texts) if texts else None
        if message is not None and not (
            # It is unchanged since redaction, and no escape code or foreign letter can hide the name of a secret.
            message is self.unread and len(message) <= MESSAGE_CHARS and message.isascii() and message.isprintable()
        ):
            message = _clean(message, MESSAGE_CHARS)
        headers = self.headers
        if headers is not None:
            headers = {name: _clean(text, HEADER_CHARS) or "" for name, text in headers.items()}
        return Facts(
            self.status,
            _clean(self.code, NAME_CHARS) if self.code else None,
            _clean(self.type, NAME_CHARS) if self.type else None,
            _clean(self.subtype, NAME_CHARS) if self.subtype else None,
            _clean(self.terminal_reason, NAME_CHARS) if self.terminal_reason else None,
            _clean(self.failure_reason, NAME_CHARS) if self.failure_reason else None,
            self.is_error,
            message,
            _clean(self.provider, NAME_CHARS) if self.provider else None,
            _clean(self.model, NAME_CHARS) if self.model else None,
            _clean(self.exception_class, NAME_CHARS) if self.exception_class else None,
            self.exit_code,
            _clean(self.stdout, STREAM_CHARS) if self.stdout else None,
            _clean(self.stderr, STREAM_CHARS) if self.stderr else None,
            headers,
            self.cause,
        )


def short_text(value: object) -> str:
    """Return a text stripped, or another value as text; empty for integers of absurd length."""
    if isinstance(value, str):
        return value.strip()
    try:
        return str(value)
    except ValueError:
        return ""


def integer(value: object) -> int | None:
    """Return the integer in an int, a whole float or a short decimal text.

    None for a bool and anything else.
    """
    if type(value) is int:
        return value if -(10**15) < value < 10**15 else None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return integer(int(value))
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else None
    if isinstance(value, str) and len(value) <= 16:
        text = value.strip()
        digits = text[1:] if text[:1] == "-" else text
        return int(text) if digits.isascii() and digits.isdigit() else None
    return None


def plain(value: object) -> str | None:
    """Return the text of a str or of bytes; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    return None


def _as_name(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    text = value.strip()
    if not text.isascii() or text.lower() in _ENVELOPES or _regex(_NAME).fullmatch(text.encode()) is None:
        return None
    return text


def _is_kept_header(name: str) -> bool:
    return name in _RETRY_HEADERS or "reset" in name or "request-id" in name or "requestid" in name


def _header_pairs(value: object) -> Iterable[tuple[str, str]]:
    items: Iterable[object]
    if isinstance(value, Mapping) or hasattr(value, "items"):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        return
    for item in islice(items, 500):
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            continue
        name, text = plain(item[0]), item[1]
        if isinstance(text, (list, tuple)) and text:
            text = text[0]
        text = short_text(text) if isinstance(text, (int, float)) and not isinstance(text, bool) else plain(text)
        if name and text and len(name) <= 100:
            yield name.strip().lower(), text.strip()


def _clean(text: str, limit: int) -> str | None:
    return _clean_short(text, limit) if len(text) <= MESSAGE_CHARS else _clean_any(text, limit)


def without_colours(text: str) -> str:
    """Return the text without the codes that colour and steer a terminal."""
    if "\x1b" not in text:
        return text
    return bytes(_regex(_ANSI).sub(b"", text.encode())).decode("utf-8", "replace")


def _clean_any(text: str, limit: int) -> str | None:
    if not text.isascii():
        text = readable(text)
    if not text.isprintable():
        text = without_colours(text)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        # Output and long messages have line breaks; translating each character is slow.
        if not text.replace("\n", "").replace("\t", "").isprintable():
            text = text.translate(_CONTROL)
    text = redact(text.strip())
    return cap(text, limit) or None


# The same errors come again and again; their texts need not be cleaned twice.
_clean_short = lru_cache(maxsize=2_048)(_clean_any)
