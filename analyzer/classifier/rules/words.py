"""Subjects and complaints in texts: words of many languages, and the rules that ask for them.

Invariant: a text is searched only if nothing better decides, so that a language more costs other texts nothing.

A rule asks for patterns of words. A pattern is RE2 without case, and of that only what stands for a few plain texts:
alternatives, letters that may be missing, classes of letters, `\\b`, and one gap (`[^\\n]*`). It is written out as
these texts, and a sentence is looked through for all of them at once, by their first letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from analyzer.classifier.rules.ruleset import Rule

_PIECE = re.compile(r"(?s)\[\^[^\]]*\]\*|\[(?:\\.|[^\]\\])+\]|\(\?:|\\.|.")
_GAP, _EDGE, _START = "\x00", "\x01", "\x02"
_MARKS = _EDGE + _START
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；।])|\n+|\s[-–—|]\s")
_KEY_CHARS = 3
_MOST_TEXTS = 4_000


class _Stem(NamedTuple):
    """A plain text of one pattern."""

    text: str
    rest: str
    """The text that comes somewhere after it; empty if there is none."""
    bit: int
    begins: bool
    """True if no letter may stand before it."""
    starts: bool
    """True if a sentence has to start with it."""
    ends: bool
    """True if no letter may stand after it."""


class _Row(NamedTuple):
    """A rule by the bits of its patterns."""

    rule: int
    subjects: int
    complaints: int
    unless: int


class Words:
    """The words of a ruleset."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._bits: dict[str, int] = {}
        self._rows = [
            _Row(1 << number, *(self._mask(patterns) for patterns in (rule.subjects, rule.complaints, rule.unless)))
            for number, rule in enumerate(rules)
            if rule.subjects
        ]
        self._stems: dict[str, list[_Stem]] = {}
        self.rules_in = lru_cache(maxsize=2_048)(self._rules_in)
        """Return the masks of the rules whose words a text has, sentence by sentence, and of the whole text last.

        A sentence without any is left out.
        """

    def _mask(self, patterns: Iterable[str]) -> int:
        mask = 0
        for pattern in patterns:
            mask |= self._bits.setdefault(pattern, 1 << len(self._bits))
        return mask

    def _rules_in(self, text: str) -> tuple[int, ...]:
        if not self._rows:
            return ()
        if not self._stems:
            self._read_stems()
        sentences = [self._words_in(sentence) for sentence in _SENTENCE.split(text.lower()) if sentence]
        everything = 0
        for words in sentences:
            everything |= words
        masks = [self._rules_of(words, everything) for words in (*sentences, everything)]
        return tuple(mask for mask in masks if mask)

    def _rules_of(self, words: int, everything: int) -> int:
        mask = 0
        for rule, subjects, complaints, unless in self._rows:
            if words & subjects and (not complaints or words & complaints) and not everything & unless:
                mask |= rule
        return mask

    def _words_in(self, text: str) -> int:
        words = 0
        stems = self._stems.get
        for start, letter in enumerate(text):
            candidates = stems(text[start : start + _KEY_CHARS], ())
            if letter > "\x7f":
                candidates = (*candidates, *stems(text[start : start + 2], ()), *stems(letter, ()))
            for stem in candidates:
                if not words & stem.bit and _stands(stem, text, start):
                    words |= stem.bit
        return words

    def words_of(self, rule: int, text: str) -> str:
        """Return the first subject and the first complaint of a rule in a text, with dots between them."""
        row = next((row for row in self._rows if row.rule == 1 << rule), None)
        if row is None:
            return ""
        words = (self._first(mask, text.lower()) for mask in (row.subjects, row.complaints))
        return " … ".join(filter(None, words))

    def _first(self, mask: int, text: str) -> str:
        stems = (stem for stems in self._stems.values() for stem in stems if stem.bit & mask)
        return next((s.text for s in stems if any(_stands(s, text, at) for at in range(len(text)))), "")

    def _read_stems(self) -> None:
        for pattern, bit in self._bits.items():
            for parts in written_out(pattern):
                first, _, rest = parts.partition(_GAP)
                text = first.strip(_MARKS)
                if text.isascii() and len(text) < _KEY_CHARS:
                    raise ValueError(pattern)
                stem = _Stem(text, rest.strip(_MARKS), bit, first[0] == _EDGE, first[0] == _START, first[-1] == _EDGE)
                self._stems.setdefault(text[:_KEY_CHARS], []).append(stem)


def _stands(stem: _Stem, text: str, start: int) -> bool:
    """Return true if a stem stands at this place of a text."""
    if not text.startswith(stem.text, start) or (stem.starts and start):
        return False
    end = start + len(stem.text)
    if stem.begins and start and _is_letter(text[start - 1]):
        return False
    if stem.ends and end < len(text) and _is_letter(text[end]):
        return False
    return not stem.rest or stem.rest in text[end:]


def _is_letter(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def written_out(pattern: str) -> list[str]:
    """Return the plain texts of a pattern, with marks for its gaps and for boundaries of words.

    Raises:
        ValueError: it stands for something else than a few texts.
    """
    pieces = _PIECE.findall(pattern.lower().replace("\\b", _EDGE).replace("|^", f"|{_START}").replace("\\x27", "'"))
    if pieces[:1] == ["^"]:
        pieces[0] = _START
    texts, rest = _alternatives(pieces, 0)
    if rest != len(pieces) or any(not text.strip(_MARKS + _GAP) for text in texts):
        raise ValueError(pattern)
    return texts


def _alternatives(pieces: Sequence[str], at: int) -> tuple[list[str], int]:
    done: list[str] = []
    texts = [""]
    while at < len(pieces) and pieces[at] != ")":
        piece = pieces[at]
        at += 1
        if piece == "|":
            done += texts
            texts = [""]
            continue
        if piece == "(?:":
            choices, at = _alternatives(pieces, at)
            at += 1
        else:
            choices = list(_letters(piece))
        if at < len(pieces) and pieces[at] == "?":
            choices = [*choices, ""]
            at += 1
        texts = [text + choice for text, choice in product(texts, choices)]
        if len(texts) > _MOST_TEXTS:
            raise ValueError(piece)
    return done + texts, at


def _letters(piece: str) -> Iterator[str]:
    """Yield the letters that one piece of a pattern stands for."""
    if piece.startswith("[^"):
        yield _GAP
    elif piece.startswith("["):
        yield from re.sub(r"\\(.)", r"\1", piece[1:-1])
    elif piece in ("*", "+", "{", "(", "\\w", "\\d", "\\s", ".", "^", "$"):
        raise ValueError(piece)
    else:
        yield piece[-1]
