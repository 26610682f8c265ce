"""Secrets out of text: one search that tells clean data, and the replacement of what is found.

Invariant: linear time on any input, idempotent, and equal secrets give equal marks on every machine, so that errors
still group.

Each pattern of the prefilter has words, one of which stands in all data that the pattern finds; they are worked out
before, and kept.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from analyzer.redaction.automata import LazyPattern, Spans, kept_until_fork, matches, regex, set_of
from analyzer.redaction.families import FAMILIES, Family
from analyzer.redaction.places import PLACES, SecretSpan
from analyzer.redaction.unfolding import MAX_FORMS, UNFOLDABLE, Form, goes_on, read_first, unfolded, unwrapped
from analyzer.redaction.values import GUARDS, MARK, is_mixed

WORDS_FILE = os.path.join(os.path.dirname(__file__), "trace_words.json")


@lru_cache(maxsize=1)
def words_of_traces(traces: tuple[str, ...]) -> list[list[bytes]]:
    """Return the words of each pattern, in lower case; none for a pattern that every text is to be searched for.

    Empty where they were worked out for other patterns, or for none.
    """
    try:
        with open(WORDS_FILE, "rb") as handle:
            kept = json.loads(handle.read())
    except (OSError, ValueError):
        return []
    if kept["traces"] != traces_number(traces):
        return []
    return [[word.encode() for word in words] for words in kept["words"]]


def traces_number(traces: Sequence[str]) -> str:
    """Return the CRC-32 of the patterns."""
    return f"{zlib.crc32(chr(10).join(traces).encode()):08x}"


MAX_SECRETS = 500
MAX_LOOKS = 1_000
"""Replacements by one rule in one text, and places that it looks at; what follows the last one is replaced as a whole,
so that no text costs much time."""
MAX_REPEATED = 50
"""Secrets of one text that are looked for in all of it."""
_MIN_REPEATED, _MIN_INSIDE_WORD = 8, 16
"""Bytes of a secret that is looked for again, and of one that may stand within a word."""
_WORD = LazyPattern(rb"[0-9A-Za-z]")
_ROUNDS = 6
_TEXTS_BEFORE_AUTOMATON = 16
"""Texts of a process that are searched without the automaton of the prefilter."""
_MAX_SHORT_TEXT = 16_384
"""Bytes of such a text."""

_WORD_START = r"(?:^|[^0-9A-Za-z_]|`[nrt]|#0[13][0-7]|\^[IJM]|=[03][0-9AD]|\\[0-7abefnrtv]|\\u[0-9a-fA-F]{4})"


_Cut = tuple[int, int, bytes]
"""Start and stop of a secret, and its mark."""


class _Rule(NamedTuple):
    check: str
    """What a text has that the rule may change."""
    pattern: str
    trace: str
    spans: Callable[[bytes, Spans], Iterator[SecretSpan]]


def _spans_of_family(family: Family) -> Callable[[bytes, Spans], Iterator[SecretSpan]]:
    counts, reach = GUARDS[family.guard], family.reach

    def spans(data: bytes, match: Spans) -> Iterator[SecretSpan]:
        span: tuple[int, int] | None = match[1 if len(match) > 1 else 0]
        if reach is not None:
            span = reach(data, *match[0])
        if span is None:
            return
        start, stop = span
        if data[start - 1 : start] == b"\\" and data[start : start + 1].isdigit():
            return  # the number of an escape
        if start - match[0][0] == 1 and (data[start - 2 : start - 1] == b"\\" or data[start - 3 : start - 2] == b"%"):
            return  # what is before it is the letter of an escape
        # A mark is no secret, and the name inside one (`github_token:`) is no key.
        if not data.startswith(MARK, start) and not data.endswith(MARK, 0, match[0][0]) and counts(data[start:stop]):
            yield start, stop, family.name

    return spans


@kept_until_fork
def _rules() -> tuple[_Rule, ...]:
    return (
        # Of what a pattern counts, one automaton for all patterns would make too many states.
        *(
            _Rule(family.trace.replace(r"\<", r"\b"), family.pattern, family.trace, _spans_of_family(family))
            for family in FAMILIES
        ),
        *(_Rule(place.check or place.pattern, place.pattern, place.trace, place.spans) for place in PLACES),
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
        self._left = _TEXTS_BEFORE_AUTOMATON
        self.match: Callable[[bytes], object] = self._match_by_words

    def _match_by_words(self, data: bytes) -> bool:
        """Search with those patterns alone that some words in the data speak for."""
        self._left -= 1
        if self._left <= 0 or len(data) > _MAX_SHORT_TEXT or not (words := words_of_traces(_traces())):
            self.match = prefilter_with()
            return bool(self.match(data))
        folded = data.lower()
        return any(
            regex(trace).search(data) is not None
            for trace, literals in zip(_traces(), words, strict=True)
            if not literals or any(word in folded for word in literals)
        )


@kept_until_fork
def _traces() -> tuple[str, ...]:
    """Return all patterns of the prefilter."""
    return (*dict.fromkeys(rule.trace.replace(r"\<", _WORD_START) for rule in _rules()), UNFOLDABLE)


_prefilter = _Prefilter()


def prefilter_with(*patterns: str) -> Callable[[bytes], list[int]]:
    """One search for what `may_hold_secret` looks for (0 in the answer) and for other patterns (1, 2, ...)."""
    # The start of a word stands once before all traces that have it: a state of the automaton takes the longer to make
    # the more beginnings there are.
    at_words = [trace.removeprefix(_WORD_START) for trace in _traces() if trace.startswith(_WORD_START)]
    others = [f"(?:{trace})" for trace in _traces() if not trace.startswith(_WORD_START)]
    return set_of(["|".join((f"{_WORD_START}(?:{'|'.join(at_words)})", *others)), *patterns])


@kept_until_fork
def _checks() -> tuple[Callable[[bytes], list[int]], Callable[[bytes], list[int]]]:
    # Two of them: one automaton for all would make too many states.
    checks = [rule.check for rule in _rules()]
    return set_of([*checks[:_FIRST_BROAD], *checks[_FIRST_BROAD + _BROAD_RULES :]]), set_of(
        checks[_FIRST_BROAD : _FIRST_BROAD + _BROAD_RULES]
    )


_FIRST_BROAD, _BROAD_RULES = len(FAMILIES) + 5, 5
"""The rules that an automaton is of its own for: what they look for begins nearly everywhere."""


def _suspects(data: bytes) -> list[_Rule]:
    """Return the rules that may find something, in their order."""
    most, broad = _checks()
    suspects = [index if index < _FIRST_BROAD else index + _BROAD_RULES for index in most(data)]
    suspects += [_FIRST_BROAD + index for index in broad(data)]
    rules = _rules()
    return [rules[index] for index in sorted(suspects)]


def may_hold_secret(data: bytes) -> bool:
    """Return true if redaction could change anything in these bytes: plain text, one JSON value, or many lines of JSON.

    False is a promise: `redact` leaves every text in them as it is, and `redact_value` every value. True is a guess.
    One pass of an automaton, some hundreds of MB a second.
    """
    return bool(_prefilter.match(data))


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[REDACTED:<rule>:<hash8>]`.

    The hash is BLAKE2b without a key, cut to 32 bits: equal secrets are named alike by all processes and machines. It
    is a fingerprint for grouping; who has a guess, or a list of weak passwords, can check it against the mark.
    """
    if text is _prefilter.clean:
        return text  # read, then cleaned: most texts come twice
    raw = text.encode("utf-8", "replace")
    if not _prefilter.match(raw):
        if type(text) is str and len(raw) <= _MAX_SHORT_TEXT:
            _prefilter.clean = text
        return text
    clean = raw
    # A replacement can only bring out what an earlier rule hid behind it, so this ends after one or two rounds.
    for _ in range(_ROUNDS):
        before = clean
        clean = _redacted_once(before)
        if clean == before:
            return text if clean == raw else clean.decode("utf-8", "replace")
    return mark("rest", raw).decode()


