"""What an error says, and where: each text that may count, matched once against all patterns of a ruleset.

Invariant: words of a run that went well never count; output of a failed command counts by whole lines and by its error
lines, the rest of it is an agent's prose.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import re2

from analyzer.classifier.facts import MESSAGE_CHARS, STREAM_CHARS, Facts
from analyzer.classifier.rules import LINE, PROSE, SIGNAL, STATUS, TEXT, Ruleset, normal_name

LOOSE_CHARS = 600
"""Errors state their cause early: in a longer text only whole lines and names count, unless a status says
that it is one."""

SHORT_CHARS = 200
"""A failed command that prints one line of this length on stdout prints its error there."""

_WORDS = frozenset((LINE, SIGNAL, TEXT))
_STRICT = frozenset((LINE, SIGNAL))
_LINES = frozenset((LINE,))
_ERROR_LINE = r"(?mi)^[\s>*•⎿│|\[(-]*(?:api error|[a-z_.]*(?:error|exception)|fatal)\b\s*[:(\[\d][^\n]*"


@cache
def _error_line() -> Any:
    return re2.compile(_ERROR_LINE.encode())


class Heard:
    """The hits of one level of facts."""

    __slots__ = ("hits", "status")

    def __init__(self) -> None:
        self.hits: dict[int, bytes] = {}
        """Pattern number → the text it was found in."""
        self.status: int | None = None
        """A status that a text states."""


def succeeded(facts: Facts) -> bool:
    """Whether this is a run that went well, whose words are no error's."""
    if facts.is_error is not None:
        return not facts.is_error
    return facts.exit_code == 0


def listen(facts: Facts, ruleset: Ruleset) -> Heard:
    """The hits in every text of these facts that may count."""
    heard = Heard()
    if succeeded(facts):
        return heard
    if facts.message:
        text = _bytes(facts.message, MESSAGE_CHARS)
        found = _matches(text, ruleset, prose=facts.status is None)
        loose = len(text) <= LOOSE_CHARS or (facts.status or 0) >= 400
        _keep(heard, text, found, ruleset, _WORDS if loose else _STRICT)
    failed = facts.exit_code is not None and facts.exit_code != 0
    if facts.stderr:
        _listen_to_stream(heard, facts.stderr, ruleset, kinds=_STRICT, short=LOOSE_CHARS, failed=failed)
    if facts.stdout and failed:
        _listen_to_stream(heard, facts.stdout, ruleset, kinds=_LINES, short=SHORT_CHARS, failed=True)
    return heard


def _listen_to_stream(
    heard: Heard, stream: str, ruleset: Ruleset, *, kinds: frozenset[str], short: int, failed: bool
) -> None:
    """A stream counts by the given kinds; all words count in its error lines, and where it is short."""
    text = _bytes(stream, STREAM_CHARS)
    alone = len(text) <= short and (kinds is not _LINES or (b"\n" not in text and text[:1] not in b"{["))
    found = _matches(text, ruleset, prose=True)
    _keep(heard, text, found, ruleset, _WORDS if alone else kinds, stream=True, failed=failed)
    if not alone:
        lines = b"\n".join(match.group() for match in _error_line().finditer(text))
        if lines:
            _keep(heard, lines, _matches(lines, ruleset, prose=False), ruleset, _WORDS, stream=True, failed=failed)


def leading_name(message: str) -> str:
    """The normal name of a message that is one name, or begins with one and a colon, as logs print exceptions."""
    first = message[:120].split(None, 1)[0] if message[:1].isalpha() else ""
    if first.endswith(":") or len(first) == len(message):
        return normal_name(first.rstrip(":"))
    return ""


def _matches(text: bytes, ruleset: Ruleset, *, prose: bool) -> list[int]:
    """Numbers of the patterns that match; where the text may be prose and begins like it, loose words are left out."""
    found: list[int] = ruleset.compiled.set.Match(text) or []
    patterns = ruleset.compiled.patterns
    if prose and any(patterns[number].kind == PROSE for number in found):
        return [number for number in found if patterns[number].kind not in (TEXT, STATUS)]
    return found


def _keep(
    heard: Heard,
    text: bytes,
    found: Iterable[int],
    ruleset: Ruleset,
    kinds: frozenset[str],
    *,
    stream: bool = False,
    failed: bool = False,
) -> None:
    """Keeps the hits of the kinds that count here; in a stream some rules ask for a whole line of a failed command."""
    for number in found:
        pattern = ruleset.compiled.patterns[number]
        if pattern.kind == STATUS:
            if heard.status is None and SIGNAL in kinds:
                match = pattern.regex.search(text)
                heard.status = int(match.group(1)) if match is not None else None
            continue
        if pattern.kind == PROSE or (pattern.kind in _WORDS and pattern.kind not in kinds):
            continue
        if stream and ruleset.rules[pattern.rule].strict_streams and (pattern.kind != LINE or not failed):
            continue
        heard.hits.setdefault(number, text)


def _bytes(text: str, limit: int) -> bytes:
    return text[:limit].encode("utf-8", "replace")
