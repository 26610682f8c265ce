"""What a model sees of an error: pieces of its words, pairs of words, parts of names, the status.

Invariant: pure; numbers, ids and addresses leave no feature that another error could not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from analyzer.classifier.reading.facts import Facts

TEXT_CHARS = 500
"""What follows is seldom about the error."""
SHORTEST, LONGEST = 3, 5
"""Characters of a piece of a word, with the space before and after it."""

_ADDRESS = re.compile(r"https?://\S+")
_ID = re.compile(r"[0-9a-f]{8,}")
_DIGITS = re.compile(r"\d+")
_NO_WORD = re.compile(r"[^\w#]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_JOINT = re.compile(r"[_\-. ]+")


class Seen(NamedTuple):
    """All that features are made of: errors that differ in numbers alone are the same."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    status: int | None

    @classmethod
    def of(cls, facts: Facts) -> Seen:
        """Return what is seen of an error."""
        return cls(tuple(_words(facts)), tuple(_parts_of_names(facts)), facts.status)

    def features(self) -> frozenset[str]:
        """Return the features; empty where the error says nothing."""
        found: set[str] = set()
        found.update(f"b:{one} {next_one}" for one, next_one in pairwise(self.words))
        for word in (*(word for word in self.words if len(word) > 1), *self.names):
            found.add(f"w:{word}")
            found.update(_pieces(f" {word} "))
        if self.status is not None:
            found.update((f"s:{self.status}", f"s:{self.status // 100}xx"))
        return frozenset(found)


def features(facts: Facts) -> frozenset[str]:
    """Return the features of an error; empty where it says nothing."""
    return Seen.of(facts).features()


def _words(facts: Facts) -> list[str]:
    text = " ".join(filter(None, (facts.message, facts.stderr, facts.stdout))).lower()
    text = _DIGITS.sub("0", _ID.sub("#", _ADDRESS.sub(" url ", text)))
    return [word for word in _NO_WORD.split(text[:TEXT_CHARS]) if word]


def _parts_of_names(facts: Facts) -> Iterator[str]:
    for name in filter(None, (facts.code, facts.type, facts.exception_class)):
        yield from filter(None, _JOINT.split(_HUMP.sub(" ", name).lower()))


def _pieces(word: str) -> Iterator[str]:
    for size in range(SHORTEST, LONGEST + 1):
        for start in range(len(word) - size + 1):
            yield word[start : start + size]