def _redacted_once(raw: bytes) -> bytes:
    """Search each form of the text, and replace the secrets at their places in the text."""
    cuts: list[_Cut] = []
    marks: dict[bytes, bytes] = {}
    form: Form | None = read_first(raw)
    for _ in range(MAX_FORMS):
        if form is None:
            break
        for rule in _suspects(form.data):
            secrets = [
                (start, stop, mark(name, form.data[start:stop])) for start, stop, name in _secrets_of(form.data, rule)
            ]
            for start, stop, label in secrets:
                secret = form.data[start:stop]
                if len(marks) < MAX_REPEATED and len(secret) >= _MIN_REPEATED and is_mixed(secret):
                    marks[secret] = label
            form = _with_marks(form, secrets, cuts)
        form = _with_marks(form, _repeated(form.data, marks), cuts)
        form = unfolded(form) or unwrapped(form)
    pieces: list[bytes] = []
    end = 0
    # The longer one of two that begin together holds the other one.
    for start, stop, label in sorted(cuts, key=lambda cut: (cut[0], -cut[1])):
        if start >= end:
            pieces += (raw[end:start], label)
        end = max(end, stop)
    return b"".join((*pieces, raw[end:]))


def _with_marks(form: Form, secrets: Sequence[_Cut], cuts: list[_Cut]) -> Form:
    """Return the form with marks in place of secrets, and add their places in the text to the cuts.

    A secret that goes on after an escape stays in the form: another form may show more of it.
    """
    cuts += [(*form.origin(start, stop), label) for start, stop, label in secrets]
    whole = [cut for cut in secrets if not goes_on(form.data, cut[1])]
    if not whole:
        return form
    return form.replaced(_pieces(form.data, whole), [label for _start, _stop, label in whole])


