"""Finds what is embedded in a text: JSON values, Python literals, HTML pages.

Invariant: linear in the text; a text that only looks like one of them stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import re2

from analyzer.forking import kept_until_fork

_MAX_TRIES = 3
_MAX_REPR_CHARS = 20_000
_MAX_JSON_CHARS = 4_000_000
_DECODER = json.JSONDecoder(strict=False)


class _Patterns(NamedTuple):
    opening: Any
    """Where a JSON value or a repr may begin."""
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
    """The first few places in a text at which a JSON value or a Python repr may begin."""
    raw = text.encode("utf-8", "replace")
    for match in islice(_patterns().opening.finditer(raw), _MAX_TRIES):
        yield match.start() if len(raw) == len(text) else len(raw[: match.start()].decode("utf-8", "replace"))


def page_text(text: str) -> str:
    """The title, heading and first words of a text that is an HTML page; any other text unchanged."""
    patterns = _patterns()
    raw = text.encode("utf-8", "replace")
    page = patterns.page.search(raw)
    if page is None:
        return text
    says: list[str] = []
    for pattern in (patterns.title, patterns.words):
        for match in islice(pattern.finditer(raw), 3):
            words = " ".join(match.group(1)[:800].decode("utf-8", "replace").split())[:200]
            if words and not any(words in known for known in says):
                says.append(words)
    before = raw[: page.start()].decode("utf-8", "replace").rstrip()
    return f"{before} {' · '.join(says) or 'HTML page'}".strip()


def decode(text: str, start: int) -> tuple[object, int] | None:
    """The JSON value or Python literal that begins at a place, and the place where it ends."""
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
