"""What a model sees of an error: pieces of its words, pairs of words, parts of names, the status.

Invariant: pure; numbers, ids and addresses leave no feature that another error could not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

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


def features(facts: Facts) -> frozenset[str]:
    """Return the features of an error; empty where it says nothing."""
    found: set[str] = set()
    words = _words(facts)
    found.update(f"b:{one} {next_one}" for one, next_one in pairwise(words))
    for word in (*(word for word in words if len(word) > 1), *_parts_of_names(facts)):
        found.add(f"w:{word}")
        found.update(_pieces(f" {word} "))
    if facts.status is not None:
        found.update((f"s:{facts.status}", f"s:{facts.status // 100}xx"))
    return frozenset(found)


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