def _repeated(data: bytes, marks: dict[bytes, bytes]) -> list[_Cut]:
    """Return where secrets that a rule found stand again, without a name or a shape."""
    secrets: list[_Cut] = []
    for secret, label in marks.items():
        start = data.find(secret)
        while start >= 0:
            stop = start + len(secret)
            around = data[start - 1 : start] + data[stop : stop + 1]
            if len(secret) >= _MIN_INSIDE_WORD or not _WORD.search(around):
                secrets.append((start, stop, label))
            start = data.find(secret, stop)
    apart: list[_Cut] = []
    for cut in sorted(secrets, key=lambda cut: (cut[0], -cut[1])):
        if not apart or cut[0] >= apart[-1][1]:
            apart.append(cut)
    return apart


def _pieces(data: bytes, secrets: Sequence[_Cut]) -> list[bytes]:
    """Return the texts between secrets and the secrets, by turns."""
    edges = [0, *(edge for start, stop, _mark in secrets for edge in (start, stop)), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


def _secrets_of(data: bytes, rule: _Rule) -> list[SecretSpan]:
    """Return the secrets that a rule finds, in their order; none of them overlap."""
    secrets: list[SecretSpan] = []
    covered = 0
    for looks, match in enumerate(matches(rule.pattern, data)):
        start = match[0][0]
        if looks >= MAX_LOOKS or len(secrets) >= MAX_SECRETS:
            secrets.append((start, len(data), "rest"))
            break
        if start < covered:
            continue
        for span in rule.spans(data, match):
            secrets.append(span)
            covered = max(covered, span[1])
    apart: list[SecretSpan] = []
    end = 0
    for start, stop, name in sorted(secrets):
        start = max(start, end) if name == "rest" else start
        if start >= end and stop > start:
            apart.append((start, stop, name))
            end = stop
    return apart


def mark(name: str, secret: bytes) -> bytes:
    """Return the text that replaces a secret."""
    return b"%s%s:%s]" % (MARK, name.encode(), _digest()(secret, digest_size=4).hexdigest().encode())


@cache
def _digest() -> Callable[..., Any]:
    from hashlib import blake2b  # 3 ms that only a text with a secret costs

    return blake2b
