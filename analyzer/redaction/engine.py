"""Secrets out of text: one search that tells clean data, and the replacement of what is found.

Invariant: linear time on any input, idempotent, and equal secrets give equal marks on every machine, so that errors
still group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from analyzer.forking import kept_until_fork
from analyzer.redaction.automata import Spans, matches, regex, set_of
from analyzer.redaction.families import FAMILIES
from analyzer.redaction.places import PLACES, Found
from analyzer.redaction.trace_words import words_of_traces
from analyzer.redaction.values import GUARDS, MARK

MAX_SECRETS = 500
MAX_LOOKS = 1_000
"""Replacements by one rule in one text, and places that it looks at; what follows the last one is replaced as a whole,
so that no text costs much time."""
_ROUNDS = 6
_FEW = 16
"""Texts of a process that are searched without the automaton of the prefilter."""
_SHORT = 16_384
"""Bytes of such a text."""

_WORD_START = r"(?:^|[^0-9A-Za-z_]|\\[bfnrt]|\\u[0-9a-fA-F]{4})"
# A letter, digit or sign of a secret that JSON may write as an escape, and nobody has to.
_ESCAPED = r"\\u00(?:2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F])"


class _Rule(NamedTuple):
    check: str
    """What a text has that the rule may change."""
    pattern: str
    trace: str
    spans: Callable[[bytes, Spans], Iterator[Found]]


def _shaped(name: str, guard: str) -> Callable[[bytes, Spans], Iterator[Found]]:
    counts = GUARDS[guard]

    def spans(data: bytes, match: Spans) -> Iterator[Found]:
        start, stop = match[1 if len(match) > 1 else 0]
        # A mark is no secret, and the name inside one (`github_token:`) is no key.
        if not data.startswith(MARK, start) and not data.endswith(MARK, 0, match[0][0]) and counts(data[start:stop]):
            yield start, stop, name

    return spans


@kept_until_fork
def _rules() -> tuple[_Rule, ...]:
    return (
        *(_Rule(each.pattern, each.pattern, each.trace, _shaped(each.name, each.guard)) for each in FAMILIES),
        *(_Rule(each.check or each.pattern, each.pattern, each.trace, each.spans) for each in PLACES),
    )


class _Prefilter:
    """Tells data that may hold a secret; the automaton for it takes 12 ms to make, which few texts are not worth."""

    __slots__ = ("_left", "clean", "match")

    def __init__(self) -> None:
        self.clean: str | None = None
        """The last text in which there was nothing to find."""
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)  # as in `forking`

    def begin(self) -> None:
        """Forget the automaton."""
        self._left = _FEW
        self.match: Callable[[bytes], object] = self._match_few

    def _match_few(self, data: bytes) -> bool:
        """Search with those patterns alone that some words in the data speak for."""
        self._left -= 1
        if self._left <= 0 or len(data) > _SHORT or not (words := words_of_traces(_traces())):
            self.match = prefilter_with()
            return bool(self.match(data))
        folded = data.lower()
        return any(
            regex(trace).search(data) is not None
            for trace, known in zip(_traces(), words, strict=True)
            if not known or any(word in folded for word in known)
        )


@kept_until_fork
def _traces() -> tuple[str, ...]:
    """All patterns of the prefilter."""
    return (*(rule.trace.replace(r"\<", _WORD_START) for rule in _rules()), _ESCAPED)


_prefilter = _Prefilter()


def prefilter_with(*patterns: str) -> Callable[[bytes], list[int] | None]:
    """One search for what `may_hold_secret` looks for (0 in the answer) and for other patterns (1, 2, ...)."""
    return set_of(["|".join(f"(?:{trace})" for trace in _traces()), *patterns])


@kept_until_fork
def _check() -> Callable[[bytes], list[int] | None]:
    return set_of(rule.check for rule in _rules())


def may_hold_secret(data: bytes) -> bool:
    """Whether redaction could change anything in these bytes: plain text, one JSON value, or many lines of JSON.

    False is a promise: `redact` leaves every text in them as it is, and `redact_value` every value. True is a guess.
    One pass of an automaton, some hundreds of MB a second.
    """
    return bool(_prefilter.match(data))


def redact(text: str) -> str:
    """The text with each secret replaced by `[REDACTED:<rule>:<hash8>]`.

    The hash is BLAKE2b without a key, cut to 32 bits: equal secrets are named alike by all processes and machines. It
    is a fingerprint for grouping; who has a guess, or a list of weak passwords, can check it against the mark.
    """
    if text is _prefilter.clean:
        return text  # read, then cleaned: most texts come twice
    raw = text.encode("utf-8", "replace")
    if not _prefilter.match(raw):
        if type(text) is str and len(raw) <= _SHORT:
            _prefilter.clean = text
        return text
    clean = raw
    # A replacement can only bring out what an earlier rule hid behind it, so this ends after one or two rounds.
    for _ in range(_ROUNDS):
        before = clean
        for index in sorted(_check()(before) or ()):
            clean = _replace(clean, _rules()[index])
        if clean == before:
            return text if clean == raw else clean.decode("utf-8", "replace")
    return mark("rest", raw).decode()


def _replace(raw: bytes, rule: _Rule) -> bytes:
    found: list[Found] = []
    covered = 0
    for looks, match in enumerate(matches(rule.pattern, raw)):
        start = match[0][0]
        if looks >= MAX_LOOKS or len(found) >= MAX_SECRETS:
            found.append((start, len(raw), "rest"))
            break
        if start < covered:
            continue
        for span in rule.spans(raw, match):
            found.append(span)
            covered = max(covered, span[1])
    if not found:
        return raw
    pieces: list[bytes] = []
    end = 0
    for start, stop, name in sorted(found):
        if name == "rest":
            start = max(start, end)
        elif start < end:
            continue
        pieces += (raw[end:start], mark(name, raw[start:stop]))
        end = stop
    pieces.append(raw[end:])
    return b"".join(pieces)


def mark(name: str, secret: bytes) -> bytes:
    """What stands in a secret's place."""
    return b"%s%s:%s]" % (MARK, name.encode(), _digest()(secret, digest_size=4).hexdigest().encode())


@cache
def _digest() -> Callable[..., Any]:
    from hashlib import blake2b  # 3 ms that only a text with a secret costs

    return blake2b
